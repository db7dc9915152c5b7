import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { testChain } from '../support/chain.ts'
import { startFakeWeb3signer } from '../support/fake-web3signer.ts'
import { startReceiver } from '../support/receiver.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { rowsOf } from '../support/service-database.ts'
import { until } from '../support/until.ts'

const file = join(import.meta.dirname, '..', '..', 'server', 'telemetry', 'alerts.yaml')
const demo = { path: { relayer_id: 'demo' } }
type Sample = { name: string; labels: Record<string, string>; value: number }
let rules: Map<string, { expression: string; severity: string }>

beforeAll(() => {
  const text = readFileSync(file, 'utf8')
  const found = [
    ...text.matchAll(
      /- alert: (\w+)\n +expr: (.+)\n +for: \d+m\n +labels: \{ severity: (\w+) \}\n(?:.+\n)+? +summary: .+\n +description: /g,
    ),
  ]
  rules = new Map(found.map(([, name = '', expression = '', severity = '']) => [name, { expression, severity }]))
  expect(rules.size).toBe(text.match(/- alert:/g)?.length)
})

/** What Prometheus has after a scrape: of a service that does not answer, only that. */
async function scrape({ metrics_url }: Pick<TestService, 'metrics_url'>): Promise<Sample[]> {
  const up = (value: number) => ({ name: 'up', labels: { job: 'relayer' }, value })
  const answer = await fetch(metrics_url as string).catch(() => undefined)
  if (!answer?.ok) return [up(0)]
  const text = await answer.text()
  return [up(1), ...samplesOf(text)]
}

function samplesOf(text: string): Sample[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, its]) => [key, its])),
    value: Number(value),
  }))
}

/** The forms that the rules use, as Prometheus computes them: `a`, `a{label!="x"}`, `a - b`, `a / b`, `increase(a[5m])`, and a comparison. */
function holds(expression: string, before: Sample[], after: Sample[]): boolean {
  const parts = /^(.+) (<|<=|>) (\S+)$/.exec(expression)
  if (!parts) throw new Error(`The test does not know the form of ${expression}`)
  const [, left = '', sign = '', right = ''] = parts
  const limits = valuesOf(right, before, after)
  return [...valuesOf(left, before, after)].some(([labels, value]) => {
    const limit = limits.get(labels) ?? limits.get('any')
    if (limit === undefined) return false
    return sign === '>' ? value > limit : sign === '<' ? value < limit : value <= limit
  })
}

/** By labels. */
function valuesOf(term: string, before: Sample[], after: Sample[]): Map<string, number> {
  if (/^[\d.]+$/.test(term)) return new Map([['any', Number(term)]])
  const [first = '', sign, second] = term.split(/ ([-/]) /)
  if (second !== undefined) {
    const others = valuesOf(second, before, after)
    const both = (value: number, other: number) => (sign === '-' ? value - other : value / other)
    return new Map([...valuesOf(first, before, after)].map(([key, its]) => [key, both(its, others.get(key) ?? 0)]))
  }
  const increase = /^increase\((.+)\[5m\]\)$/.exec(term)
  if (increase) {
    const earlier = valuesOf(increase[1] as string, [], before)
    return new Map(
      [...valuesOf(increase[1] as string, [], after)].map(([key, its]) => [key, its - (earlier.get(key) ?? 0)]),
    )
  }
  const [, name, label, is, given] = /^(\w+)(?:\{(\w+)(!?=)"(\w+)"\})?$/.exec(term) ?? []
  if (name === undefined) throw new Error(`The test does not know the form of ${term}`)
  const fits = (one: Sample) => label === undefined || (one.labels[label] === given) === (is === '=')
  const wanted = after.filter((one) => one.name === name && fits(one))
  return new Map(wanted.map(({ labels, value }) => [JSON.stringify(labels), value]))
}

const fires = (name: string, after: Sample[], before: Sample[] = []) =>
  holds(rules.get(name)?.expression as string, before, after)

/** The alerts, of all, that fire. One about a kind of problem is as severe as the problem. */
function firing(after: Sample[], before: Sample[] = []): string[] {
  for (const { name, labels } of after) {
    if (name !== 'relayer_problems') continue
    const rule = [...rules.values()].find(({ expression }) => expression.includes(`kind="${labels.kind}"`))
    if (rule) expect(rule.severity, labels.kind).toBe(labels.severity)
  }
  return [...rules.keys()].filter((name) => fires(name, after, before))
}

/** A service with metrics on a chain, whose relayer has 1 ETH. */
async function start(settings: Record<string, string> = {}, options: Parameters<typeof testChain>[0] = {}) {
  const chain = await testChain(options)
  const service = await startTestService({ METRICS_PORT: '0', ...settings })
  const { client } = service
  const change = (rpcUrls: string[]) =>
    client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body: { rpc_urls: rpcUrls } })
  await change([chain.url])
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 18n)
  const send = () =>
    client.post('/api/v1/relayers/{relayer_id}/transactions', {
      ...demo,
      body: { to: relayer.address, value: '1', gas_limit: 21_000 },
    })
  return { chain, service, client, relayer, change, send }
}

test('fires no alert for a healthy service that signs, sends and delivers', async () => {
  const receiver = await startReceiver()
  const { service, client, send } = await start()
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_ids: ['hook'] } })
  const before = await scrape(service)
  await send()
  await expect.poll(() => receiver.got.length).toBe(5)
  await until('the balance is known', async () =>
    (await scrape(service)).some(({ name }) => name === 'relayer_balance_wei'),
  )
  await until('all is delivered', async () =>
    (await scrape(service)).some(({ name, value }) => name === 'relayer_deliveries_pending' && value === 0),
  )
  expect(firing(await scrape(service), before)).toEqual([])
})

test('fires RelayerTransactionsStuck for a transaction that is not mined', async () => {
  const { service, send } = await start({}, { noMining: true })
  await send()
  const age = async () =>
    (await scrape(service)).find((one) => one.name.endsWith('oldest_age_seconds') && one.value > 0)
  await until('it has an age', async () => (await age()) !== undefined)
  expect(firing(await scrape(service))).toEqual([])
  const db = new Database(join(service.data_dir, 'relayer.sqlite'))
  db.prepare('UPDATE transactions SET created_at = ?').run(new Date(Date.now() - 1_000_000).toISOString())
  db.close()
  expect(firing(await scrape(service))).toEqual(['RelayerTransactionsStuck'])
})

test('fires RelayerBalanceLow for a balance below the policy, and for an empty relayer without it', async () => {
  for (const [policies, wei] of [
    [{ min_balance: `${2n * 10n ** 18n}` }, 10n ** 18n],
    [{}, 0n],
  ] as const) {
    const { service, client, chain, relayer } = await start()
    await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { policies } })
    await chain.setBalance(relayer.address, wei)
    await until('the balance is known', async () =>
      (await scrape(service)).some(({ name }) => name === 'relayer_balance_wei'),
    )
    expect(firing(await scrape(service))).toEqual(['RelayerBalanceLow'])
  }
})

test('fires RelayerNodeDown for a node that does not answer', async () => {
  const { service, client, change } = await start()
  await change(['http://127.0.0.1:9'])
  const before = await scrape(service)
  await until('it was asked often enough', async () => {
    await client.get('/api/v1/relayers/{relayer_id}/balance', demo).catch(() => undefined)
    return fires('RelayerNodeDown', await scrape(service), before)
  })
  expect(firing(await scrape(service), before)).toEqual(['RelayerNodeDown'])
})

test('fires RelayerWebhookFailing for deliveries that wait for another attempt', async () => {
  const receiver = await startReceiver((_, response) => void response.writeHead(500).end())
  const { service, client } = await start()
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_ids: ['hook'] } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused: true } })
  await until('it waits', async () => fires('RelayerWebhookFailing', await scrape(service)))
  expect(firing(await scrape(service))).toEqual(['RelayerWebhookFailing'])
})

test('fires RelayerAuditStopped while the audit trail cannot be written, and not after', async () => {
  const { service, client } = await start()
  const db = new Database(join(service.data_dir, 'relayer.sqlite'))
  db.exec('ALTER TABLE audit RENAME TO elsewhere')
  const sign = () => client.post('/api/v1/relayers/{relayer_id}/sign', { ...demo, body: { message: 'Hello' } })
  await sign()
  await until('it stops', async () => fires('RelayerAuditStopped', await scrape(service)))
  expect(firing(await scrape(service))).toEqual(['RelayerAuditStopped'])
  db.exec('ALTER TABLE elsewhere RENAME TO audit')
  db.close()
  await until('it goes on', async () => firing(await scrape(service)).length === 0)
})

test('fires RelayerKeyServiceDown for a key service that does not sign', async () => {
  const remote = await startFakeWeb3signer()
  onTestFinished(() => remote.stop())
  const { service, client, chain } = await start()
  const { url, address } = remote
  await chain.setBalance(address, 10n ** 18n)
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'remote', config: { url, address } } })
  const { id: relayerId } = await createRelayer(client, { signer_id: signer.id })
  const sign = () =>
    client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: relayerId }, body: { message: 'Hello' } })
  await sign()
  const before = await scrape(service)
  remote.faults.error = 'down'
  for (let count = 0; count < 5; count += 1) await sign().catch(() => undefined)
  expect(firing(await scrape(service), before)).toEqual(['RelayerKeyServiceDown'])
})

test('fires RelayerServiceDown for a service that does not answer', async () => {
  const { service } = await start()
  expect(firing(await scrape(service))).toEqual([])
  await service.close()
  expect(firing(await scrape(service))).toEqual(['RelayerServiceDown'])
})

test('fires RelayerDatabaseDown and RelayerBackgroundFailing while tables cannot be read, and not after', async () => {
  const { service, send, chain } = await start({}, { noMining: true })
  await send()
  const before = await scrape(service)
  const rename = async (from: string, to: string) => void (await rowsOf(service, `ALTER TABLE ${from} RENAME TO ${to}`))
  await rename('attempts', 'hidden_attempts')
  await rename('delivery_blocks', 'hidden_blocks')
  await chain.mine()
  await until('the work failed', async () => fires('RelayerBackgroundFailing', await scrape(service), before))
  const during = await scrape(service)
  expect(firing(during, before)).toEqual(['RelayerDatabaseDown', 'RelayerBackgroundFailing'])
  await rename('hidden_attempts', 'attempts')
  await rename('hidden_blocks', 'delivery_blocks')
  expect(firing(await scrape(service), during)).not.toContain('RelayerDatabaseDown')
})

test('fires RelayerTransactionWaiting for a transaction below the price of the chain', async () => {
  const { service, client } = await start({}, { noMining: true })
  const body = { to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000, gas_price: '1' }
  await client.post('/api/v1/relayers/{relayer_id}/transactions', { ...demo, body })
  await until('it waits', async () => fires('RelayerTransactionWaiting', await scrape(service)))
  expect(firing(await scrape(service))).toEqual(['RelayerTransactionWaiting'])
})

test('fires RelayerTransactionsFailed for a transaction that reverts', async () => {
  const { service, client, chain } = await start({}, { noMining: true })
  const to = `0x${'5b'.repeat(20)}`
  const body = { to, value: '1', gas_limit: 50_000 }
  await client.post('/api/v1/relayers/{relayer_id}/transactions', { ...demo, body, query: { wait: 'submitted' } })
  await chain.rpc('anvil_setCode', [to, '0xfe'])
  await until(
    'it has failed',
    async () => fires('RelayerTransactionsFailed', await scrape(service)),
    () => chain.mine(),
  )
  expect(firing(await scrape(service))).toEqual(['RelayerTransactionsFailed'])
})

test('fires RelayerDisabled, RelayerNonceGap and those of a budget for such states of the database', async () => {
  const { service, client } = await start()
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused: true } })
  const rules = {
    id: 'game',
    relayer_id: 'demo',
    max_gas_per_call: 100_000,
    max_fee_per_call: '1',
    max_fee_per_day: '100',
  }
  await client.post('/api/v1/sponsorships', { body: rules })
  const change = async (statement: string) => void (await rowsOf(service, statement))
  expect(firing(await scrape(service))).toEqual([])

  await change("UPDATE relayers SET system_disabled = 1, disabled_reason = 'planted'")
  expect(firing(await scrape(service))).toEqual(['RelayerDisabled'])
  await change('UPDATE relayers SET system_disabled = 0, disabled_reason = NULL')

  const bucket = Math.floor(Date.now() / 300_000)
  await change(`INSERT INTO spending (chain_id, address, asset, bucket, amount)
    VALUES (31337, 'sponsorship 1', 'fee', ${bucket}, '95')`)
  expect(firing(await scrape(service))).toEqual(['RelayerSponsorshipNearlyUsedUp'])
  await change("UPDATE spending SET amount = '100'")
  expect(firing(await scrape(service))).toEqual(['RelayerSponsorshipUsedUp', 'RelayerSponsorshipNearlyUsedUp'])
  await change('DELETE FROM spending')

  const now = new Date().toISOString()
  await change(`INSERT INTO transactions
    (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, nonce, status, created_at)
    SELECT network, 'test', 2, '${now}', 't', row_id, id, 1, chain_id, address, address, '1', 3, 'pending', '${now}'
    FROM relayers`)
  await change('INSERT INTO accounts (chain_id, address, next_nonce) SELECT chain_id, address, 10 FROM relayers')
  expect(firing(await scrape(service))).toEqual(['RelayerNonceGap'])

  await change(`UPDATE accounts SET foreign_nonce = 9, foreign_at = '${now}'`)
  expect(firing(await scrape(service))).toEqual(['RelayerExternalTransaction', 'RelayerNonceGap'])
})

test('fires RelayerRequestsRefused for a policy that refuses, until it is changed', async () => {
  const { service, client, send } = await start()
  const change = (value: string | null) =>
    client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { policies: { max_value: value } } })
  await change('0')
  await send().catch(() => undefined)
  await until('it is counted', async () => firing(await scrape(service)).length > 0)
  expect(firing(await scrape(service))).toEqual(['RelayerRequestsRefused'])
  await change(null)
  expect(firing(await scrape(service))).toEqual([])
})

test('fires RelayerRefillBlocked for a treasury that cannot pay', async () => {
  const { service, client } = await start()
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const treasury = await createRelayer(client, { signer_id: signer.id })
  const amounts = {
    min_balance: `${2n * 10n ** 18n}`,
    target_balance: `${3n * 10n ** 18n}`,
    max_amount_per_day: `${10n ** 19n}`,
  }
  await client.put('/api/v1/relayers/{relayer_id}/funding', {
    ...demo,
    body: { treasury_id: treasury.id, ...amounts, max_fee_per_gas: `${10n ** 11n}` },
  })
  await until('it is short', async () => fires('RelayerRefillBlocked', await scrape(service)))
  const found = firing(await scrape(service)).filter((name) => name !== 'RelayerBalanceLow')
  expect(found).toEqual(['RelayerRefillBlocked'])
})
