import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { startTestService } from '../support/service.ts'

const browserFile = process.env.CHROMIUM ?? '/usr/bin/chromium'
const viewport = { width: 1440, height: 1000 }
const root = join(import.meta.dirname, '..', '..')

beforeAll(() => {
  if (!existsSync(browserFile)) {
    throw new Error(`There is no browser at ${browserFile}: install Debian's chromium, or name another in CHROMIUM.`)
  }
  if (!existsSync(join(root, 'generated', 'reference.html'))) {
    throw new Error('There is no generated/reference.html: run `npm run docs`.')
  }
})

/** What a newcomer types, and the section that must come first. */
const firstFound = {
  'rate limit': 'Rate limits',
  'gas price': 'Gas prices',
  stuck: 'Stuck transactions',
  cancel: 'Cancel',
  'webhook signature': 'Verify webhook signatures',
  'verify webhook': 'Verify webhook signatures',
  idempotency: 'Idempotency',
  pagination: 'Pagination',
}

/** Links in descriptions: to an operation, and to a section. */
const linked: [from: string, title: string][] = [
  ['transactions/replacetransaction', 'Speed up a transaction'],
  ['transactions/sendtransaction', 'Gas prices'],
]

test('shows every operation in the reference, and finds one by its search, without a network', async () => {
  const { url } = await startTestService()
  const docs = `${url}/docs`
  const { page, requests, complaints } = await openPage(docs)

  const heading = (summary: string) => page.locator('h2').getByText(summary, { exact: true })
  for (const { link, summary } of operations()) {
    await page.goto(`${docs}#/${link}`)
    await heading(summary).waitFor()
  }

  const failure = await fetch(`${url}/api/v1/relayers`)
  const { doc_url } = (await failure.json()) as { doc_url: string }
  await page.goto(`${url}${doc_url}`)
  const entry = page.locator('[id="section/errors/unauthorized"]')
  await expect.poll(async () => isInView(await entry.boundingBox())).toBe(true)

  await page.getByTestId('search-trigger').click()
  await page.keyboard.type('personal_sign')
  const found = page.getByTestId('search-dialog')
  await found.getByText('Sign a message', { exact: true }).click()
  await found.waitFor({ state: 'detached' })
  expect(new URL(page.url()).hash).toBe('#/signing/signmessage')
  await expect.poll(async () => isInView(await heading('Sign a message').boundingBox())).toBe(true)

  for (const [from, title] of linked) {
    await page.goto(`${docs}#/${from}`)
    await page.locator('p a').getByText(title, { exact: true }).first().click()
    const target = page.locator('h1, h2, h3').getByText(title, { exact: true }).first()
    await expect.poll(async () => isInView(await target.boundingBox()), { message: title }).toBe(true)
  }

  for (const [words, first] of Object.entries(firstFound)) {
    await page.getByTestId('search-trigger').click()
    await found.getByRole('textbox').or(found.locator('input')).first().fill(words)
    await expect.poll(async () => (await found.textContent())?.trim().startsWith(first), { message: words }).toBe(true)
    await page.keyboard.press('Escape')
  }

  await page.getByText('curl', { exact: true }).first().click()
  await page.getByText('TypeScript', { exact: true }).first().click()
  await page.getByText('createRelayerClient').first().waitFor()

  const screenshot = join(mkdtempSync(join(tmpdir(), 'relayer-docs-')), 'reference.png')
  await page.screenshot({ path: screenshot })
  console.error(`How it looks: ${screenshot}`)

  // Whatever the page would send in a minute (telemetry comes in batches), it sends now.
  await page.clock.runFor(60_000)
  await page.evaluate('0')
  expect(complaints).toEqual([])
  expect(requests).toEqual([docs])
})

test.each(['light', 'dark'] as const)('follows the %s setting of the system', async (scheme) => {
  const { url } = await startTestService()
  const { page } = await openPage(`${url}/docs`, scheme)
  // Of what is painted in the middle of the page.
  const painted = await page.evaluate(`(() => {
    let at = document.elementFromPoint(700, 500)
    while (at && getComputedStyle(at).backgroundColor === 'rgba(0, 0, 0, 0)') at = at.parentElement
    return at ? getComputedStyle(at).backgroundColor : 'rgb(255, 255, 255)'
  })()`)
  const [red] = /\d+/.exec(String(painted)) ?? []
  expect(Number(red) < 128 ? 'dark' : 'light').toBe(scheme)
})

/** The page at the address, in a browser that reaches nothing else; what it asks for and complains of is kept. */
async function openPage(
  address: string,
  colorScheme: 'light' | 'dark' = 'light',
): Promise<{ page: Page; requests: string[]; complaints: string[] }> {
  const browser = await chromium.launch({
    executablePath: browserFile,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-proxy-server',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  })
  onTestFinished(() => browser.close())
  const context = await browser.newContext({ viewport, colorScheme })
  await context.clock.install()
  const requests = await keepRequests(context, address)
  const complaints = await keepComplaints(context)
  const page = await context.newPage()
  await page.goto(address)
  await page.getByText('Loading...').waitFor({ state: 'detached' })
  return { page, requests, complaints }
}

/** Only what is asked of the address itself gets through. */
async function keepRequests(context: BrowserContext, address: string): Promise<string[]> {
  const requests: string[] = []
  context.on('request', (request) => requests.push(request.url()))
  await context.route('**/*', (route) => (route.request().url() === address ? route.continue() : route.abort()))
  return requests
}

async function keepComplaints(context: BrowserContext): Promise<string[]> {
  const complaints: string[] = []
  context.on('weberror', (error) => complaints.push(`${error.error()}`))
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  await context.exposeFunction('keepViolation', (violation: string) => {
    // Redoc's search asks whether it may compile a worker, and does without.
    if (violation !== 'script-src eval') complaints.push(violation)
  })
  await context.addInitScript(
    "addEventListener('securitypolicyviolation', (event) => keepViolation(event.violatedDirective + ' ' + event.blockedURI))",
  )
  return complaints
}

const isInView = (box: { y: number } | null) => box !== null && box.y >= 0 && box.y < viewport.height

/** The name of each operation and the link to it within the page. */
function operations(): { link: string; summary: string }[] {
  const { paths } = JSON.parse(readFileSync(join(root, 'generated', 'openapi.json'), 'utf8')) as {
    paths: Record<string, Record<string, { tags: [string]; operationId: string; summary: string } | undefined>>
  }
  return Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap((operation) => operation ?? [])
    .filter(({ operationId }) => operationId)
    .map(({ tags, operationId, summary }) => ({
      link: `${tags[0].replaceAll(' ', '-')}/${operationId}`.toLowerCase(),
      summary,
    }))
}
