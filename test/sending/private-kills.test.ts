import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerClient, RelayerError } from '../../client/index.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { leaksOf, startPrivateRelay } from '../support/private-relay.ts'
import { spawnService } from '../support/process.ts'
import { randomFrom } from '../support/random.ts'
import { temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

// The long form: `TRANSACTIONS=200 KILLS=20 npx vitest run --config test/vitest.config.ts test/sending/private-kills.test.ts`.

const transactions = Number(process.env.TRANSACTIONS ?? 16)
const kills = Number(process.env.KILLS ?? 2)
const apiKey = 'the-killed-server-has-one-api-key'
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const all = '/api/v1/relayers/{relayer_id}/transactions'
const one = `${all}/{transaction_id}` as const

async function start(DataDir: string) {
  const service = spawnService({
    API_KEY: apiKey,
    MASTER_KEY: '5a'.repeat(32),
    RATE_LIMIT_BURST: '100000',
    DATA_DIR: DataDir,
  })
  const [, baseUrl = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  return { ...service, client: createRelayerClient({ baseUrl, token: apiKey, maxRetries: 0, fetch: asOnlyWriter }) }
}

/** The request was refused, or the server was killed: both are part of the test. */
const mayFail = (work: Promise<unknown>) => work.then(() => true).catch(() => false)

test('shows public nodes neither bytes nor hashes of private transactions, through replacements, cancellations and kills', async () => {
  const random = randomFrom(7)
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const relay = await startPrivateRelay(chain)
  relay.watch(proxy)
  const folder = temporaryFolder()
  let server = await start(folder)
  const { client } = server
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: {
      ...{ rpc_urls: [proxy.url], required_confirmations: 1, average_blocktime_ms: 500 },
      ...{ private_rpc_urls: [relay.url], submission: { mode: 'private' } },
    },
  })
  const relayerId = 'demo'
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } })
  await chain.setBalance(relayer.address, 10n ** 24n)

  const ids: string[] = []
  const counts = { replaced: 0, canceled: 0, killed: 0 }
  const sendOne = async (value: number): Promise<void> => {
    const header = { 'Idempotency-Key': `private-${value}` }
    const body = { to, value: `${value}`, gas_limit: 21_000, speed: 'fastest' as const }
    const sent = await server.client
      .post(all, { path: { relayer_id: relayerId }, header, body })
      .catch((error) => error)
    if (sent instanceof Error) {
      if (sent instanceof RelayerError && sent.status !== 503 && sent.status !== 0) throw sent
      await pause(50)
      return sendOne(value)
    }
    ids.push(sent.data.id)
  }
  const change = async (its: RelayerClient, transactionId: string, value: number) => {
    const path = { relayer_id: relayerId, transaction_id: transactionId }
    if (random() < 0.5) {
      const isCanceled = await mayFail(its.delete(one, { path }))
      if (isCanceled) counts.canceled += 1
      return
    }
    const body = { to, value: `${value}000`, gas_limit: 21_000, speed: 'fastest' as const }
    if (await mayFail(its.put(one, { path, body }))) counts.replaced += 1
  }

  for (let value = 1; value <= transactions; value += 1) {
    await sendOne(value)
    if (random() < 0.3) await change(server.client, ids[Math.floor(random() * ids.length)] as string, value)
    if (random() < 0.15) await relay.build()
    // Some of the relays' answers are lost with it.
    if (value % Math.ceil(transactions / kills) === 0) {
      server.signal('SIGKILL')
      await server.ended
      counts.killed += 1
      server = await start(folder)
    }
  }
  const unfinished = async () => {
    const { data } = await server.client.get('/api/v1/relayers/{relayer_id}/status', {
      path: { relayer_id: relayerId },
    })
    return data.pending_transactions_count
  }
  await until('all have ended', async () => (await unfinished()) === 0, relay.build)

  const rows = await Array.fromAsync(
    server.client.all('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: relayerId },
      query: { per_page: 1_000 },
    }),
  )
  expect(rows).toHaveLength(transactions)
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['confirmed', 'canceled']))
  expect(leaksOf(relay)).toEqual([])
  expect(proxy.broadcast()).toEqual([])
  const used = Number(await chain.rpc<string>('eth_getTransactionCount', [relayer.address, 'latest']))
  expect(used).toBe(rows.filter(({ nonce }) => nonce !== null).length)
  const calls = relay.timeline.filter((one) => typeof one === 'string').length
  const report = { transactions, ...counts, sent_to_relay: relay.sent.length, public_calls: calls }
  process.stdout.write(`private submission ${JSON.stringify(report)}\n`)
})
