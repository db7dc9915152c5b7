import { Wallet } from 'ethers'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import type { RelayerPoliciesPatch } from '../../client/index.ts'
import type { Account } from '../support/rig.ts'
import { choose, named, openConsole, startStage } from './browser.ts'
import { startReceiver } from './receiver.ts'

const base = '/api/v1/relayers/{relayer_id}'
const gwei = 10n ** 9n
const key = `0x${'7c'.repeat(32)}`

const stage = startStage({ chain: { noMining: true } })
let transactionIds: string[] = []

afterEach(async () => {
  await stage.rig.proxy.setFault(undefined)
  stage.rig.proxy.setLiar(undefined)
  await stage.rig.chain.setBaseFee(gwei)
  await stage.rig.chain.mine()
})

/** The overview, signed in. */
async function overview(): Promise<Page> {
  const { page, signIn, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  // A node's failure is a 503 of some operations, which the browser tells of.
  expectComplaint(/status of 503/)
  await signIn(stage.rig.api_key)
  return page
}

/** What the overview says of it, which is the first click. */
const trouble = (page: Page, text: RegExp) => page.locator('.troubles a').filter({ hasText: text }).first()
const shown = (page: Page, text: RegExp) => page.getByText(text).first().waitFor()

/** The second click, and the confirmation of what it told. */
async function remedy(page: Page, label: string): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.locator('button[type=submit]').click()
  await expect
    .poll(async () => (await dialog.count()) === 0 || (await dialog.getByRole('status').count()) > 0)
    .toBe(true)
}

const patch = (
  { relayer_id }: Account,
  body: { paused?: boolean; policies?: RelayerPoliciesPatch; notification_id?: string },
) => stage.rig.client().patch(base, { path: { relayer_id }, body })

async function send(account: Account, count = 1, body = {}): Promise<void> {
  transactionIds = (await account.send(count, { gas_limit: 50_000, ...body })).map(({ id }) => id)
}

const finished = (account: Account) => account.finished(() => stage.rig.chain.mine())

/** Until a node has the last transaction that was sent. */
const submitted = (account: Account) =>
  expect.poll(async () => (await account.transactions())[0]?.status).toBe('submitted')

/** A relayer whose cap is below the base fee, with transactions that wait for it. */
async function capped(count: number): Promise<Account> {
  const account = await stage.rig.addAccount()
  await patch(account, { policies: { gas_price_cap: `${5n * gwei}` } })
  await send(account, count)
  await stage.rig.chain.setBaseFee(10n * gwei)
  await stage.rig.chain.mine()
  return account
}

test('a price cap that is too low: shows the reason, and raises the cap', async () => {
  const account = await capped(1)
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\).*price cap`)).click()
  await shown(page, /gas_price_cap/)
  await remedy(page, 'Change the policy')
  await finished(account)
})

test('a blocked transaction: leads to the blocking one with its reason and remedy', async () => {
  const account = await capped(2)
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\).*1 more behind it`)).click()
  await remedy(page, 'Change the policy')
  await finished(account)
  expect(transactionIds).toHaveLength(2)
})

test('a spike of the base fee: shows the reason, and replaces at a higher price', async () => {
  const account = await stage.rig.addAccount()
  await send(account)
  await submitted(account)
  await stage.rig.chain.setBaseFee(100n * gwei)
  await stage.rig.chain.mine()
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\).*base fee`)).click()
  await shown(page, /base fee/)
  await expect.poll(() => named(page, 'Speed up').getAttribute('class')).toBe('primary')
  await remedy(page, 'Speed up')
  await finished(account)
})

test('no funds: shows the reason and the address to fund', async () => {
  const account = await stage.rig.addAccount()
  await stage.rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await send(account)
  await stage.rig.chain.setBalance(account.address, 0n)
  await stage.rig.proxy.setFault(undefined)
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\).*The balance is too low`)).click()
  await page.locator('.remedies').getByText(account.address, { exact: true }).waitFor()
  await stage.rig.chain.setBalance(account.address, 10n ** 18n)
  await finished(account)
})

test('a paused relayer: resumes it', async () => {
  const account = await stage.rig.addAccount()
  await patch(account, { paused: true })
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\) is paused`)).click()
  await shown(page, /signs and sends nothing until it is resumed/)
  await remedy(page, 'Resume')
  await send(account)
  await finished(account)
})

test('a nonce that was used elsewhere: shows the reason, and repairs it', async () => {
  const account = await stage.rig.addAccount({ key })
  const request = { type: 2, chainId: 31_337, nonce: 0, to: account.address, gasLimit: 21_000n }
  const raw = await new Wallet(key).signTransaction({
    ...request,
    maxFeePerGas: 50n * gwei,
    maxPriorityFeePerGas: gwei,
  })
  await stage.rig.chain.rpc('eth_sendRawTransaction', [raw])
  await stage.rig.chain.mine()
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\): its nonces do not match the chain`)).click()
  await shown(page, /chain ahead/)
  await remedy(page, 'Repair the nonces')
  const nonce = async () =>
    (await stage.rig.client().get(`${base}/nonce`, { path: { relayer_id: account.relayer_id } })).data
  await expect.poll(async () => (await nonce()).status).toBe('in_step')
  await send(account)
  await finished(account)
})

test('a reverted transaction: shows the decoded reason, and sends again when the cause is gone', async () => {
  const account = await stage.rig.addAccount()
  const to = `0x${'fd'.repeat(20)}`
  await stage.rig.chain.rpc('anvil_setCode', [to, revertsWith('paused by the owner')])
  await send(account, 1, { to })
  await finished(account)
  const page = await overview()
  await trouble(page, new RegExp(`${account.relayer_id} \\(rig\\): a transaction failed`)).click()
  await shown(page, /Failed: paused by the owner/)
  await stage.rig.chain.rpc('anvil_setCode', [to, '0x'])
  await page.getByRole('link', { name: 'Simulate again' }).click()
  await remedy(page, 'Send it')
  await expect.poll(async () => (await account.transactions()).length).toBe(2)
  await finished(account)
  expect((await account.transactions())[0]).toMatchObject({ to, status: 'confirmed' })
})

test('a webhook target that is down: shows its response, and redelivers', async () => {
  const receiver = await startReceiver()
  const account = await stage.rig.addAccount()
  await stage.rig.client().post('/api/v1/notifications', { body: { id: 'shop-events', url: receiver.url } })
  await patch(account, { notification_id: 'shop-events' })
  receiver.answer(500, 'the shop is closed')
  await patch(account, { paused: true })
  await expect.poll(() => receiver.bodies.length).toBeGreaterThan(0)
  const page = await overview()
  await trouble(page, /Notification shop-events is failing/).click()
  await shown(page, /HTTP 500/)
  receiver.answer(200)
  const before = receiver.bodies.length
  await remedy(page, 'Redeliver now')
  await expect.poll(() => receiver.bodies.length).toBeGreaterThan(before)
  await expect
    .poll(() => page.getByRole('table', { name: 'deliveries' }).getByText('delivered').count())
    .toBeGreaterThan(0)
  await receiver.stop()
})

test('a node that is down or on the wrong chain: names it, shows its error, and changes the nodes', async () => {
  const account = await stage.rig.addAccount()
  const page = await overview()
  const change = async (url: string) => {
    await choose(page, 'local', 'Edit nodes')
    await page.getByLabel('Node URLs').fill(url)
    await page.getByRole('dialog').locator('button[type=submit]').click()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  }
  await stage.rig.proxy.setFault({ kind: 'http_500' })
  await trouble(page, /local: no node is healthy.*500/).click()
  await page.getByRole('table').getByText('unreachable').waitFor()
  await change(stage.rig.chain.url)
  await page.getByRole('table').getByText('healthy').waitFor()
  await send(account)
  await finished(account)

  await stage.rig.proxy.setFault(undefined)
  stage.rig.proxy.setLiar(({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined))
  await stage.rig.client().patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [`${stage.rig.proxy.url}/other`] },
  })
  await page.getByRole('link', { name: 'Overview' }).click()
  await trouble(page, /local: no node is healthy.*wrong chain/).click()
  await shown(page, /It is on chain 5 and not on 31337/)
  await change(stage.rig.chain.url)
  await page.getByRole('table').getByText('healthy').waitFor()
  await send(account)
  await finished(account)
})

/** The code of a contract that reverts with Error(string), of at most 32 bytes. */
function revertsWith(text: string): string {
  const word = (value: number) => value.toString(16).padStart(64, '0')
  const data = `08c379a0${word(32)}${word(text.length)}${Buffer.from(text).toString('hex').padEnd(64, '0')}`
  const bytes = data.length / 2
  // CODECOPY of what follows the code, then REVERT.
  return `0x60${bytes.toString(16)}600c60003960${bytes.toString(16)}6000fd${data}`
}
