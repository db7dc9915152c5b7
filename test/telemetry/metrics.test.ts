import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startService } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { Balances } from '../../server/telemetry/balances.ts'
import { testChain } from '../support/chain.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService, type TestService, temporaryFolder } from '../support/service.ts'
import { rowsOf } from '../support/service-database.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '..', '..')
const demo = { path: { relayer_id: 'demo' } }

async function exposed({ metrics_url }: Pick<TestService, 'metrics_url'>): Promise<Map<string, number>> {
  const answer = await fetch(metrics_url as string)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')])
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

const metered = (settings: Record<string, string> = {}) => startTestService({ METRICS_PORT: '0', ...settings })

test('serves no metrics without the setting, and never on the API’s port', async () => {
  const off = await startTestService()
  expect(off.metrics_url).toBe(undefined)
  for (const service of [off, await metered()]) {
    expect((await service.raw('/metrics')).status).toBe(404)
  }
})

test('counts requests and signatures by operation, and uses no input of callers as a label', async () => {
  const service = await metered()
  const sign = { method: 'POST', body: '{"message":"Hello"}' }
  for (let index = 0; index < 3; index += 1) await service.raw('/api/v1/relayers/demo/sign', sign)
  await service.raw('/api/v1/relayers/planted/sign', sign)
  for (const method of ['GET', 'PUT', 'PATCH']) await service.raw('/planted', { method })
  const count = (labels: string) => `relayer_http_requests_total{${labels}}`
  const others = count('operation="none",method="other",status="4xx"')
  await until('all is counted', async () => (await exposed(service)).get(others) === 3)

  const values = await exposed(service)
  expect(values.get(count('operation="signMessage",method="POST",status="2xx"'))).toBe(3)
  expect(values.get(count('operation="signMessage",method="POST",status="4xx"'))).toBe(1)
  expect(values.get('relayer_signatures_total{kind="message"}')).toBe(3)
  const duration = 'relayer_http_request_duration_seconds'
  expect(values.get(`${duration}_count{operation="signMessage"}`)).toBe(4)
  expect(values.get(`${duration}_bucket{le="+Inf",operation="signMessage"}`)).toBe(4)
  expect(values.get(`${duration}_sum{operation="signMessage"}`)).toBeGreaterThan(0)
  expect([...values.keys()].join()).not.toContain('planted')
})

test('counts a transaction on its way: unfinished, sent, paid for, delivered', async () => {
  const chain = await testChain({ noMining: true })
  const receiver = await startReceiver()
  const service = await metered()
  const { client } = service
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [chain.url] } }
  await client.patch('/api/v1/networks/{network_id}', network)
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'hook' } })
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 20n)
  await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    ...demo,
    body: { to: relayer.address, value: '1', gas_limit: 21_000 },
  })
  const unfinished = 'relayer_transactions_unfinished{status="submitted"}'
  await until('it is submitted', async () => (await exposed(service)).get(unfinished) === 1)
  const before = await exposed(service)
  expect(before.get('relayer_transactions_unfinished{status="pending"}')).toBe(0)
  expect(before.get('relayer_transactions_oldest_age_seconds{status="submitted"}')).toBeGreaterThan(0)
  expect(before.get('relayer_nonce_gaps{relayer="demo"}')).toBe(0)
  await chain.mine()
  await until('it is confirmed', async () => {
    const { data } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', { ...demo, query: {} })
    return data[0]?.status === 'confirmed'
  })
  const delivered = 'relayer_delivery_attempts_total{outcome="delivered"}'
  await until('all five states are delivered', async () => (await exposed(service)).get(delivered) === 5)

  const after = await exposed(service)
  const host = new URL(chain.url).host
  expect(after.get(unfinished)).toBe(0)
  expect(after.get('relayer_signatures_total{kind="sent_transaction"}')).toBe(1)
  for (const status of ['pending', 'sent', 'submitted', 'mined', 'confirmed']) {
    expect(after.get(`relayer_transaction_changes_total{status="${status}"}`), status).toBe(1)
  }
  const left = BigInt(await chain.rpc<string>('eth_getBalance', [relayer.address, 'latest']))
  expect(after.get('relayer_fees_paid_wei_total{chain_id="31337"}')).toBe(Number(10n ** 20n - left))
  expect(after.get(`relayer_rpc_calls_total{host="${host}"}`)).toBeGreaterThan(5)
  expect(after.get('relayer_delivery_attempt_duration_seconds_count')).toBe(5)
  expect(after.get('relayer_database_commit_duration_seconds_count')).toBeGreaterThan(5)
  const balance = 'relayer_balance_wei{relayer="demo",chain_id="31337"}'
  await until('a balance was seen', async () => (await exposed(service)).has(balance))
})

test('counts a node that does not answer by its host, without its path', async () => {
  const service = await metered()
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: ['http://127.0.0.1:9/planted'] } }
  await service.client.patch('/api/v1/networks/{network_id}', network)
  expect((await service.raw('/api/v1/relayers/demo/balance')).status).toBe(503)
  const values = await exposed(service)
  expect(values.get('relayer_rpc_errors_total{host="127.0.0.1:9"}')).toBeGreaterThan(0)
  expect([...values.keys()].join()).not.toContain('planted')
})

test('nodes of relayers’ own take no label of a network’s node', async () => {
  const service = await metered()
  const path = { relayer_id: 'demo' }
  for (let first = 0; first < 120; first += 20) {
    const customRpcUrls = Array.from({ length: 20 }, (_, index) => `http://127.0.0.1:${20_000 + first + index}/`)
    await service.client.patch('/api/v1/relayers/{relayer_id}', { path, body: { custom_rpc_urls: customRpcUrls } })
    await service.raw('/api/v1/relayers/demo/balance')
  }
  await service.client.patch('/api/v1/relayers/{relayer_id}', { path, body: { custom_rpc_urls: [] } })
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: ['http://127.0.0.1:9/'] } }
  await service.client.patch('/api/v1/networks/{network_id}', network)
  await service.raw('/api/v1/relayers/demo/balance')
  const hosts = [...(await exposed(service)).keys()].filter((key) => key.startsWith('relayer_rpc_calls_total{'))
  expect(hosts).toContain('relayer_rpc_calls_total{host="127.0.0.1:9"}')
  expect(hosts).toContain('relayer_rpc_calls_total{host="other"}')
  // 20 of relayers, "other", and the first and the present one of the network.
  expect(hosts.length).toBeLessThanOrEqual(23)
})

test('counts nonces that no transaction holds as gaps', async () => {
  const service = await metered()
  const insert = (nonce: number) =>
    rowsOf(
      service,
      `INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, nonce, status, created_at)
      SELECT network, 'test', 2, '2026-01-01T00:00:00.000Z', 't${nonce}', row_id, id, ${nonce}, chain_id, address, address, '1', ${nonce}, 'pending', '2026-01-01T00:00:00.000Z'
      FROM relayers`,
    )
  // The relayer is paused, or the service would begin to send.
  await service.client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused: true } })
  for (const nonce of [3, 4, 7]) await insert(nonce)
  await rowsOf(
    service,
    'INSERT INTO accounts (chain_id, address, next_nonce) SELECT chain_id, address, 10 FROM relayers',
  )
  // 5, 6, 8 and 9; below 3 nothing of ours is known.
  expect((await exposed(service)).get('relayer_nonce_gaps{relayer="demo"}')).toBe(4)
})

test('uses only existing metrics and labels in the dashboard', async () => {
  const service = await metered()
  const answer = await fetch(service.metrics_url as string)
  const types = new Map(
    [...(await answer.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
  )
  const dashboard = JSON.parse(readFileSync(join(root, 'server', 'telemetry', 'grafana.json'), 'utf8'))
  const expressions: string[] = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  )
  expect(expressions.length).toBeGreaterThan(15)
  const named = new Set<string>()
  for (const expression of expressions) {
    const names = expression.match(/\b(?:relayer|nodejs|process)_[a-z0-9_]+/g) ?? []
    expect(names.length, expression).toBeGreaterThan(0)
    for (const name of names) {
      named.add(name.replace(/_bucket$/, ''))
      const isThere = types.has(name) || types.get(name.replace(/_bucket$/, '')) === 'histogram'
      expect(isThere, `${name} exists`).toBe(true)
    }
  }
  // All of the service's own metrics are listed.
  const ours = [...types.keys()].filter((name) => name?.startsWith('relayer_'))
  expect(ours.filter((name) => !named.has(name as string))).toEqual([])
})

test('names a port that is in use', async () => {
  const taken = new URL((await metered()).metrics_url as string).port
  const settings = readConfig({ PORT: '0', DATA_DIR: temporaryFolder(), METRICS_PORT: taken, LOG_LEVEL: 'silent' })
  await expect(startService(settings)).rejects.toThrow(/METRICS_PORT/)
})

test('reads balances at intervals, one after the other, and is not blocked by a silent node', async () => {
  const clock = { ms: 0 }
  const asked: string[] = []
  const relayers = [1, 2].map((chainId) => ({ id: `r${chainId}`, chain_id: chainId, policies: {} }))
  const silent = Promise.withResolvers<bigint>()
  const balances = new Balances({
    relayers: async (limit) => relayers.slice(0, limit),
    balanceOf: ({ id }) => {
      asked.push(id)
      return id === 'r1' ? silent.promise : Promise.resolve(7n)
    },
    elapsed: () => clock.ms,
  })
  expect(balances.read()).toEqual([])
  clock.ms += 60_000
  expect(balances.read()).toEqual([])
  silent.reject(new Error('silent'))
  await until('the second was asked', () => balances.read().length > 0)
  expect(balances.read()).toEqual([{ relayer_id: 'r2', chain_id: 2, wei: 7n, min_balance: 0n }])
  expect(asked).toEqual(['r1', 'r2', ...asked.slice(2)])
})
