import { expect, test } from 'vitest'
import type { RelayerPoliciesPatch, Transaction, WebhookEvent } from '../../client/index.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { startTestService } from '../support/service.ts'
import { columnOf } from '../support/service-database.ts'
import { until } from '../support/until.ts'

const base = '/api/v1/relayers/{relayer_id}'
const path = { relayer_id: 'demo' }
const gwei = 10n ** 9n
const to = `0x${'5a'.repeat(20)}`
const warn = 40

/** A chain that mines on demand, a proxy before it, and the relayer `demo` with 1 ETH. */
async function start() {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const { client, logged, data_dir } = await startTestService()
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [proxy.url], required_confirmations: 1, average_blocktime_ms: 500 },
  })
  const { data: relayer } = await client.get(base, { path })
  await chain.setBalance(relayer.address, 10n ** 18n)
  const get = async (nonce = 0) =>
    (await client.get(`${base}/transactions/by-nonce/{nonce}`, { path: { ...path, nonce: `${nonce}` } })).data

  return {
    chain,
    proxy,
    client,
    get,
    address: relayer.address,
    send: async (value: number) => {
      const body = { to, value: `${value}`, gas_limit: 21_000 }
      return (await client.post(`${base}/transactions`, { path, body })).data
    },
    patch: (body: { paused?: boolean; policies?: RelayerPoliciesPatch }) => client.patch(base, { path, body }),
    says: (pattern: RegExp, nonce = 0) => expect.poll(async () => (await get(nonce)).status_reason).toMatch(pattern),
    /** The reasons in events, and the reasons in the log. */
    async told() {
      const waits = `SELECT body FROM events WHERE event = 'transaction_waiting' ORDER BY row_id`
      const events = await columnOf<string>({ data_dir }, waits)
      const codes = events.map((body) => {
        const { payload } = JSON.parse(body) as WebhookEvent
        if (payload.payload_type !== 'transaction_waiting') return payload
        return [payload.transaction.nonce, payload.transaction.wait_reason]
      })
      const lines = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'transaction waiting')
      expect(lines.map(({ level, nonce, wait_reason }) => [level, nonce, wait_reason])).toEqual(
        codes.map((code) => [warn, ...[code].flat()]),
      )
      return codes
    },
  }
}

test('reports a cap below the base fee as the reason, and removes it when the base fee falls', async () => {
  const { chain, patch, send, says, told, get } = await start()
  await chain.setBaseFee(10n * gwei)
  await chain.mine()
  await patch({ policies: { gas_price_cap: `${5n * gwei}` } })
  const { id: transactionId } = await send(1)
  await says(/^Waits: the policy gas_price_cap \(5 gwei\) is below the /)
  expect(await told()).toEqual([[0, 'price_cap']])
  expect(await get()).toMatchObject({ wait_reason: 'price_cap' })
  await chain.setBaseFee(gwei)
  await until('it is mined', async () => (await get()).status === 'confirmed', chain.mine)
  expect(await get()).toMatchObject({ id: transactionId, status_reason: null })
  expect((await get()).wait_reason).toBeNull()
})

test('reports a base fee above the price as the reason', async () => {
  const { chain, send, says, told, get } = await start()
  await send(1)
  await expect.poll(async () => (await get()).status).toBe('submitted')
  await chain.setBaseFee(100n * gwei)
  await chain.mine()
  // By the block, or by the node's refusal when the transaction is just broadcast again.
  await says(
    /^Waits: (the base fee \([\d.]+ gwei\) is above its price \([\d.]+ gwei\)$|its price is below the price that the chain requires)/,
  )
  expect(await told()).toEqual([[0, 'base_fee']])
})

test('reports each reason once: a refusing node, missing funds, an unreachable node, a pause', async () => {
  const { chain, proxy, send, says, patch, told, get, address } = await start()
  const refusal: Fault = { kind: 'internal_error', methods: ['eth_sendRawTransaction'] }
  await proxy.setFault(refusal)
  await send(1)
  await says(/^Waits: nodes refuse it: internal error$/)
  await chain.setBalance(address, 0n)
  await proxy.setFault(undefined)
  await says(/^Waits: the balance is too low: .+/)
  await proxy.setFault({ kind: 'http_500' })
  await says(/^Waits: no node of the network answers/i)
  await proxy.setFault(refusal)
  await says(/^Waits: nodes refuse it/)
  await patch({ paused: true })
  await says(/^Waits: the relayer is paused$/)
  await patch({ paused: false })
  await chain.setBalance(address, 10n ** 18n)
  await proxy.setFault(undefined)
  await expect.poll(() => get()).toMatchObject({ status: 'submitted', status_reason: null })
  expect(await told()).toEqual([
    [0, 'node'],
    [0, 'funds'],
    [0, 'unreachable'],
    [0, 'paused'],
  ])
})

test('sends one event for 20 waiting transactions, and reports the first one’s reason with the others', async () => {
  const { chain, proxy, send, says, told, client, get } = await start()
  await send(1)
  await expect.poll(async () => (await get()).status).toBe('submitted')
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  for (let value = 2; value <= 20; value += 1) await send(value)
  await says(/^Waits: nodes refuse it: internal error$/, 15)
  const first = await get(0)
  const isLater = 'this one is signed when the nodes have accepted the ones before it'
  // Nothing is signed beyond the first window of 16 before nodes have taken it.
  await says(new RegExp(`^Waits: nonce 0 comes first \\(transaction ${first.id}\\): ${isLater}$`), 19)
  expect(await get(19)).toMatchObject({ status: 'pending', wait_reason: 'earlier_nonce' })
  // The node has the first one, which does not wait, so no reason is reported.
  expect(await told()).toEqual([])
  await chain.mine()
  await says(/^Waits: nodes refuse it/, 1)
  await expect.poll(() => told()).toEqual([[1, 'node']])

  // Unsigned transactions have no separate reason.
  const { id } = await get(1)
  // Accepted at the prices of the last block that was read, which are kept for a short time.
  const sendBlind = async () => {
    await client.post(`${base}/transactions/dry-run`, { path, body: { to, value: '1', gas_limit: 21_000 } })
    await proxy.setFault({ kind: 'http_500', methods: ['eth_getBlockByNumber'] })
    const sent = await send(21).catch(() => undefined)
    if (!sent) await proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
    return sent
  }
  let last: Transaction | undefined
  await until('one more is accepted', async () => {
    last = await sendBlind()
    return last !== undefined
  })
  await says(new RegExp(`^Waits: nonce 1 comes first \\(transaction ${id}\\): .+`), Number(last?.nonce))
  const { data } = await client.get(`${base}/transactions/`, { path, query: { per_page: 1 } })
  expect(data[0]?.status_reason).toMatch(/nonce 1 comes first/)
  expect(data[0]?.wait_reason).toBe('earlier_nonce')
})
