import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { type Rig, type RigOptions, startRig } from '../support/rig.ts'
import { startBrowser } from './start-browser.ts'

const screenshots = join(import.meta.dirname, 'screenshots')

/** What is longer than this freezes the page for a reader. */
const maxTaskMs = 100

export interface Console {
  page: Page
  context: BrowserContext
  /** Signs in, and waits for the page. */
  signIn(token: string): Promise<void>
  /** Opens a page of the console by its address, without loading the console again. */
  open(path: string): Promise<void>
  /** A picture for people to look at. */
  picture(name: string): Promise<void>
  /** What axe-core finds that is serious or critical. */
  accessibilityFaults(): Promise<string[]>
  /** Tasks of the page's main thread that took too long since the last call, in milliseconds. */
  longTasks(): Promise<number[]>
  /** Closes the tab, before the service stops: the page would ask a service that is gone. */
  close(): Promise<void>
  /** From now on, the page may complain of this; everything else fails the test at its end. */
  expectComplaint(pattern: RegExp): void
}

/** A browser and a service with its chain, for all tests of a file. */
export function startStage(options?: RigOptions): { browser: Browser; rig: Rig } {
  const stage = {} as { browser: Browser; rig: Rig }
  beforeAll(async () => {
    stage.browser = await startBrowser()
    stage.rig = await startRig(options)
  })
  afterAll(async () => {
    await stage.browser?.close()
    await stage.rig?.stop()
  })
  return stage
}

/** The console in a tab of its own. At the end of the test, any complaint of the page or request elsewhere fails it. */
export async function openConsole(
  browser: Browser,
  url: string,
  options: { width?: number; dark?: boolean; zone?: string } = {},
): Promise<Console> {
  const { width = 1280, dark = false, zone = 'UTC' } = options
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    hasTouch: width < 720,
    colorScheme: dark ? 'dark' : 'light',
    timezoneId: zone,
    permissions: ['clipboard-write'],
  })
  const complaints: string[] = []
  const expected: RegExp[] = []
  context.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) complaints.push(`asks ${request.url()}`)
  })
  context.on('weberror', (error) => complaints.push(`${error.error()}`))
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  context.on('dialog', (dialog) => {
    complaints.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  await context.exposeFunction('keepViolation', (violation: string) => complaints.push(`CSP: ${violation}`))
  await context.addInitScript(`
    addEventListener('securitypolicyviolation', (event) => keepViolation(event.violatedDirective + ' ' + event.blockedURI))
    window.longTasks = []
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) longTasks.push(duration) })
      .observe({ type: 'longtask', buffered: true })`)
  onTestFinished(async () => {
    await context.close()
    expect(complaints.filter((text) => !expected.some((pattern) => pattern.test(text)))).toEqual([])
  })
  const page = await context.newPage()
  await page.goto(`${url}/console`)

  return {
    page,
    context,
    async signIn(token) {
      await page.getByLabel('API key').fill(token)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.locator('#content').waitFor()
    },
    open: (path) => page.evaluate(`location.hash = ${JSON.stringify(`#${path}`)}`),
    async picture(name) {
      mkdirSync(screenshots, { recursive: true })
      await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true })
    },
    async accessibilityFaults() {
      // As an extension would, apart from the page's Content-Security-Policy.
      const { source } = (await import('axe-core')).default
      const session = await context.newCDPSession(page)
      await session.send('Runtime.evaluate', { expression: source })
      await session.detach()
      const { violations } = await page.evaluate<{
        violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[]
      }>('axe.run(document, { resultTypes: ["violations"] })')
      return violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .map(
          ({ id, nodes }) =>
            `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
        )
    },
    async longTasks() {
      const tasks = await page.evaluate<number[]>('longTasks.splice(0)')
      return tasks.filter((duration) => duration > maxTaskMs)
    },
    close: () => context.close(),
    expectComplaint: (pattern) => void expected.push(pattern),
  }
}

export const named = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true }).first()

/**
 * Opens the dialog of the button of this name that is there in the end: an empty list has the one that creates, in place of the heading's. On a
 * busy machine, a click whose time is over may have opened it.
 */
export const press = (button: Locator) =>
  expect
    .poll(() =>
      button.click({ timeout: 1_000 }).then(
        () => true,
        async () => (await button.page().getByRole('dialog').count()) > 0,
      ),
    )
    .toBe(true)

/** Opens the dialog of the button, fills it in, confirms it, and waits until it is done. */
export async function act(page: Page, button: Locator, fill: (dialog: Locator) => Promise<unknown> = async () => {}) {
  const dialog = page.getByRole('dialog')
  await press(button)
  await fill(dialog)
  await dialog.locator('button[type=submit]').click()
  await expect
    .poll(async () => (await dialog.count()) === 0 || (await dialog.getByRole('status').count()) > 0)
    .toBe(true)
}

/** Fills in a list of a form: an entry for each row, with its parts. */
export async function fillEntries(dialog: Locator, name: string, rows: string[][]) {
  const parts = dialog.locator(`.entries:has([name="${name}"]) > div`)
  for (const [index, row] of rows.entries()) {
    if (index >= (await parts.count())) await dialog.locator(`.entries:has([name="${name}"]) > button`).click()
    for (const [place, text] of row.entries()) await parts.nth(index).locator(`[name="${name}"]`).nth(place).fill(text)
  }
}

/** Opens the menu of a network, and takes a line of it. */
export async function choose(page: Page, network: string, action: string) {
  await named(page, `More actions of ${network}`).click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}
