import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { Worker } from 'node:worker_threads'
import { type CreateApiKeyRequest, createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { apiKey, masterKey } from '../bench/processes.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { operations } from '../support/contract.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { type Block, longest, noBlock, withService, worse } from './blocking.ts'
import type { Finding } from './finding.ts'
import type { AttackingKey, GeneratedAttack, Round, RoundResult } from './generated-attack.ts'
import { memoryOf } from './memory-of.ts'

// Requests that are generated from the contract, valid ones, ones with something wrong and absurd ones, in any order, from API keys of every
// kind. In rounds: each has a tenant of its own, with a relayer, a pool, a sponsorship, a notification, and keys that are limited to them.
// Beside them another caller signs, reads and sends. Whatever is not the tenant's must be as it was.

const roundMs = 60_000
const maxStallMs = 500
const maxGrowthMb = 100
const readMs = 100
const sendMs = 1_000
const endMs = 60_000
const memoryMs = 2_000
const receiver = `0x${'5a'.repeat(20)}`
/** Stands in things of others, and in no id. */
const foreign = 'ownedbysomebodyelse'
const webhookSecret = 'a-webhook-secret-of-others'
const relayerPath = '/api/v1/relayers/{relayer_id}'

/** A part of `npm run test:hostile`. */
export async function generated(minutes: number, seed: number): Promise<Finding[]> {
  const chain = await startAnvil({ blockTime_s: 1 })
  try {
    return await withService((child, url) => attackFor(minutes * 60_000, seed, { child, url, chain }), chain.url)
  } finally {
    await chain.stop()
  }
}

interface Stage {
  child: ChildProcess
  url: string
  chain: Anvil
}

async function attackFor(durationMs: number, seed: number, stage: Stage): Promise<Finding[]> {
  const { child, url, chain } = stage
  const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
  const log = watchLog(child)
  await makeTenant(stage, client, 'others')
  const owner = await client.post('/api/v1/api-keys', { body: { name: `${foreign} key`, scopes: ['read', 'send'] } })
  const secrets = [apiKey, masterKey, owner.data.token, webhookSecret]
  const data: GeneratedAttack = {
    ...{ url, token: apiKey, secrets, foreign },
    chain: { url: chain.url, chain_id: chain.chain_id, accounts: chain.accounts },
  }
  const others = watchOthers(
    createRelayerClient({ baseUrl: url, token: owner.data.token, maxRetries: 0, fetch: asOnlyWriter }),
  )
  const before = await snapshot(client)
  const attacker = new Worker(join(import.meta.dirname, 'generated-attack.ts'), { workerData: data })
  const memory = watchMemory(child)
  const total: RoundResult = { sent: 0, by_status: {}, unavailable: {}, succeeded: [], problems: [] }
  let worst: Block = noBlock
  await longest(child)
  const end = performance.now() + durationMs
  for (let number = 0; performance.now() < end; number += 1) {
    const tenant = `tenant-${number}`
    const keys = await tenantKeys(stage, client, tenant)
    const round: Round = { seed: seed + number * 10_000, tenant, duration_ms: Math.min(roundMs, durationMs), keys }
    attacker.postMessage(round)
    const [result] = (await once(attacker, 'message')) as [RoundResult]
    const block = await longest(child)
    worst = worse(worst, block)
    add(total, result)
    const line = `round ${number}: ${result.sent} requests, ${JSON.stringify(result.by_status)}, ${result.problems.length} problems; `
    const said = Object.entries(result.unavailable).map(([text, count]) => `  503 ${count} times: ${text}\n`)
    const times = `longest turn ${block.own_ms.toFixed(0)} ms, ${others.told()}; ${memory.now().toFixed(0)} MB`
    process.stderr.write(
      `${line}${times}\n${said.join('')}${result.problems.map((problem) => `  ${problem}\n`).join('')}`,
    )
  }
  await attacker.terminate()
  const after = await snapshot(client)
  const { stalls, failures, lost, accepted } = await others.end()
  const changed = Object.keys(before).filter((name) => !isDeepStrictEqual(before[name], after[name]))
  const sentByOthers = await strangers(client, owner.data.api_key.id)
  const finding = (what: string, found: string | number, wanted: string, holds: boolean): Finding => ({
    ...{ what, found: `${found}`, wanted, holds },
  })
  const none = (what: string, found: unknown[]): Finding =>
    finding(`${what} ${found.slice(0, 3)}`, found.length, '0', found.length === 0)
  const statuses = JSON.stringify(total.by_status)
  return [
    none(`seed ${seed}, ${total.sent} requests, by status ${statuses}: wrong answers, failures, leaks`, total.problems),
    finding(
      'operations of which a request succeeded',
      total.succeeded.length,
      'more than 50',
      total.succeeded.length > 50,
    ),
    finding('the longest turn', `${worst.own_ms.toFixed(0)} ms`, `under ${maxStallMs} ms`, worst.own_ms < maxStallMs),
    finding(
      'requests of others that took longer than that, by the clock',
      stalls.length,
      `reported: ${stalls.slice(0, 5)}`,
      true,
    ),
    none('failures of other callers', failures),
    finding(`of ${accepted} transactions of others, not confirmed`, lost, '0', lost === 0 && accepted > 0),
    none('things of others that changed', changed),
    none('transactions of others by another key', sentByOthers),
    memory.end(),
    none('lines of the log with level error or a secret', log.lines(secrets)),
  ]
}

function add(total: RoundResult, { sent, by_status, succeeded, problems }: RoundResult): void {
  total.sent += sent
  for (const [status, count] of Object.entries(by_status)) {
    total.by_status[Number(status)] = (total.by_status[Number(status)] ?? 0) + count
  }
  total.succeeded = [...new Set([...total.succeeded, ...succeeded])]
  total.problems.push(...problems)
}

/** A relayer with funds, a pool of it and another one, a sponsorship and a notification. Returns the key of the sponsorship. */
async function makeTenant({ chain }: Stage, client: RelayerClient, name: string): Promise<string> {
  const title = name === 'others' ? foreign : name
  const url = `http://127.0.0.1:1/${title}`
  await client.post('/api/v1/notifications', { body: { id: `${name}-hook`, url, signing_key: webhookSecret } })
  for (const id of [`${name}-1`, `${name}-2`]) {
    await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
    const relayer = { network: 'local', network_type: 'evm' as const, paused: false, notification_id: `${name}-hook` }
    const { data } = await client.post('/api/v1/relayers', { body: { ...relayer, id, name: title, signer_id: id } })
    await chain.setBalance(data.address, 10n ** 24n)
  }
  const pool = { id: `${name}-pool`, network: 'local', relayer_ids: [`${name}-1`, `${name}-2`] }
  await client.post('/api/v1/pools', { body: pool })
  const rules = { max_gas_per_call: 1_000_000, max_fee_per_call: `${10n ** 17n}`, max_fee_per_day: `${10n ** 18n}` }
  const targets = [{ address: receiver, selectors: ['0xa9059cbb'] }]
  const sponsorship = { id: `${name}-sponsorship`, relayer_id: `${name}-1`, ...rules, targets }
  return (await client.post('/api/v1/sponsorships', { body: sponsorship })).data.token
}

/** Keys of every kind. */
async function tenantKeys(stage: Stage, client: RelayerClient, name: string): Promise<AttackingKey[]> {
  const relay = await makeTenant(stage, client, name)
  const all: CreateApiKeyRequest['scopes'] = ['sign', 'send', 'read', 'notifications', 'manage']
  const relayers = { relayer_ids: [`${name}-1`] }
  const pools = { pool_ids: [`${name}-pool`] }
  const kinds: Record<string, Omit<CreateApiKeyRequest, 'name'>> = {
    ...Object.fromEntries(all.map((scope) => [`${scope} of a relayer`, { scopes: [scope], ...relayers }])),
    'all of a relayer': { scopes: all, ...relayers },
    'read and send of a pool': { scopes: ['read', 'send'], ...pools },
    'all of a pool': { scopes: all, ...pools },
    'all of a relayer and a pool': { scopes: all, relayer_ids: [`${name}-2`], ...pools },
    'slow, all of a relayer': { scopes: all, ...relayers, rate_limit: { per_second: 1, burst: 5 } },
    'read of all': { scopes: ['read'] },
    'sign of all': { scopes: ['sign'] },
    expired: { scopes: all },
    revoked: { scopes: all },
  }
  const keys: AttackingKey[] = [
    { kind: 'of a sponsorship', token: relay, scopes: ['relay'], sees_all: false, is_known: true },
  ]
  for (const [kind, body] of Object.entries(kinds)) {
    const { token, api_key } = (await client.post('/api/v1/api-keys', { body: { name: `${name} ${kind}`, ...body } }))
      .data
    const its = { path: { api_key_id: api_key.id } }
    if (kind === 'revoked') await client.delete('/api/v1/api-keys/{api_key_id}', its)
    if (kind === 'expired')
      await client.patch('/api/v1/api-keys/{api_key_id}', { ...its, body: { expires_at: '2026-01-01T00:00:00Z' } })
    const isKnown = kind !== 'revoked' && kind !== 'expired'
    keys.push({ kind, token, scopes: body.scopes, sees_all: kind.endsWith('of all'), is_known: isKnown })
  }
  return keys
}

/** The configuration of what is not a tenant's, without what changes by itself. */
async function snapshot(client: RelayerClient): Promise<Record<string, unknown>> {
  const data = async (answer: Promise<{ data: unknown }>) => (await answer).data
  const relayer = (id: string) => data(client.get(relayerPath, { path: { relayer_id: id } }))
  const keys = (await client.get('/api/v1/api-keys', { query: { per_page: 1_000 } })).data
  return {
    ...Object.fromEntries(
      await Promise.all(['demo', 'others-1', 'others-2'].map(async (id) => [`relayer ${id}`, await relayer(id)])),
    ),
    pool: await data(client.get('/api/v1/pools/{pool_id}', { path: { pool_id: 'others-pool' } })),
    sponsorship: await data(
      client.get('/api/v1/sponsorships/{sponsorship_id}', { path: { sponsorship_id: 'others-sponsorship' } }),
    ),
    notification: await data(
      client.get('/api/v1/notifications/{notification_id}', { path: { notification_id: 'others-hook' } }),
    ),
    network: await data(client.get('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' } })),
    networks: (await client.get('/api/v1/networks', { query: { per_page: 1_000 } })).data.map(({ id }) => id),
    abis: (await client.get('/api/v1/abis', { query: { per_page: 1_000 } })).data.map(({ id }) => id),
    keys: keys.filter(({ name }) => name.startsWith(foreign)).map(({ last_used_at, ...key }) => key),
  }
}

const isChange = (name: string) => operations.some(({ id, audited }) => id === name && audited === 'change')

/** Transactions of the relayers of others that another key than theirs sent. */
async function strangers(client: RelayerClient, ownerId: string): Promise<string[]> {
  const found: string[] = []
  for (const id of ['demo', 'others-1', 'others-2']) {
    const { data, pagination } = await client.get('/api/v1/audit', { query: { relayer_id: id, per_page: 1_000 } })
    const changes = data.filter(
      ({ caller, operation, http_status }) =>
        caller !== ownerId && caller !== 'environment' && isChange(operation) && http_status < 300,
    )
    found.push(
      ...changes.map(({ caller, operation }) => `${caller}: ${operation} of ${id} (of ${pagination?.total_items})`),
    )
  }
  return found
}

/** Another caller: signs and reads at a steady rate, and sends. All of it has to succeed. */
function watchOthers(client: RelayerClient) {
  const path = { relayer_id: 'others-1' }
  const [stalls, failures, ids]: [string[], string[], string[]] = [[], [], []]
  const running = new Set<Promise<void>>()
  let times: number[] = []
  let value = 0
  const repeat = (what: string, ms: number, ask: () => Promise<unknown>) =>
    setInterval(() => {
      const began = performance.now()
      const asked = ask()
        .catch((error) => void failures.push(`${what}: ${error} ${error.cause ?? ''}`))
        .then(() => {
          const tookMs = performance.now() - began
          times.push(tookMs)
          if (tookMs > maxStallMs) stalls.push(`${what} ${tookMs.toFixed(0)} ms`)
          running.delete(asked)
        })
      running.add(asked)
    }, ms)
  const timers = [
    repeat('read', readMs, () => client.get(relayerPath, { path })),
    repeat('list', readMs, () => client.get(`${relayerPath}/transactions/`, { path, query: { per_page: 5 } })),
    repeat('send', sendMs, async () => {
      value += 1
      const body = { to: receiver, value: `${value}`, gas_limit: 21_000, reference: `${foreign} ${value}` }
      ids.push((await client.post(`${relayerPath}/transactions`, { path, body })).data.id)
    }),
  ]
  return {
    told() {
      const sorted = times.sort((a, b) => a - b)
      times = []
      const at = (part: number) => (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(0)
      return `others p50 ${at(0.5)}, p99 ${at(0.99)}, worst ${at(0.9999)} ms`
    },
    async end() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
      const unfinished = new Set(ids)
      for (const end = performance.now() + endMs; unfinished.size > 0 && performance.now() < end; await pause(500)) {
        for (const id of unfinished) {
          const its = { path: { ...path, transaction_id: id } }
          const { data } = await client.get(`${relayerPath}/transactions/{transaction_id}`, its)
          if (data.status === 'confirmed') unfinished.delete(id)
        }
      }
      return { stalls, failures, lost: unfinished.size, accepted: ids.length }
    },
  }
}

/** Compares the second quarter of the time with the last one: what grows without end grows between them. */
function watchMemory(child: ChildProcess) {
  const samples: number[] = []
  const now = () => memoryOf(child.pid as number)
  const timer = setInterval(() => samples.push(now()), memoryMs)
  const median = (from: number, to: number) => {
    const some = samples.slice(Math.floor(samples.length * from), Math.floor(samples.length * to)).sort((a, b) => a - b)
    return some[some.length >> 1] ?? 0
  }
  return {
    now,
    end(): Finding {
      clearInterval(timer)
      const quarters = [0, 0.25, 0.5, 0.75].map((from) => median(from, from + 0.25))
      const growthMb = (quarters[3] ?? 0) - (quarters[1] ?? 0)
      const found = `+${growthMb.toFixed(0)} MB; medians ${quarters.map((mb) => mb.toFixed(0))} MB`
      const what = 'growth of memory from the second to the last quarter'
      return { what, found, wanted: `at most ${maxGrowthMb} MB`, holds: growthMb <= maxGrowthMb }
    },
  }
}

const maxLines = 100

/** The lines of the service's log that ought not to be there. */
function watchLog(child: ChildProcess) {
  const found: string[] = []
  const texts: string[] = []
  let rest = ''
  child.stdout?.on('data', (piece: string) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (/"level":"?(?:[56]0|error|fatal)|breaks the contract/.test(line) && found.length < maxLines) found.push(line)
      if (line.includes(foreign) || line.includes(apiKey) || line.includes(masterKey)) texts.push(line)
    }
  })
  return {
    lines: (secrets: string[]) => [...found, ...texts.filter((line) => secrets.some((one) => line.includes(one)))],
  }
}
