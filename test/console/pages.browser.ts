import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '../support/rig.ts'
import { openConsole, startStage } from './browser.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const stage = startStage()
let receiver: Receiver
let account: Account
let transactionId: string

beforeAll(async () => {
  receiver = await startReceiver()
  account = await stage.rig.addAccount()
  const client = stage.rig.client()
  await client.post('/api/v1/notifications', { body: { id: 'treasury-events', url: receiver.url } })
  const path = { relayer_id: account.relayer_id }
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { notification_id: 'treasury-events' } })
  const treasury = await stage.rig.addAccount()
  const relayerIds = [treasury.relayer_id, account.relayer_id]
  await client.post('/api/v1/pools', { body: { id: 'payouts', network: 'local', relayer_ids: relayerIds } })
  await client.put('/api/v1/relayers/{relayer_id}/funding', {
    path,
    body: {
      ...{ treasury_id: treasury.relayer_id, min_balance: `${2n * 10n ** 24n}`, target_balance: `${3n * 10n ** 24n}` },
      ...{ max_amount_per_day: '1', max_fee_per_gas: '60000000000' },
    },
  })
  await account.send(5, { reference: 'payout-7' })
  await account.finished(() => stage.rig.chain.mine())
  transactionId = (await account.transactions())[0]?.id ?? ''
})
afterAll(async () => {
  await receiver?.stop()
})

const pages = () => ({
  overview: '/',
  relayer: `/relayers/${account.relayer_id}`,
  nonces: `/relayers/${account.relayer_id}/nonces`,
  policies: `/relayers/${account.relayer_id}/policies`,
  events: `/relayers/${account.relayer_id}/events`,
  activity: `/relayers/${account.relayer_id}/activity`,
  funding: `/relayers/${account.relayer_id}/funding`,
  pools: '/pools',
  pool: '/pools/payouts/relayers',
  'pool-list': '/pools/payouts/list',
  transactions: '/transactions',
  spending: '/spending',
  transaction: `/relayers/${account.relayer_id}/transactions/${transactionId}`,
  notifications: '/notifications',
  notification: '/notifications/treasury-events',
  networks: '/networks',
  signers: '/signers',
  sandbox: '/sandbox',
  keys: '/keys',
  audit: '/audit',
  service: '/service',
})

test.each([
  ['light', 1280, false],
  ['dark', 1280, true],
  ['narrow', 375, false],
] as const)('shows a complete and accessible page: %s', async (name, width, dark) => {
  const { page, signIn, open, picture, accessibilityFaults } = await openConsole(stage.browser, stage.rig.url(), {
    width,
    dark,
  })
  await picture(`${name}-sign-in`)
  expect(await accessibilityFaults()).toEqual([])
  await signIn(stage.rig.api_key)
  for (const [title, path] of Object.entries(pages())) {
    await open(path)
    await page.locator('h1').first().waitFor()
    await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
    await pause(300)
    await picture(`${name}-${title}`)
    expect(await accessibilityFaults(), title).toEqual([])
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(overflow, `${title} is wider than the screen`).toBeLessThanOrEqual(0)
  }
})

test('the tabs of a relayer stay in their place, below a notice too', async () => {
  const its = await stage.rig.addAccount()
  const { relayer_id } = its
  await its.send(1)
  await its.finished(() => stage.rig.chain.mine())
  await stage.rig.client().patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, body: { paused: true } })
  const { page, signIn, open, expectComplaint } = await openConsole(stage.browser, stage.rig.url())
  // It has no funding.
  expectComplaint(/status of 404/)
  await signIn(stage.rig.api_key)
  await open(`/relayers/${relayer_id}`)
  await page.getByText('This relayer is paused').waitFor()
  await page.getByRole('table', { name: 'Transactions' }).waitFor()
  const tabs = page.getByRole('navigation', { name: 'Relayer pages' })
  const places: Record<string, number | undefined> = {}
  for (const name of ['transactions', 'nonces', 'policies', 'funding', 'events', 'activity']) {
    await tabs.getByRole('link', { name }).click()
    await page.waitForTimeout(300)
    places[name] = (await tabs.boundingBox())?.y
  }
  expect(new Set(Object.values(places)), JSON.stringify(places)).toHaveLength(1)
  await tabs.getByRole('link', { name: 'events' }).click()
  await page.getByRole('row', { name: /^relayer paused .*paused/ }).waitFor()
})
