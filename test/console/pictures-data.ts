import { Interface } from 'ethers'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type Rig, startRig } from '../support/rig.ts'
import { compileSolidity } from '../support/solidity.ts'
import { until } from '../support/until.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** A running service with what the pictures show. */
export interface Scene {
  rig: Rig
  /** The pages that need an id, by the name of their picture. */
  pages: Record<string, string>
  stop(): Promise<void>
}

export const scenes = { empty, one, sixty } as const

const relayer = '/api/v1/relayers/{relayer_id}'
const transactions = `${relayer}/transactions` as const
const local = { network: 'local', network_type: 'evm' } as const
const coin = 10n ** 18n
const hourMs = 3_600_000
const shop = `0x${'5a'.repeat(20)}`

/** As after the first start, without the relayer `demo`. */
async function empty(): Promise<Scene> {
  const rig = await startRig({ chain: { noMining: true } })
  await rig.client().delete(relayer, { path: { relayer_id: 'demo' } })
  return { rig, pages: {}, stop: () => rig.stop() }
}

async function one(): Promise<Scene> {
  const rig = await startRig()
  const client = rig.client()
  await client.delete(relayer, { path: { relayer_id: 'demo' } })
  await addRelayer(rig, rig.chain, 'payouts', local, 12n * coin)
  const ids = await sendAll(rig, [{ relayer_id: 'payouts', count: 6 }])
  await settled(rig, ['payouts'])
  const transaction = `/relayers/payouts/transactions/${ids[0]}`
  return { rig, pages: { ...relayerPages('payouts'), transaction }, stop: () => rig.stop() }
}

const teams = ['payouts-eu', 'payouts-us', 'mint', 'rewards', 'bridge', 'oracle']
/** Hours before now at which transactions are sent: every 13 hours, and in the last day every hour. */
const hours = [
  ...Array.from({ length: 51 }, (_, index) => 24 + 13 * (50 - index)),
  ...Array.from({ length: 24 }, (_, index) => 23 - index),
]
const atOnce = 40

/** 60 relayers of two networks with 3,000 transactions of four weeks, most of them well, some stuck, failed and without funds. */
async function sixty(): Promise<Scene> {
  const [rig, polygon, receiver] = await Promise.all([
    startRig(),
    startAnvil({ args: ['--chain-id', '137'] }),
    startReceiver(),
  ])
  const client = rig.client()
  rig.clock.ahead_ms = -(hours[0] ?? 0) * hourMs
  await client.delete(relayer, { path: { relayer_id: 'demo' } })
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { explorer_urls: ['https://etherscan.io'] },
  })
  await client.post('/api/v1/networks', {
    body: {
      ...{ name: 'polygon', network_type: 'evm', chain_id: 137, rpc_urls: [polygon.url], symbol: 'POL' },
      ...{ required_confirmations: 1, average_blocktime_ms: 500, explorer_urls: ['https://polygonscan.com'] },
    },
  })
  const ids = await addRelayers(rig, polygon)
  const token = await deployToken(rig)
  const others = await addOthers(rig, receiver, token.address)
  const paying = ids.slice(0, 57)
  for (const [step, beforeH] of hours.entries()) {
    rig.clock.ahead_ms = -beforeH * hourMs
    const chosen = Array.from({ length: atOnce }, (_, index) => paying[(step * 7 + index * index) % paying.length])
    await sendAll(
      rig,
      chosen.map((relayerId) => ({ relayer_id: relayerId ?? '', count: 1 })),
    )
    await settled(rig, paying)
  }
  const pages = await lastHour(rig, polygon, receiver, token)
  return {
    rig,
    pages: {
      ...relayerPages('payouts-eu-1'),
      ...others,
      pool: '/pools/mint/relayers',
      'pool-list': '/pools/mint/list',
      ...pages,
    },
    stop: async () => {
      await rig.stop()
      await Promise.all([polygon.stop(), receiver.stop()])
    },
  }
}

const relayerPages = (id: string) => ({
  relayer: `/relayers/${id}`,
  ...Object.fromEntries(
    ['nonces', 'policies', 'funding', 'events', 'activity'].map((tab) => [tab, `/relayers/${id}/${tab}`]),
  ),
})

/** Of relayers that are not called as their IDs are. */
const names: Record<string, string> = { 'payouts-eu-1': 'Payouts of Europe', 'rewards-3': 'Rewards of spring' }

async function addRelayer(
  rig: Rig,
  chain: Anvil,
  id: string,
  on: { network: string; network_type: 'evm' },
  wei: bigint,
) {
  const client = rig.client()
  const { data: signer } = await client.post('/api/v1/signers', { body: { id: `${id}-key`, type: 'generated' } })
  const its = { id, name: names[id] ?? id, ...on, paused: false, signer_id: signer.id }
  const { data } = await client.post('/api/v1/relayers', { body: its })
  if (wei > 0n) await chain.setBalance(data.address, wei)
  return data.address
}

async function addRelayers(rig: Rig, polygon: Anvil): Promise<string[]> {
  const ids = Array.from({ length: 60 }, (_, index) => `${teams[index % 6]}-${Math.floor(index / 6) + 1}`)
  for (const [index, id] of ids.entries()) {
    const isPolygon = index % 3 === 2
    const on = isPolygon ? { network: 'polygon', network_type: 'evm' as const } : local
    // The last three are never paid for.
    const wei = index > 56 ? 0n : (BigInt((index * 37) % 90) * coin) / 7n + coin / 4n
    await addRelayer(rig, isPolygon ? polygon : rig.chain, id, on, wei)
  }
  return ids
}

async function addOthers(rig: Rig, receiver: Receiver, known: string) {
  const client = rig.client()
  for (const id of ['shop-events', 'accounting']) {
    await client.post('/api/v1/notifications', { body: { id, url: `${receiver.url}/${id}` } })
  }
  const path = { relayer_id: 'payouts-eu-1' }
  await client.patch(relayer, { path, body: { notification_id: 'shop-events' } })
  await client.patch(relayer, { path: { relayer_id: 'payouts-eu-2' }, body: { notification_id: 'accounting' } })
  await client.patch(relayer, {
    path,
    body: {
      policies: {
        gas_price_cap: '90000000000',
        min_balance: '100000000000000000',
        max_value_per_day: '5000000000000000000',
      },
    },
  })
  const relayerIds = ['mint-2', 'mint-4', 'mint-6']
  const { data: of } = await client.get(relayer, { path: { relayer_id: 'mint-2' } })
  await client.post('/api/v1/pools', { body: { id: 'mint', network: of.network, relayer_ids: relayerIds } })
  await client.put('/api/v1/relayers/{relayer_id}/funding', {
    path,
    body: {
      ...{ treasury_id: 'payouts-us-1', min_balance: '100000000000000000', target_balance: '500000000000000000' },
      ...{ max_amount_per_day: '2000000000000000000', max_fee_per_gas: '60000000000' },
    },
  })
  const [token, payTo] = [`0x${'56'.repeat(20)}`, `0x${'78'.repeat(20)}`]
  await client.facilitators.create({
    ...{ id: 'paywall', pool_id: 'mint', assets: [{ asset: token, max_amount_per_payment: '5000000' }], pay_to: payTo },
    ...{ max_fee_per_payment: '2000000000000000', max_fee_per_day: '500000000000000000' },
  })
  const budget = {
    assets: [
      { asset: 'coin', max_amount_per_day: '500000000000000000', max_amount_per_transaction: '100000000000000000' },
      { asset: known, max_amount_per_day: `${5n * coin}`, max_amount_per_transaction: `${(3n * coin) / 2n}` },
      { asset: token, max_amount_per_day: '5000000' },
    ],
    ...{ max_fee_per_day: '50000000000000000', max_transactions_per_hour: 20, receivers: [payTo] },
  }
  const { api_key } = await client.apiKeys.create({ name: 'agent', scopes: ['read', 'send'], budget })
  for (const [name, scopes] of [
    ['checkout', ['read', 'send']],
    ['dashboard', ['read']],
    ['ci-deploy', ['read', 'sign', 'send']],
  ] as const)
    await client.post('/api/v1/api-keys', { body: { name, scopes: [...scopes] } })
  return { facilitator: '/facilitators/paywall', key: `/keys/${api_key.id}` }
}

/** An ERC-20 token of OpenZeppelin's contracts, whose calls, events and errors the service can name. */
async function deployToken(rig: Rig): Promise<{ address: string; abi: Interface }> {
  const { abi, bytecode } = compileSolidity('CountedToken.sol', 'CountedToken')
  const { data: holder } = await rig.client().get(relayer, { path: { relayer_id: 'payouts-eu-1' } })
  const made = new Interface(abi).encodeDeploy([holder.address, 10n ** 24n]).slice(2)
  const body = { to: null, data: `${bytecode}${made}` }
  const [id] = await sendAll(rig, [{ relayer_id: 'payouts-eu-1', count: 1, body }])
  await settled(rig, ['payouts-eu-1'])
  const path = { relayer_id: 'payouts-eu-1', transaction_id: id ?? '' }
  const { data } = await rig.client().get(`${transactions}/{transaction_id}`, { path })
  const address = data.receipt?.contract_address as string
  const its = { id: 'usd-token', network: 'local', address, name: 'USD token', abi: abi as never }
  await rig.client().post('/api/v1/abis', { body: its })
  return { address, abi: new Interface(abi) }
}

interface Sent {
  relayer_id: string
  count: number
  body?: { to?: string | null; data?: string; gas_limit?: number; reference?: string; speed?: 'average' }
}

let sent = 0

async function sendAll(rig: Rig, all: Sent[]): Promise<string[]> {
  const bodies = all.flatMap(({ relayer_id, count, body }) =>
    Array.from({ length: count }, () => {
      sent += 1
      const value = body?.data ? '0' : `${BigInt(sent % 17) * 150_000_000_000_000n + BigInt(sent)}`
      return { relayer_id, body: { to: shop, value, reference: `order-${48_000 + sent}`, ...body } }
    }),
  )
  return Promise.all(
    bodies.map(
      async ({ relayer_id, body }) => (await rig.client().post(transactions, { path: { relayer_id }, body })).data.id,
    ),
  )
}

async function settled(rig: Rig, ids: string[]) {
  await until('nothing is unfinished', async () => {
    const { data } = await rig.client().get('/api/v1/queues', { query: { per_page: 1_000 } })
    return data.every(({ relayer_id, unfinished_count }) => unfinished_count === 0 || !ids.includes(relayer_id))
  })
}

/** The present: calls of the token, a failed one, a full queue below the base fee, a paused relayer, a receiver that fails. */
async function lastHour(
  rig: Rig,
  polygon: Anvil,
  receiver: Receiver,
  { address, abi }: { address: string; abi: Interface },
) {
  const client = rig.client()
  const call = (name: string, args: unknown[]) => ({ to: address, data: abi.encodeFunctionData(name, args) })
  const [good] = await sendAll(rig, [{ relayer_id: 'payouts-eu-1', count: 1, body: call('transfer', [shop, 0]) }])
  const [bad] = await sendAll(rig, [
    { relayer_id: 'payouts-eu-1', count: 1, body: { ...call('transfer', [shop, 10n ** 30n]), gas_limit: 120_000 } },
  ])
  receiver.answer(503)
  await sendAll(rig, [{ relayer_id: 'payouts-eu-2', count: 4 }])
  await settled(rig, ['payouts-eu-1', 'payouts-eu-2'])
  await client.patch(relayer, { path: { relayer_id: 'rewards-3' }, body: { paused: true } })
  await polygon.rpc('evm_setAutomine', [false])
  const { data } = await client.get('/api/v1/relayers', { query: { per_page: 1_000 } })
  const [slow] = data.filter(({ network }) => network === 'polygon').map(({ id }) => id)
  const [stuck] = await sendAll(rig, [{ relayer_id: slow ?? '', count: 7, body: { gas_limit: 50_000 } }])
  await polygon.setBaseFee(400n * 10n ** 9n)
  await polygon.mine()
  const page = (id: string | undefined, of = 'payouts-eu-1') => `/relayers/${of}/transactions/${id}`
  return {
    transaction: page(good),
    'transaction-failed': page(bad),
    'transaction-stuck': page(stuck, slow),
    'nonces-stuck': `/relayers/${slow}/nonces`,
    notification: '/notifications/accounting',
  }
}
