import { getAddress } from 'ethers'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { act, named, openConsole, startStage } from './browser.ts'
import { startReceiver } from './receiver.ts'

const many = 60
const relayers = '/api/v1/relayers/{relayer_id}'

const stage = startStage({ chain: { noMining: true } })

/** The console, signed in. */
async function start() {
  const opened = await openConsole(stage.browser, stage.rig.url())
  await opened.signIn(stage.rig.api_key)
  return opened
}

const well = (page: Page) => page.getByText('Nothing needs attention')
const fund = (address: string) => stage.rig.chain.setBalance(address, 10n ** 20n)
const passMinute = () => {
  stage.rig.clock.passed_ms += 61_000
}

test('says that nothing needs attention only of what was checked, with its time', async () => {
  const { data } = await stage.rig.client().get(relayers, { path: { relayer_id: 'demo' } })
  await fund(data.address)
  passMinute()
  const { page, expectComplaint } = await start()
  expectComplaint(/status of 500/)
  await well(page).waitFor()
  await page.getByText(/Checked at \d\d:\d\d:\d\d$/).waitFor()
  expect(await page.title()).toBe('Overview · Relayer console')

  const fail = {
    status: 500,
    contentType: 'application/json',
    body: '{"success":false,"data":null,"code":"internal","message":"Internal"}',
  }
  await page.route('**/api/v1/problems*', (route) => route.fulfill(fail))
  await page.getByText('The problems of the service are not known since').waitFor()
  expect(await well(page).count()).toBe(0)
  await page.route('**/api/v1/queues*', (route) => route.fulfill(fail))
  await page.getByText(/Out of date: from/).waitFor()
  await page.unroute('**/api/v1/problems*')
  await well(page).waitFor()

  await stage.rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_getBalance'] })
  passMinute()
  await page.getByText(/The balance and nonces of relayers could not be read/).waitFor()
  expect(await well(page).count()).toBe(0)
  await stage.rig.proxy.setFault(undefined)
})

test('finds the empty ones among 60 relayers, pages through all of them, and acknowledges one', async () => {
  const client = stage.rig.client()
  const { data: used } = await client.get('/api/v1/relayers', { query: { per_page: 1_000 } })
  for (let index = used.length; index < many; index += 1) {
    const id = `pay-${`${index}`.padStart(2, '0')}`
    await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
    const network = { network: 'local', network_type: 'evm' } as const
    const { data } = await client.post('/api/v1/relayers', {
      body: { id, name: id, ...network, paused: false, signer_id: id },
    })
    if (index < many - 2) await fund(data.address)
  }
  passMinute()
  const { page } = await start()
  await page.getByRole('heading', { name: 'Needs attention (2)' }).waitFor()
  await expect.poll(() => page.title()).toBe('(2) Overview · Relayer console')
  await page.locator('.troubles').getByText('pay-59 has no funds').waitFor()

  await named(page, 'Balance').click()
  const names = page.locator('tbody .first')
  await expect.poll(async () => (await names.allTextContents()).slice(0, 2).sort()).toEqual(['pay-58', 'pay-59'])
  await named(page, 'Balance').click()
  await expect.poll(() => names.first().textContent()).toBe('demo')
  await named(page, 'Relayer').click()
  await named(page, 'Next').click()
  await named(page, 'Next').click()
  await page.getByText(`Page 3 of 3, ${many} relayers`).waitFor()
  await page.getByRole('table').getByText('pay-59').waitFor()

  await act(page, named(page, 'Acknowledge').first(), (dialog) => dialog.getByLabel('Note').fill('funds come at noon'))
  await page.getByText(/environment key is dealing with it until .*: funds come at noon/).waitFor()
  await expect.poll(() => page.title()).toBe('(1) Overview · Relayer console')
  await act(page, named(page, 'Withdraw').first())
  await expect.poll(() => page.title()).toBe('(2) Overview · Relayer console')

  await page.locator('.troubles').getByText('pay-59 has no funds').click()
  await page.locator('.callout').getByText('pay-59 has no funds').waitFor()
})

test('gives a relayer the same status on its page, in its pool, in the search and in the list', async () => {
  const body = { id: 'both', network: 'local', relayer_ids: ['pay-57', 'pay-59'] }
  await stage.rig.client().post('/api/v1/pools', { body })
  const { page, open } = await start()
  await open('/relayers/pay-59')
  await page.locator('h1').getByText('no funds', { exact: true }).waitFor()
  await open('/pools/both/relayers')
  const states = page.getByRole('table', { name: 'relayers' }).locator('tbody .badge')
  await expect.poll(() => states.allTextContents()).toEqual(['active', 'no funds'])
  await page.keyboard.press('Control+k')
  await page.getByLabel('Find').last().fill('pay-59')
  const results = page.getByRole('listbox', { name: 'Search results' }).getByRole('option')
  await results.first().getByText('no funds', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await open('/')
  await page.locator('.tile').getByText('58 active', { exact: true }).waitFor()
  await page.getByLabel(/^Filter by ID/).fill('pay-5')
  await named(page, 'active').click()
  const names = page.getByRole('table', { name: 'relayers' }).locator('tbody .first')
  await expect.poll(async () => (await names.allTextContents()).at(-1)).toBe('pay-57')
})

test('searches everything at once, and opens what is found', async () => {
  const account = await stage.rig.addAccount()
  const [sent] = await account.send(1, { reference: 'invoice 7', metadata: { customer: '4711' } })
  const { page } = await start()
  const find = async (text: string) => {
    await page.keyboard.press('Control+k')
    await page.getByLabel('Find by ID').fill(text)
    await page.keyboard.press('Enter')
  }
  for (const text of [sent?.id as string, 'invoice 7', 'customer:4711']) {
    await find(text)
    await expect.poll(() => page.url()).toContain(`/transactions/${sent?.id}`)
    await page.getByRole('link', { name: 'Overview', exact: true }).first().click()
  }
  await find('pay-')
  const results = page.getByRole('listbox', { name: 'Search results' }).getByRole('option')
  await expect.poll(() => results.count()).toBe(50)
  await results.filter({ hasText: 'pay-07' }).first().click()
  await page.getByRole('heading', { name: 'pay-07' }).waitFor()
  await find('nothing like this')
  await page.getByText('Nothing found for “nothing like this”.').waitFor()
  await account.finished(() => stage.rig.chain.mine())
})

test('keeps what was chosen on a page in its address', async () => {
  const { page, open } = await start()
  await page.getByLabel(/^Filter by ID/).fill('pay-5')
  await named(page, 'Active').or(named(page, 'active')).click()
  await page.getByRole('table', { name: 'relayers' }).getByText('pay-57').waitFor()
  await page.reload()
  await expect.poll(() => page.getByLabel(/^Filter by ID/).inputValue()).toBe('pay-5')
  expect(page.url()).toContain('#/overview/')
  await open('/spending')
  await named(page, '90 d').click()
  await page.reload()
  await page.getByRole('button', { name: '90 d', pressed: true }).waitFor()
})

test('has the filter of a list in its address, and leads a path to its page', async () => {
  const account = await stage.rig.addAccount()
  const { page, open } = await start()
  await open(`/relayers/${account.relayer_id}`)
  await named(page, 'failed').click()
  await page.getByLabel('Filter by hash').fill('order 7')
  await expect.poll(() => page.url()).toContain(`/relayers/${account.relayer_id}/list/failed/order%25207`)
  await page.reload()
  await expect.poll(() => page.getByLabel('Filter by hash').inputValue()).toBe('order 7')
  expect(await named(page, 'failed').getAttribute('aria-pressed')).toBe('true')
  await page.goto(`${stage.rig.url()}/console/networks`)
  await page.getByRole('heading', { name: 'Networks' }).waitFor()
})

test('pushes waiting deliveries, one behind an earlier one too, and says so', async () => {
  const receiver = await startReceiver()
  const account = await stage.rig.addAccount()
  const client = stage.rig.client()
  await client.post('/api/v1/notifications', { body: { id: 'slow-shop', url: receiver.url } })
  receiver.answer(500)
  const path = { relayer_id: account.relayer_id }
  await client.patch(relayers, { path, body: { notification_id: 'slow-shop' } })
  await account.send(2)
  await account.finished(() => stage.rig.chain.mine())
  await expect.poll(() => receiver.bodies.length).toBeGreaterThan(1)
  const { page, open } = await start()
  await open('/notifications/slow-shop')
  // Before that, an attempt by schedule could end the wait of the row that is acted on.
  await act(page, named(page, 'Redeliver now').first(), async () => receiver.answer(200))
  await page.getByText(/Delivery #\d+ is redelivered now/).waitFor()
  const states = page.getByRole('table', { name: 'deliveries' }).locator('tbody .badge')
  await expect.poll(async () => new Set(await states.allTextContents())).toEqual(new Set(['delivered']))
  const all = page.getByRole('button', { name: 'Redeliver pending' })
  await expect.poll(() => all.isDisabled()).toBe(true)
  expect(await all.getAttribute('title')).toBe('No delivery is pending.')
  await receiver.stop()
})

test('asks for a relayer before it signs, shows what is sent, and names invalid input as such', async () => {
  const account = await stage.rig.addAccount()
  const { page, open } = await start()
  await open('/sandbox')
  await named(page, 'Sign').click()
  const fault = (label: string) => page.locator('label', { hasText: label }).locator('.fault')
  await fault('Relayer').getByText('This field is required.').waitFor()
  await named(page, 'Simulate or send').click()
  await page.getByLabel('To (empty').fill(`0x${'b0'.repeat(20)}`)
  await page.getByLabel('Value in').fill('1.5')
  await named(page, 'Send it').click()
  await fault('Relayer').waitFor()
  await page.getByLabel('Relayer').fill(account.relayer_id)
  expect(await fault('Relayer').count()).toBe(0)
  await page.getByLabel('Value in').fill('one')
  await named(page, 'Send it').click()
  await fault('Value').getByText('Enter an amount, such as 0.05.').waitFor()
  expect(await page.getByRole('dialog').count()).toBe(0)
  await page.getByLabel('Value in').fill('1.5')
  await named(page, 'Send it').click()
  const dialog = page.getByRole('dialog')
  for (const text of [account.address, 'local', `0x${'b0'.repeat(20)}`, '1.5 ETH'])
    await dialog.getByText(text).first().waitFor()
  await page.keyboard.press('Escape')
  expect(await account.transactions()).toEqual([])
})

test('tells a key with a typographic quote from a service that does not respond', async () => {
  const { page } = await openConsole(stage.browser, stage.rig.url())
  await page.getByLabel('API key').fill('“secret”')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('This is no API key').waitFor()
})

test('copies where the browser has no clipboard, as over plain HTTP', async () => {
  const account = await stage.rig.addAccount()
  const { page, open, context } = await start()
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await open(`/relayers/${account.relayer_id}`)
  await page.evaluate('navigator.clipboard.writeText("before")')
  await page.evaluate('window.read = navigator.clipboard.readText.bind(navigator.clipboard)')
  await page.evaluate('Object.defineProperty(navigator, "clipboard", { value: undefined })')
  await page.getByRole('button', { name: `Copy ${account.address}` }).click()
  await page.getByText('Copied').waitFor()
  expect(await page.evaluate('window.read()')).toBe(getAddress(account.address))
})

test('leads from a line of several problems to each of them, and funds a relayer from its line', async () => {
  const { chain } = stage.rig
  const treasury = await stage.rig.addAccount()
  const accounts = [await stage.rig.addAccount(), await stage.rig.addAccount(), await stage.rig.addAccount()]
  for (const { address } of accounts) await chain.setBalance(address, 0n)
  passMinute()
  const { page } = await start()
  const { relayer_id, address } = accounts[2] as (typeof accounts)[0]
  const line = page.getByRole('listitem').filter({ hasText: /\d relayers have no funds/ })
  const link = line.getByRole('link', { name: relayer_id, exact: true })
  expect(await link.getAttribute('href')).toBe(`#/relayers/${relayer_id}`)
  await act(page, named(line, 'Fund'), async (dialog) => {
    await dialog.getByLabel('To').selectOption(relayer_id)
    await dialog.getByText(address).waitFor()
    await dialog.getByLabel('From').selectOption(treasury.relayer_id)
    await dialog.getByLabel('Amount').fill('0.25')
  })
  await treasury.finished(chain.mine)
  expect(BigInt(await chain.rpc<string>('eth_getBalance', [address, 'latest']))).toBe(10n ** 18n / 4n)
  for (const one of accounts) await fund(one.address)
})

test('shows problems of one kind as one line, and acknowledges them together', async () => {
  const accounts = [await stage.rig.addAccount(), await stage.rig.addAccount(), await stage.rig.addAccount()]
  const pause = (paused: boolean) =>
    Promise.all(
      accounts.map(({ relayer_id }) => stage.rig.client().patch(relayers, { path: { relayer_id }, body: { paused } })),
    )
  await pause(true)
  passMinute()
  const { page } = await start()
  const line = page.getByRole('listitem').filter({ hasText: '3 relayers are paused' })
  await page.getByRole('list', { name: 'By severity' }).getByText('3 notices').waitFor()
  await line.getByRole('button', { name: '3 relayers are paused' }).click()
  await page.getByText(`${accounts[2]?.relayer_id} (rig) is paused`).waitFor()
  await act(page, line.getByRole('button', { name: 'Acknowledge' }))
  await expect.poll(() => page.getByText(/environment key is dealing with it until/).count()).toBe(3)
  await pause(false)
})
