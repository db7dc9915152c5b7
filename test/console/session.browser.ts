import Database from 'better-sqlite3'
import { beforeAll, expect, test } from 'vitest'
import type { ScopeInput } from '../../client/index.ts'
import type { Account } from '../support/rig.ts'
import { openConsole, startStage } from './browser.ts'

const many = 10_000
const maxDataBytes = 130_848
/** The characters of a page that shows texts of any length. */
const maxShown = 50_000
/** A body has at most 1 MiB. */
const maxMessageBytes = 2 ** 20 - '{"message":""}'.length
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)> \u202e\u2066gnp.exe`

const stage = startStage()
let account: Account

beforeAll(async () => {
  account = await stage.rig.addAccount()
})

/** Each has a hostile name of its own. */
let keys = 0
async function makeKey(scopes: ScopeInput[], expiresAt: string | null = null): Promise<string> {
  keys += 1
  const body = { name: `${hostile} ${keys}`, scopes, expires_at: expiresAt }
  const { data } = await stage.rig.client().post('/api/v1/api-keys', { body })
  return data.token
}

test('rejects a wrong API key, and keeps the right one for the tab only', async () => {
  const { page, signIn, context, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/status of 401/)
  await page.getByLabel('API key').fill('wrong')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('does not accept this API key').waitFor()
  await signIn(stage.rig.api_key)
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const other = await context.newPage()
  await other.goto(`${stage.rig.url()}/console`)
  await other.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await page.evaluate('localStorage.length + document.cookie.length')).toBe(0)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
})

test('signs out every tab of the browser, and shows nothing of the former key to another one', async () => {
  const { page, signIn, context, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  const other = await context.newPage()
  await other.goto(`${stage.rig.url()}/console`)
  await other.getByLabel('API key').fill(stage.rig.api_key)
  await other.keyboard.press('Enter')
  await other.getByRole('heading', { name: 'Overview' }).waitFor()
  await open('/relayer-list')
  await page.getByRole('table').getByText(account.relayer_id).waitFor()
  await other.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)

  // Its answers never come, so what is shown would be the former key's.
  await page.route('**/api/v1/relayers?*', () => undefined)
  await signIn(await makeKey(['read']))
  await page.locator('.skeleton').first().waitFor()
  expect(await page.getByText(account.relayer_id).count()).toBe(0)
})

test('keeps a key that is not to be remembered in memory only, until the page is reloaded', async () => {
  const { page } = await openConsole(stage.browser, stage.rig.url())
  await page.getByLabel('API key').fill(stage.rig.api_key)
  await page.getByLabel('Stay signed in').uncheck()
  await page.getByText('The key is kept in memory only.').waitFor()
  await page.getByRole('button', { name: 'Show' }).click()
  expect(await page.getByLabel('API key').getAttribute('type')).toBe('text')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  expect(await page.evaluate('sessionStorage.length + localStorage.length + document.cookie.length')).toBe(0)
  await page.reload()
  await page.getByRole('button', { name: 'Sign in' }).waitFor()
})

test('allows scripts and requests of the service only by its content security policy', async () => {
  const { page } = await openConsole(stage.browser, stage.rig.url())
  const policy = (await page.request.get(`${stage.rig.url()}/console`)).headers()['content-security-policy'] ?? ''
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toContain('unsafe')
  const source = (name: string) => policy.split('; ').find((each) => each.startsWith(`${name} `))
  expect(source('script-src')).toBe("script-src 'self'")
  expect(source('connect-src')).toBe("connect-src 'self'")
})

test('shows a read-only key every page that it may read, and no action', async () => {
  const [transaction] = await account.send(1)
  await account.finished(() => stage.rig.chain.mine())
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(await makeKey(['read']))
  const relayer = `/relayers/${account.relayer_id}`
  const paths = [
    '/',
    relayer,
    `${relayer}/nonces`,
    `${relayer}/policies`,
    '/networks',
    `${relayer}/transactions/${transaction?.id}`,
  ]
  const actions = /^(Pause|Resume|Change|Cancel|Speed up|Replace|Repair|Create|Revoke|Rotate|Redeliver|Send|Sign$)/
  for (const path of paths) {
    await open(path)
    await page.locator('h1').first().waitFor()
    await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
    expect(await page.getByRole('button', { name: actions }).count(), path).toBe(0)
  }
  const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()
  const own = ['Overview', 'Transactions', 'Relayers', 'Spending', 'Pools', 'Sponsorships', 'Facilitators', 'Networks']
  expect(links).toEqual(own)
  expect(await page.getByRole('link', { name: 'Open in the sandbox' }).count()).toBe(0)
  for (const [path, why] of [
    ['/keys', 'only a key that has every scope manages API keys'],
    ['/sandbox', 'Your API key lacks the scope “sign” or “send”.'],
    ['/audit', 'Your API key lacks the scope “manage”.'],
  ] as const) {
    await open(path)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await page.getByText(why).waitFor()
  }
})

test('asks for another API key after an expiry, and keeps the form’s input', async () => {
  const soon = new Date(Date.now() + stage.rig.clock.passed_ms + 60_000).toISOString()
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/status of 401/)
  await signIn(await makeKey(['read', 'sign'], soon))
  await open('/sandbox/demo')
  await page.getByLabel('Message').fill('a long text that took an hour')
  stage.rig.clock.passed_ms += 120_000
  await page.getByRole('alert').getByText('no longer accepts this API key').waitFor()
  await page.getByLabel('API key').fill(stage.rig.api_key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  expect(await page.getByLabel('Message').inputValue()).toBe('a long text that took an hour')
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  await page.getByText('"sig": "0x').waitFor()
})

test('reports a lost connection to the service, and recovers', async () => {
  const { page, signIn, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|status of 503/)
  await signIn(stage.rig.api_key)
  await page.getByRole('heading', { name: 'Relayers' }).waitFor()
  let asked = 0
  await page.route('**/api/**', (route) => {
    asked += 1
    return route.abort('connectionrefused')
  })
  await page.getByText('The service does not respond.').waitFor()
  // The pages wait, and one request asks from time to time.
  asked = 0
  await page.waitForTimeout(10_000)
  expect(asked).toBeLessThan(6)
  expect(await page.getByText(/does not respond|Out of date|not known|failed since/).count()).toBe(1)
  expect(await page.getByRole('table').count()).toBe(1)
  await page.unroute('**/api/**')
  await page.getByText('The connection is restored.').waitFor()
})

test('reports that the service has stopped, and follows it after a restart', async () => {
  const its = await stage.rig.addAccount()
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  expectComplaint(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|status of 503/)
  await signIn(stage.rig.api_key)
  await open(`/relayers/${its.relayer_id}`)
  await page.getByText('No transactions yet').waitFor()
  await page.getByLabel('Filter by hash').fill('after-the-restart')
  // It is told for some seconds only, which may pass before the restart is known to be over.
  const back = page.getByText('The connection is restored.').waitFor()
  // The page's own parts may say the same before.
  const away = page.locator('.banner').getByText('The service does not respond.')
  await stage.rig.restart(() => away.waitFor(), { keepsPort: true })
  await back
  expect(await page.getByLabel('Filter by hash').inputValue()).toBe('after-the-restart')
  // The list is live again: nothing else asks for it.
  await its.send(1, { reference: 'after-the-restart' })
  await page.locator('.list tbody tr').waitFor()
  await its.finished(() => stage.rig.chain.mine())
  await page.locator('.list tbody tr').getByText('confirmed').waitFor()
})

test('lists, scrolls and filters 10,000 transactions with the rows of the window only', async () => {
  const its = await stage.rig.addAccount()
  fill(stage.rig.database_file, its.relayer_id)
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  await open(`/relayers/${its.relayer_id}`)
  await page.getByText('10,000 transactions').waitFor()
  await page.locator('.list').hover()
  for (let times = 0; times < 60; times += 1) {
    await page.mouse.wheel(0, 1_000_000)
    if (/^nonce 0$/.test((await page.locator('.list .what').last().textContent()) ?? '')) break
    await page.waitForTimeout(250)
  }
  expect(await page.locator('.list .what').last().textContent()).toMatch(/^nonce 0$/)
  expect(await page.locator('.list tbody tr').count()).toBeLessThan(60)
  await page.getByLabel('Filter by hash').fill('5000-5009')
  await page.getByText('10 transactions').waitFor()
})

test('shows hostile strings as text', async () => {
  const client = stage.rig.client()
  const path = { relayer_id: account.relayer_id }
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { name: '<script>alert(3)</script>' } })
  const data = `0x${'5b'.repeat(100_000)}`
  await account.send(1, { data, gas_limit: 8_000_000, reference: '<img src=x onerror=alert(4)>' })
  await account.finished(() => stage.rig.chain.mine())
  const [transaction] = await account.transactions()
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  await signIn(stage.rig.api_key)
  for (const [address, text] of [
    [`/relayers/${account.relayer_id}`, '<script>alert(3)</script>'],
    [`/relayers/${account.relayer_id}/transactions/${transaction?.id}`, '<img src=x onerror=alert(4)>'],
    ['/keys', '<script>alert(1)</script>'],
  ] as const) {
    await open(address)
    await page.getByText(text).first().waitFor()
  }
  expect(await page.evaluate('document.querySelectorAll("#root script, #root img").length')).toBe(0)
})

test('shows the beginning of the longest data that the API accepts, and signs the longest message', async () => {
  const its = await stage.rig.addAccount()
  const data = `0x${'5b'.repeat(maxDataBytes)}`
  const [transaction] = await its.send(1, { data, gas_limit: 8_000_000 })
  await its.finished(() => stage.rig.chain.mine())
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url())
  // Laying out text takes the time: a page with all of it stands still.
  const charactersOf = (part: string) =>
    page.evaluate<number>(
      `[...document.querySelectorAll('${part}')].map((one) => one.innerText.length).reduce((a, b) => a + b, 0)`,
    )
  await signIn(stage.rig.api_key)
  await page.getByRole('heading', { name: 'Relayers' }).waitFor()
  await open(`/relayers/${its.relayer_id}/transactions/${transaction?.id}`)
  await page.getByText(`Data (${maxDataBytes.toLocaleString('en')} bytes)`).waitFor()
  expect(await charactersOf('#content')).toBeLessThan(maxShown)
  await open(`/sandbox/${its.relayer_id}/${transaction?.id}`)
  await expect.poll(async () => (await page.getByLabel('Data').inputValue()).length).toBe(data.length)
  expect(await charactersOf('#content pre')).toBeLessThan(maxShown)

  await open(`/sandbox/${its.relayer_id}`)
  await page.getByRole('button', { name: 'Sign a message' }).click()
  await page.getByLabel('Message').fill('m'.repeat(maxMessageBytes))
  await page.getByRole('button', { name: 'Sign', exact: true }).click()
  await page.getByText('"sig": "0x').waitFor()
})

/** Rows as 10,000 confirmed transactions leave them. */
function fill(file: string, relayerId: string): void {
  const db = new Database(file)
  db.prepare(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${many})
    INSERT INTO transactions (caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, network, hash, "from", "to", value, nonce, gas_limit,
      max_fee_per_gas, max_priority_fee_per_gas, status, created_at, sent_at, confirmed_at)
    SELECT 'test', 2, '2026-01-01T00:00:00.000Z', printf('01a20157-0000-7000-8000-%012d', n), row_id, id, n, chain_id, network, '0x' || hex(zeroblob(32)), address, address,
      '1000000000000000000', n - 1, 21000, '30000000000', '1000000000', 'confirmed', '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'
    FROM relayers, numbers WHERE id = $relayer_id`).run({ relayer_id: relayerId })
  db.close()
}
