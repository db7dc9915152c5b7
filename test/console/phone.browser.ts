import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { Account } from '../support/rig.ts'
import { insertTransactions } from '../support/transactions.ts'
import { act, named, openConsole, startStage } from './browser.ts'

const width = 375
const touchPx = 40
const maxCardPx = 96
const maxRows = 60
const many = 1_000

const stage = startStage()
let account: Account

beforeAll(async () => {
  account = await stage.rig.addAccount()
})

/** The console on a phone, signed in. */
async function start(path: string) {
  const opened = await openConsole(stage.browser, stage.rig.url(), { width })
  await opened.signIn(stage.rig.api_key)
  await opened.open(path)
  await opened.page.locator('h1').first().waitFor()
  await expect.poll(() => opened.page.locator('.skeleton').count()).toBe(0)
  return opened
}

/** What a finger may miss: buttons, fields and links, except for those inside a sentence and those that cover a row. */
const small = (page: Page) =>
  page.evaluate<string[]>(`[...document.querySelectorAll('button, select, input, textarea, summary, a')]
    .filter((one) => one.checkVisibility() && !one.closest('p, thead') && !one.matches('.skip, .open'))
    .filter((one) => {
      const { width, height } = (one.type === 'checkbox' ? one.closest('label') : one).getBoundingClientRect()
      return Math.min(width, height) < ${touchPx}
    })
    .map((one) => one.outerHTML.slice(0, 200))`)

test.each([
  '/',
  '/transactions',
  '/spending',
  '/notifications',
  '/networks',
  '/signers',
  '/keys',
  '/audit',
  '/sandbox',
])('has targets of %s that a finger hits', async (path) => {
  const { page } = await start(path)
  expect(await small(page)).toEqual([])
})

test('shows a signer in few lines, with the whole address to copy', async () => {
  const { page } = await start('/signers')
  const card = page.getByRole('row').filter({ has: page.getByRole('link', { name: account.relayer_id, exact: true }) })
  await card.waitFor()
  expect((await card.boundingBox())?.height).toBeLessThanOrEqual(maxCardPx)
  const address = card.locator('code')
  expect((await address.textContent())?.toLowerCase()).toBe(account.address.toLowerCase())
  expect((await address.boundingBox())?.height).toBeLessThan(touchPx)
})

test('keeps the tabs in one row, and scrolls to the open one', async () => {
  const { page } = await start(`/relayers/${account.relayer_id}/activity`)
  const tabs = page.getByRole('navigation', { name: 'Relayer pages' })
  expect((await tabs.boundingBox())?.height).toBeLessThan(touchPx * 1.5)
  const open = await tabs.getByRole('link', { name: 'activity' }).boundingBox()
  expect((open?.x ?? width) + (open?.width ?? 0)).toBeLessThanOrEqual(width)
})

test('has the filter on a line of its own, the download beside the number of rows, and the first transaction in sight', async () => {
  await account.send(1)
  await account.finished(() => stage.rig.chain.mine())
  const { page } = await start('/transactions')
  const csv = await named(page, 'Download CSV').boundingBox()
  const total = await page.getByText(/^\d+ transactions?\b/).boundingBox()
  const filter = await page.getByLabel('Filter by').boundingBox()
  expect(total?.y).toBeGreaterThanOrEqual(csv?.y ?? 0)
  expect(total?.y).toBeLessThan((csv?.y ?? 0) + touchPx)
  expect(filter?.width).toBeGreaterThan(width - 40)
  expect((await page.locator('.list tbody tr').first().boundingBox())?.y).toBeLessThan(300)
})

test('has the number of transactions in one line, above the buttons that leave it no room', async () => {
  await stage.rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await account.send(1)
  const { page } = await start('/transactions')
  await named(page, 'Select 1 not mined').waitFor()
  const total = await page.getByText(/^\d+ transactions?\b/).boundingBox()
  expect(total?.height).toBeLessThan(touchPx)
  await stage.rig.proxy.setFault(undefined)
  await account.finished(() => stage.rig.chain.mine())
})

test('shows what a relayer spent in two lines', async () => {
  await account.send(1)
  await account.finished(() => stage.rig.chain.mine())
  const { page } = await start('/spending')
  const card = page.getByRole('row').filter({ has: page.getByRole('link', { name: account.relayer_id, exact: true }) })
  await card.getByText(/ETH/).first().waitFor()
  expect(await page.getByRole('button', { name: /CSV/ }).count()).toBe(1)
  expect((await card.boundingBox())?.height).toBeLessThan(maxCardPx)
})

test('renders the visible rows of a long list only, and more as the page scrolls', async () => {
  const its = await stage.rig.addAccount()
  await insertTransactions(stage.rig, its.relayer_id, many)
  const { page } = await start(`/relayers/${its.relayer_id}`)
  await page.getByText('1,000 transactions').waitFor()
  const rows = page.locator('.list tbody tr')
  await page.waitForTimeout(1_000)
  expect(await rows.count()).toBeLessThan(maxRows)
  const first = await rows.first().locator('a').getAttribute('href')
  await page.evaluate('scrollTo(0, 4_000)')
  await expect.poll(() => rows.first().locator('a').getAttribute('href')).not.toBe(first)
  const middle = await page.evaluate<boolean>(`document.elementFromPoint(187, 450).closest('.list tbody tr') !== null`)
  expect(middle).toBe(true)
})

test('has the time zone and the end of the session in the menu, and keeps the search in sight', async () => {
  const { page } = await start('/signers')
  const end = page.getByRole('button', { name: 'Sign out' })
  expect(await end.isVisible()).toBe(false)
  await page.evaluate('scrollTo(0, document.body.scrollHeight)')
  expect((await named(page, 'Menu').boundingBox())?.y).toBeLessThan(touchPx)
  await named(page, 'Menu').click()
  await end.click()
  await page.getByLabel('API key').waitFor()
})

test('breaks no name in the code of the sandbox, which scrolls', async () => {
  const { page } = await start('/sandbox')
  const lines = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.samples pre')].map((one) => Math.round((one.scrollHeight - 24) / 20) - one.textContent.trimEnd().split('\\n').length)`,
  )
  expect(lines, 'shown lines more than written ones').toEqual([0, 0])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0)
})

test('has the buttons of a dialog at the lower edge of the screen', async () => {
  const { page } = await start('/signers')
  await act(page, named(page, 'Create a signer'), async (dialog) => {
    await dialog.getByLabel('Type').selectOption('azure_key_vault')
    const [whole, button] = [await dialog.boundingBox(), await named(dialog, 'Create a signer').boundingBox()]
    expect(whole).toMatchObject({ x: 0, width })
    expect((whole?.y ?? 0) + (whole?.height ?? 0)).toBeCloseTo(900, -1)
    expect((button?.y ?? 0) + (button?.height ?? 0)).toBeLessThan(900)
    await dialog.getByLabel('Type').selectOption('generated')
  })
})

test('has the fields of a list within the dialog', async () => {
  const { page } = await start(`/relayers/${account.relayer_id}/policies`)
  await page.getByRole('listitem').filter({ hasText: 'token_limits' }).getByRole('button').click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('token_limits').selectOption('only these')
  await dialog.getByRole('button', { name: 'Add another token' }).click()
  await expect.poll(() => dialog.getByLabel(/^Limit in 24 h \d/).count()).toBe(2)
  expect(await dialog.evaluate((its) => its.scrollWidth - its.clientWidth)).toBe(0)
})

test('shows the values of a chart where a finger is, and opens their transactions by the link beside them', async () => {
  const account = await stage.rig.addAccount()
  await account.send(2)
  await account.finished()
  const { page } = await start(`/relayers/${account.relayer_id}/activity`)
  await named(page, '7 d').click()
  await page.getByText('2 accepted').first().waitFor()
  const plot = page.locator('.u-over').first()
  const size = (await plot.boundingBox()) ?? { width: 0, height: 0 }
  await plot.tap({ position: { x: size.width - 8, y: size.height / 2 } })
  await expect.poll(() => page.locator('.tip').first().locator('dd').allTextContents()).toEqual(['2', '2', '0', '0'])
  await page.locator('.tip').first().getByText(', so far').waitFor()
  const [tip, inside] = [await page.locator('.tip').first().boundingBox(), await plot.boundingBox()]
  expect(tip?.y).toBeGreaterThanOrEqual(inside?.y ?? 0)
  expect((tip?.y ?? 0) + (tip?.height ?? 0)).toBeLessThanOrEqual((inside?.y ?? 0) + size.height)
  await page.getByRole('button', { name: 'Open these transactions' }).first().tap()
  await page.getByText('2 transactions, newest first').waitFor()
})
