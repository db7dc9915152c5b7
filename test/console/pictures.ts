import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { scenes } from './pictures-data.ts'
import { startBrowser } from './start-browser.ts'

const maxLoadMs = 15_000
const maxHeight = 2_400
const folder = process.env.PICTURES ?? join(import.meta.dirname, 'pictures')
const looks = {
  light: { width: 1280, colorScheme: 'light' },
  dark: { width: 1280, colorScheme: 'dark' },
  phone: { width: 390, colorScheme: 'light', hasTouch: true, isMobile: true },
  narrow: { width: 1024, colorScheme: 'light' },
} as const
const pages = {
  overview: '/',
  transactions: '/transactions',
  pools: '/pools',
  sponsorships: '/sponsorships',
  facilitators: '/facilitators',
  spending: '/spending',
  notifications: '/notifications',
  networks: '/networks',
  signers: '/signers',
  sandbox: '/sandbox',
  keys: '/keys',
  audit: '/audit',
  service: '/service',
}

/** What is typed into the search, after the pages were opened. */
const searches = {
  'search-empty': '',
  'search-verb': 'pause',
  'search-relayer': 'payouts-eu-1',
  'search-reference': 'order-48',
  'search-address': '0x5a5a',
  'search-nonce': 'nonce 0',
  'search-nothing': 'no such thing',
}

/** The page, and the buttons that open a form or a menu on it. */
const dialogs: Record<string, [page: string, ...buttons: string[]]> = {
  'form-key': ['key', 'Edit'],
  'form-budget': ['key', 'Edit budget'],
  'form-facilitator': ['facilitator', 'Edit'],
  'form-refills': ['funding', 'Edit refills'],
  'form-relayer': ['relayer', 'Edit'],
  'form-speed-up': ['transaction-stuck', 'Speed up'],
  'menu-network': ['networks', 'More actions of local'],
}

/**
 * `npm run console:pictures [-- WORD...]`: writes pictures of every page to test/console/pictures, or to the folder of the environment variable
 * PICTURES, for people to look at. A word leaves out the pictures without it in their names: `sixty`, `dark`, `overview`.
 */
const words = process.argv.slice(2)
const isWanted = (name: string) => words.every((word) => name.includes(word))
if (words.length === 0) rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
const browser = await startBrowser()
const faults: string[] = []
try {
  for (const [name, start] of Object.entries(scenes)) {
    if (words.some((word) => word in scenes && word !== name)) continue
    const scene = await start()
    try {
      for (const look of Object.keys(looks) as (keyof typeof looks)[])
        await take(browser, { name, look, url: scene.rig.url(), token: scene.rig.api_key, more: scene.pages })
    } finally {
      await scene.stop()
    }
  }
} finally {
  await browser.close()
}
for (const fault of faults) process.stdout.write(`${fault}\n`)
process.exit(faults.length === 0 ? 0 : 1)

async function take(
  browser: Browser,
  {
    name,
    look,
    url,
    token,
    more,
  }: { name: string; look: keyof typeof looks; url: string; token: string; more: object },
): Promise<void> {
  const { width, ...its } = looks[look]
  const context = await browser.newContext({ viewport: { width, height: 900 }, ...its, timezoneId: 'Europe/Berlin' })
  const page = await context.newPage()
  await page.goto(`${url}/console`)
  await save(page, `${name}-${look}-sign-in`)
  await page.getByLabel('API key').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('h1').first().waitFor()
  for (const [title, path] of Object.entries({ ...pages, ...more })) {
    const file = `${name}-${look}-${title}`
    if (!isWanted(file)) continue
    await page.evaluate(`location.hash = ${JSON.stringify(`#${path}`)}`)
    await pause(300)
    if (!(await isLoaded(page))) faults.push(`${file}: still loads after ${maxLoadMs / 1_000} s`)
    await pause(500)
    await save(page, file)
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    if (overflow > 0) faults.push(`${file}: ${overflow} px wider than the screen`)
  }
  for (const [title, [opened, ...buttons]] of Object.entries(dialogs)) {
    const path = ({ ...pages, ...more } as Record<string, string>)[opened]
    if (path === undefined || !isWanted(`${name}-${look}-${title}`)) continue
    await page.evaluate(`location.hash = ${JSON.stringify(`#${path}`)}`)
    await pause(1_000)
    const shown = buttons.map((one) => page.getByRole('button', { name: one, exact: true }).first())
    // A scene may have the page without what the form is about.
    if ((await shown[0]?.count()) === 0) continue
    for (const button of shown) await button.click()
    await pause(1_000)
    await save(page, `${name}-${look}-${title}`)
    await page.keyboard.press('Escape')
  }
  for (const [title, text] of Object.entries(searches)) {
    if (!isWanted(`${name}-${look}-${title}`)) continue
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('dialog').getByLabel(/^Find/).fill(text)
    await pause(1_500)
    await save(page, `${name}-${look}-${title}`)
    await page.keyboard.press('Escape')
  }
  await context.close()
}

/** Whether everything has loaded. */
async function isLoaded(page: Page): Promise<boolean> {
  for (let waited = 0; waited < maxLoadMs; waited += 100) {
    if ((await page.locator('.skeleton, .pending').count()) === 0) return true
    await pause(100)
  }
  return false
}

async function save(page: Page, name: string): Promise<void> {
  if (!isWanted(name)) return
  // What is fixed beside the page, or as high as the window, is shown as a reader would see it who had so high a window.
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 900 }
  const whole = await page.evaluate<number>('document.documentElement.scrollHeight')
  await page.setViewportSize({ width, height: Math.min(Math.max(whole, height), maxHeight) })
  await page.screenshot({ path: join(folder, `${name}.png`) })
  await page.setViewportSize({ width, height })
  process.stdout.write(`${name}.png\n`)
}
