import { readFile } from 'node:fs/promises'
import { parse } from 'csv-parse/sync'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerPoliciesPatch } from '../../client/index.ts'
import { testLiar } from '../support/liar.ts'
import type { Account } from '../support/rig.ts'
import { act, type Console, fillEntries, named, openConsole, startStage } from './browser.ts'

const base = '/api/v1/relayers/{relayer_id}'
const one = `${base}/transactions/{transaction_id}` as const
const other = `0x${'b0'.repeat(20)}`

const stage = startStage({ chain: { noMining: true } })

/** The console at a page, signed in. */
async function at(path: string): Promise<Console> {
  const opened = await openConsole(stage.browser, stage.rig.url())
  await opened.signIn(stage.rig.api_key)
  await opened.open(path)
  return opened
}

const opened = (page: Page) => page.getByRole('dialog')

const relayer = async ({ relayer_id }: Account) => (await stage.rig.client().get(base, { path: { relayer_id } })).data
const patch = ({ relayer_id }: Account, policies: RelayerPoliciesPatch) =>
  stage.rig.client().patch(base, { path: { relayer_id }, body: { policies } })
const finished = (account: Account) => account.finished(() => stage.rig.chain.mine())

/** Until a node has the replacement of each transaction: a block before that may contain the replaced version. */
async function replaced(account: Account, firstNonce = 0): Promise<void> {
  for (const { id, relayer_id, nonce } of await account.transactions()) {
    if (nonce === null || nonce < firstNonce) continue
    const path = { relayer_id, transaction_id: id }
    await expect
      .poll(async () => {
        const { data } = await stage.rig.client().get(`${base}/transactions/{transaction_id}/attempts`, { path })
        return data.some(({ number, accepted_at }) => number > 1 && accepted_at !== null)
      })
      .toBe(true)
  }
}

test('creates an API key with rights and an expiry, rotates it, and revokes it', async () => {
  const { page, expectComplaint } = await at('/keys')
  expectComplaint(/status of 401/)
  const listed = async () => (await stage.rig.client().get('/api/v1/api-keys', {})).data
  const caller = async (token: string) =>
    (await createRelayerClient({ baseUrl: stage.rig.url(), token }).get('/api/v1/api-keys/self')).data
  const shownToken = async () => {
    // Neither a key nor a click beside it loses what is shown once.
    await opened(page).getByRole('status').waitFor()
    await page.keyboard.press('Escape')
    await page.mouse.click(2, 2)
    const token = await opened(page).getByRole('status').locator('code').textContent()
    await named(opened(page), 'Close').click()
    return token ?? ''
  }
  await act(page, named(page, 'Create an API key'), async (dialog) => {
    await dialog.getByLabel('Name').fill('night shift')
    await dialog.getByLabel('send').check()
    await dialog.getByRole('group', { name: 'Only these relayers' }).getByLabel('demo', { exact: true }).check()
    await dialog.getByLabel('Expires at').fill('2099-01-02T03:04')
  })
  const first = await shownToken()
  expect((await listed()).map(({ name }) => name)).toEqual(['night shift'])
  expect((await listed())[0]).toMatchObject({
    scopes: ['read', 'send'],
    relayer_ids: ['demo'],
    expires_at: '2099-01-02T03:04:00.000Z',
  })
  await page.getByRole('link', { name: 'night shift' }).click()
  await page.getByRole('heading', { name: 'night shift' }).waitFor()
  await act(page, named(page, 'Edit'), async (dialog) => {
    expect(await dialog.getByLabel('Name').inputValue()).toBe('night shift')
    await dialog.getByLabel('sign').check()
    await dialog.getByLabel('send').uncheck()
    await fillEntries(dialog, 'allowed_cidrs', [['10.0.0.0/8'], ['127.0.0.1/32']])
    await dialog.getByLabel('Expires at').fill('')
  })
  expect((await listed())[0]).toMatchObject({
    ...{ name: 'night shift', scopes: ['read', 'sign'], relayer_ids: ['demo'], expires_at: null },
    allowed_cidrs: ['10.0.0.0/8', '127.0.0.1/32'],
  })
  expect(await caller(first)).toMatchObject({ name: 'night shift' })

  await named(page, 'More actions of night shift').click()
  await act(page, page.getByRole('menuitem', { name: 'Rotate' }))
  const second = await shownToken()
  expect(second).not.toBe(first)
  expect(await caller(second)).toMatchObject({ name: 'night shift' })
  expect((await listed())[0]?.previous_token_expires_at).not.toBeNull()

  await named(page, 'More actions of night shift').click()
  await act(page, page.getByRole('menuitem', { name: 'Revoke' }))
  expect(await listed()).toEqual([])
  await expect(caller(second)).rejects.toMatchObject({ status: 401 })
  await page.getByText('No API keys yet').waitFor()
})

test('pauses and resumes a relayer', async () => {
  const account = await stage.rig.addAccount()
  const { page } = await at(`/relayers/${account.relayer_id}`)
  await act(page, named(page, 'Pause'))
  expect((await relayer(account)).paused).toBe(true)
  await act(page, named(page, 'Resume'))
  expect((await relayer(account)).paused).toBe(false)
  await named(page, 'Pause').waitFor()
})

test('pauses and resumes several relayers at once', async () => {
  const [one, two] = [await stage.rig.addAccount(), await stage.rig.addAccount()]
  const { page } = await at('/')
  await page.getByLabel(`Select ${one.relayer_id}`).check()
  await page.getByLabel(`Select ${two.relayer_id}`).check()
  const both = async () => Promise.all([one, two].map(async (its) => (await relayer(its)).paused))
  await act(page, named(page, 'Pause selected'))
  await page.getByText('2 paused.').waitFor()
  expect(await opened(page).count()).toBe(0)
  expect(await both()).toEqual([true, true])
  await expect.poll(() => named(page, 'Clear selection').count()).toBe(0)
  await page.getByRole('row').filter({ hasText: two.relayer_id }).getByText('paused').waitFor()
  await page.getByLabel(`Select ${two.relayer_id}`).check()
  await act(page, named(page, 'Resume selected'))
  expect(await both()).toEqual([true, false])
})

test('keeps a policy exact to the wei, and unchanged when nothing is typed, also after a change elsewhere', async () => {
  const account = await stage.rig.addAccount()
  const exact = '1234567890123456789'
  await patch(account, { max_value: exact })
  const { page } = await at(`/relayers/${account.relayer_id}/policies`)
  const row = page.getByRole('listitem').filter({ has: page.getByText('max_value', { exact: true }) })
  const change = named(row, 'Edit')
  const type = (text: string) => (dialog: Locator) => dialog.getByLabel('max_value').fill(text)
  const maxValue = async () => (await relayer(account)).policies.max_value
  const confirmNothing = async () => {
    await change.click()
    await opened(page).getByText('Nothing is changed.').waitFor()
    expect(await opened(page).locator('button[type=submit]').isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => opened(page).count()).toBe(0)
  }
  await row.getByText('at most 1.234567890123456789 ETH').waitFor()
  await confirmNothing()
  expect(await maxValue()).toBe(exact)

  await act(page, change, type('2.000000000000000001'))
  expect(await maxValue()).toBe('2000000000000000001')

  await patch(account, { max_value: '3000000000000000003' })
  await row.getByText('at most 3.000000000000000003 ETH').waitFor()
  await confirmNothing()
  expect(await maxValue()).toBe('3000000000000000003')

  await change.click()
  await type('9')(opened(page))
  await page.keyboard.press('Escape')
  await confirmNothing()
  expect(await maxValue()).toBe('3000000000000000003')

  await change.click()
  await type('0.0000000000000000001')(opened(page))
  await opened(page).locator('button[type=submit]').click()
  await opened(page).locator('.fault').waitFor()
  expect(await opened(page).locator('.effect').textContent()).toContain('at most 3.000000000000000003 ETH')
  await page.keyboard.press('Escape')

  await act(page, change, type(''))
  expect(await maxValue()).toBeUndefined()
})

async function waiting() {
  const account = await stage.rig.addAccount()
  const accessList = [{ address: other, storage_keys: [] }]
  const [transaction] = await account.send(1, { gas_limit: 50_000, access_list: accessList })
  const path = { relayer_id: account.relayer_id, transaction_id: transaction?.id ?? '' }
  const read = async () => (await stage.rig.client().get(one, { path })).data
  await expect.poll(async () => (await read()).status).toBe('submitted')
  const { page } = await at(`/relayers/${path.relayer_id}/transactions/${path.transaction_id}`)
  const attempts = async () => (await stage.rig.client().get(`${one}/attempts`, { path })).data
  return { account, page, read, attempts, first: await read() }
}

test('edits the lists of a relayer’s policies, entry by entry', async () => {
  const account = await stage.rig.addAccount()
  const { page } = await at(`/relayers/${account.relayer_id}/policies`)
  const token = `0x${'c0'.repeat(20)}`
  const edit = (name: string, rows: string[][], limit = 'only these') => {
    const row = page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) })
    return act(page, named(row, 'Edit'), async (dialog) => {
      await dialog.getByLabel(name).selectOption(limit)
      await fillEntries(dialog, name, rows)
    })
  }
  await edit('whitelist_receivers', [[other], [token], ['']])
  await page.getByText('Sends only to 2 receivers.').waitFor()
  await edit('allowed_functions', [[token, '0xa9059cbb 0x']])
  await edit('token_limits', [[token, '', '5000']])
  expect((await relayer(account)).policies).toMatchObject({
    whitelist_receivers: [other, token],
    allowed_functions: [{ address: token, selectors: ['0xa9059cbb', '0x'] }],
    token_limits: [{ asset: token, max_amount_per_day: '5000' }],
  })
  await page.getByText('Limits transfers of 1 token.').waitFor()
  await edit('whitelist_receivers', [[''], ['']])
  await page.getByText('Nothing is allowed: the list is empty.').waitFor()
  expect((await relayer(account)).policies.whitelist_receivers).toEqual([])
  await edit('whitelist_receivers', [], 'no limit')
  await page.getByText('Sends to any receiver.').waitFor()
  expect((await relayer(account)).policies.whitelist_receivers).toBeUndefined()
})

test('speeds up a transaction', async () => {
  const { account, page, read, attempts, first } = await waiting()
  await act(page, named(page, 'Speed up'), async (dialog) => {
    await dialog.getByText('New price at most').waitFor()
    await dialog.getByText(/Fee at most/).waitFor()
  })
  await expect.poll(async () => (await attempts()).length).toBe(2)
  const now = await read()
  expect(now).toMatchObject({ nonce: first.nonce, to: first.to, value: first.value, access_list: first.access_list })
  expect(BigInt(now.max_fee_per_gas ?? 0)).toBeGreaterThan(BigInt(first.max_fee_per_gas ?? 0))
  await finished(account)
  expect((await read()).status).toBe('confirmed')
})

test('replaces a transaction by another one', async () => {
  const { account, page, read, first } = await waiting()
  await act(page, named(page, 'Replace'), async (dialog) => {
    await dialog.getByText('Change the receiver or the value').waitFor()
    expect(await named(dialog, `Replace ${account.relayer_id} · nonce 0`).isDisabled()).toBe(true)
    await dialog.getByLabel('To').fill(other)
    await dialog.getByLabel('Value in').fill('0.000000000000000077')
  })
  await replaced(account)
  await finished(account)
  expect(await read()).toMatchObject({ status: 'confirmed', nonce: first.nonce, to: other, value: '77' })
})

test('cancels a transaction', async () => {
  const { account, page, read } = await waiting()
  await act(page, named(page, 'Cancel'), async (dialog) => {
    await named(dialog, 'Keep it').waitFor()
    await dialog.getByText('New price at most').waitFor()
  })
  await replaced(account)
  await page.locator('h1').getByText('canceling').waitFor()
  await page.getByText('Hash of the cancellation').waitFor()
  await page.getByText('The service signs the cancellation again at a higher price').waitFor()
  await finished(account)
  expect((await read()).status).toBe('canceled')
  await page.locator('.timeline').getByText('Canceled', { exact: true }).waitFor()
})

test('cancels all transactions of a relayer', async () => {
  const account = await stage.rig.addAccount()
  await account.send(3, { gas_limit: 50_000 })
  await expect.poll(async () => (await account.transactions()).every(({ status }) => status === 'submitted')).toBe(true)
  const { page } = await at(`/relayers/${account.relayer_id}`)
  const button = named(page, 'Cancel all unfinished')
  for (const width of [1024, 1280, 1366]) {
    await page.setViewportSize({ width, height: 900 })
    // Nothing lies over it.
    await button.click({ trial: true, timeout: 5_000 })
    const list = "document.querySelector('.list')"
    expect(await page.evaluate(`${list}.scrollWidth - ${list}.clientWidth`)).toBe(0)
  }
  await page.keyboard.press('Control+k')
  await page.getByLabel(/^Find by ID/).fill(`cancel all of ${account.relayer_id}`)
  await page.getByRole('option', { name: `Cancel all unfinished of ${account.relayer_id}` }).click()
  await page.getByRole('dialog', { name: `Cancel all unfinished of ${account.relayer_id}` }).waitFor()
  expect((await account.transactions()).every(({ status }) => status === 'submitted')).toBe(true)
  await named(page, 'Keep them').click()
  await act(page, button)
  await expect.poll(() => page.locator('.list tbody').getByText('canceling', { exact: true }).count()).toBe(3)
  await replaced(account)
  await finished(account)
  expect((await account.transactions()).map(({ status }) => status)).toEqual(['canceled', 'canceled', 'canceled'])
  await expect.poll(() => named(page, 'Cancel all unfinished').count()).toBe(0)
})

test('signs, simulates and sends in the sandbox, and sends once although the response was lost', async () => {
  const account = await stage.rig.addAccount()
  const { page, expectComplaint } = await at(`/sandbox/${account.relayer_id}`)
  expectComplaint(/ERR_FAILED/)
  const result = page.getByRole('region', { name: 'Result' })
  await named(page, 'Sign a message').click()
  await page.getByLabel('Message').fill('good morning')
  await named(page, 'Sign').click()
  const path = { relayer_id: account.relayer_id }
  const { data } = await stage.rig.client().post(`${base}/sign`, { path, body: { message: 'good morning' } })
  await result.getByText(data.sig).waitFor()

  await named(page, 'Simulate or send').click()
  await page.getByLabel('To (empty').fill(other)
  await page.getByLabel('Value in').fill('0.000000000000000005')
  await named(page, 'Simulate').click()
  await result.getByText('gas_limit').first().waitFor()
  expect(await account.transactions()).toEqual([])
  await page.getByLabel('Function').fill('approve(address,uint256)')
  await page.getByLabel('Argument 1: address').fill(other)
  await page.getByLabel('Argument 2: uint256').fill(`${2n ** 256n - 1n}`)
  await page.getByLabel('Value in').fill('0')
  await named(page, 'Simulate').click()
  await result.getByText(/"function": "approve\(address,uint256\)"/).waitFor()
  expect(await page.getByRole('region', { name: 'Code samples' }).textContent()).toContain('approve(address,uint256)')
  await page.getByLabel('Function').fill('')
  await page.getByLabel('Value in').fill('0.000000000000000005')

  let lost = 0
  await page.route(`**/${account.relayer_id}/transactions`, async (route) => {
    await route.fetch()
    lost += 1
    await route.abort()
  })
  await named(page, 'Send it').click()
  await named(opened(page), 'Send it').click()
  await opened(page).getByRole('alert').waitFor()
  expect(lost).toBeGreaterThan(0)
  expect(await account.transactions()).toHaveLength(1)
  await page.unroute(`**/${account.relayer_id}/transactions`)
  await named(opened(page), 'Send it').click()
  await opened(page).getByText('Accepted').waitFor()
  expect(await account.transactions()).toMatchObject([{ to: other, value: '5' }])
  await finished(account)
})

test('lists the transactions of all relayers, cancels several of them at once, and gives the list as a file', async () => {
  const [first, second] = [await stage.rig.addAccount(), await stage.rig.addAccount()]
  await first.send(2, { reference: '=SUM("a")' })
  await second.send(1, { reference: '50% & more' })
  const { page } = await at('/transactions')
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })
  await named(page, 'unfinished').click()
  expect(page.url()).toContain('#/transactions/unfinished')
  await page.getByLabel('Filter by').fill('50% & more')
  await page.getByText('1 transaction', { exact: true }).waitFor()
  await page.getByLabel('Filter by').fill('none has this')
  await page.getByRole('heading', { name: 'No unfinished transaction has “none has this”' }).waitFor()
  await named(page, 'Clear filters').click()
  expect(page.url()).toMatch(/#\/transactions\/all$/)
  await named(page, 'unfinished').click()
  const place = () => row(second.relayer_id).boundingBox()
  const before = await place()
  await page.getByLabel(`Select =SUM("a"), ${first.relayer_id} · nonce 1`).check()
  await page.getByText('1 selected').waitFor()
  expect(await place(), 'no row moves').toEqual(before)
  await page.getByLabel(`Select 50% & more, ${second.relayer_id} · nonce 0`).check()
  await page.getByText('2 selected').waitFor()

  const dialog = opened(page)
  await named(page, 'Cancel selected').click()
  await named(dialog, 'Cancel 2 transactions').click()
  await page.getByText('2 being canceled.').waitFor()
  await expect.poll(() => page.getByText('2 selected').count()).toBe(0)
  await Promise.all([replaced(first, 1), replaced(second)])
  await Promise.all([finished(first), finished(second)])
  expect((await first.transactions()).map(({ status }) => status).sort()).toEqual(['canceled', 'confirmed'])
  expect((await second.transactions()).map(({ status }) => status)).toEqual(['canceled'])

  await page.getByRole('button', { name: 'withdrawn' }).click()
  await row(first.relayer_id).getByText('canceled', { exact: true }).waitFor()
  await row(first.relayer_id).getByText('Canceled by request', { exact: true }).waitFor()
  await named(page, 'Download CSV').click()
  const download = page.waitForEvent('download')
  await named(dialog, 'Download CSV').click()
  const text = await readFile(await (await download).path(), 'utf8')
  const rows = parse(text, { columns: true }) as Record<string, string>[]
  const its = rows.filter(({ relayer_id }) => relayer_id === first.relayer_id)
  expect(its.map(({ nonce, status, reference }) => ({ nonce, status, reference }))).toEqual([
    { nonce: '1', status: 'canceled', reference: `'=SUM("a")` },
  ])
  expect(rows.every(({ status }) => status === 'canceled' || status === 'expired')).toBe(true)
})

test('chooses nothing that is out of sight after another filter', async () => {
  const account = await stage.rig.addAccount()
  await account.send(2)
  const { page } = await at('/transactions/unfinished')
  await page.getByRole('button', { name: /^Select \d+ not mined$/ }).click()
  await named(page, 'Cancel selected').waitFor()
  await named(page, 'failed').click()
  await expect.poll(() => named(page, 'Cancel selected').count()).toBe(0)
  await named(page, 'unfinished').click()
  expect(await page.getByLabel(`Select ${account.relayer_id} · nonce 1`).isChecked()).toBe(false)
  await finished(account)
})

test('moves a transaction that was never signed to another relayer of the pool', async () => {
  const { chain } = stage.rig
  const node = await testLiar(chain)
  const full = await stage.rig.addAccount({ rpc_urls: [node.url] })
  const { network } = await relayer(full)
  const spare = await stage.rig.client().post('/api/v1/signers', { body: { type: 'generated' } })
  const body = { id: 'spare', name: 'Spare', network_type: 'evm', paused: false, signer_id: spare.data.id } as const
  const { data } = await stage.rig.client().post('/api/v1/relayers', { body: { ...body, network } })
  await chain.setBalance(data.address, 10n ** 20n)
  await stage.rig
    .client()
    .post('/api/v1/pools', { body: { id: 'both', network, relayer_ids: [full.relayer_id, 'spare'] } })
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  await full.send(1)
  await expect
    .poll(async () => (await full.transactions()).some(({ status_reason }) => status_reason !== null))
    .toBe(true)
  // What comes behind it is not signed. What was sent to the relayer itself is not the pool's to move.
  const validUntil = new Date(Date.now() + 3_600_000).toISOString()
  const [second] = await full.send(1, { valid_until: validUntil })
  const weigh = (weight: number) => stage.rig.client().pools.update('both', { weights: { spare: weight } })
  await weigh(0)
  const third = await stage.rig
    .client()
    .post('/api/v1/pools/{pool_id}/transactions', { path: { pool_id: 'both' }, body: { to: data.address, value: '1' } })
  await weigh(100)

  const pathOf = (id: string | undefined) => `/relayers/${full.relayer_id}/transactions/${id}`
  const { page, open } = await at(pathOf(third.data.id))
  await named(page, 'Move').waitFor()
  await open(pathOf(second?.id))
  await page
    .getByText(second?.id ?? '')
    .first()
    .waitFor()
  expect(await named(page, 'Move').count()).toBe(0)
  await page.locator(`dd time[datetime="${validUntil}"]`).waitFor()
  await open(pathOf(third.data.id))
  const dialog = opened(page)
  await named(page, 'Move').click()
  await named(dialog, 'Move').click()
  await page.getByRole('link', { name: 'spare', exact: true }).first().waitFor()
  await open(pathOf(third.data.id))
  await page.getByRole('link', { name: 'spare · nonce 0' }).click()
  await page.getByRole('heading', { name: 'spare · nonce 0' }).waitFor()
  node.lie = undefined
  await finished(full)
})

test('says in the audit trail what was changed, before and after, why a request was refused, and whose transaction it is', async () => {
  const account = await stage.rig.addAccount()
  await patch(account, { max_value: '5' })
  await patch(account, { max_value: '7' })
  const path = { relayer_id: account.relayer_id }
  const send = (value: string) =>
    stage.rig.client().post(`${base}/transactions`, { path, body: { to: other, value, reference: 'order-12' } })
  await expect(send('8')).rejects.toMatchObject({ status: 403 })
  await send('6')
  const { page } = await at('/audit')
  const row = (operation: string) =>
    page.getByRole('row').filter({ hasText: account.relayer_id }).filter({ hasText: operation })
  const details = async (operation: string) =>
    (await row(operation).locator('.changes').allTextContents()).join(' | ').replaceAll('\u00a0', ' ')
  await row('Edit relayer').first().waitFor()
  expect(await details('Edit relayer')).toBe(
    'Value limit per transaction: 0.000000000000000005 ETH → 0.000000000000000007 ETH | Value limit per transaction: not set → 0.000000000000000005 ETH',
  )
  expect(await details('Send transaction')).toMatch(/^8 wei is above the limit of 7 wei\.$/)
  const { signer_id } = await stage.rig.client().relayers.get(account.relayer_id)
  const made = page.getByRole('row').filter({ hasText: 'Create signer' }).getByTitle(signer_id)
  expect(await made.getAttribute('href')).toBe('#/signers')
  await page.getByRole('link', { name: 'order-12' }).click()
  await page.getByRole('heading', { name: 'order-12' }).waitFor()
  await page.getByText('environment key').first().waitFor()
  await finished(account)
})

test('finds refused operations in the audit trail, without the service’s own, and shows times in UTC', async () => {
  const account = await stage.rig.addAccount()
  await account.send(1)
  const path = { relayer_id: account.relayer_id }
  await expect(stage.rig.client().delete(base, { path })).rejects.toMatchObject({ status: 409 })
  await finished(account)
  const { page, signIn, open } = await openConsole(stage.browser, stage.rig.url(), { zone: 'Asia/Tokyo' })
  await signIn(stage.rig.api_key)
  await open('/audit')
  const row = (operation: string) => page.getByRole('row').filter({ hasText: operation })
  await row('Delete relayer').first().waitFor()
  expect(
    await page
      .getByRole('row')
      .filter({ hasText: /#\d+service/ })
      .count(),
  ).toBe(0)
  await named(page, 'More filters').click()
  await page.getByLabel('Operation').fill('delete RELAYER')
  await page.getByLabel('Relayer', { exact: true }).fill(account.relayer_id)
  await named(page, 'refused').click()
  await expect.poll(() => page.getByRole('row').count()).toBe(2)
  await row('Delete relayer').getByTitle('HTTP 409').getByText('refused').waitFor()
  expect(page.url()).toContain('outcome%253Drefused')
  await named(page, 'More filters (2)').waitFor()
  // The times of the form are in the zone of those in the list.
  const aMinuteAgo = new Date(Date.now() - 60_000 + 9 * 3_600_000).toISOString().slice(0, 16)
  await page.getByLabel('Period').selectOption('From … to …')
  await page.getByLabel('From (UTC+9)').fill(aMinuteAgo)
  await page.getByLabel('From (UTC+9)').press('Enter')
  await expect.poll(() => page.url()).toContain('after%253D')
  await row('Delete relayer').waitFor()
  expect(await page.getByLabel('From (UTC+9)').inputValue()).toBe(aMinuteAgo)

  // The head of the column names the zone, and a row has no year.
  await page.getByRole('columnheader', { name: 'Time (UTC+9)' }).waitFor()
  const when = row('Delete relayer').getByRole('cell').first()
  expect(await when.textContent()).toMatch(/^\d{1,2} \w{3,4}, \d\d:\d\d:\d\d #\d+$/)
  await named(page, 'UTC').click()
  await page.getByRole('columnheader', { name: 'Time (UTC)' }).waitFor()
})
