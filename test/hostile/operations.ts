import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { apiKey } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { operations as contractOperations } from '../support/contract.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { type Block, blockFinding, blockOf, judged, lesser, longest, noBlock, withService } from './blocking.ts'
import type { Finding } from './finding.ts'
import { memoryOf } from './memory-of.ts'
import { store } from './stored.ts'
import { abi, facilitator, network, type Stored, sponsorship, table } from './table.ts'

/** At 300,000 rows, before lists and bulk changes had bounded steps. */
const beforeMs: Record<string, string> = {
  signTransaction: '943 ms',
  listRelayerTransactions: '701 ms',
  listNotificationDeliveries: '570 ms',
  redeliverDeliveries: '6,200 ms',
  deleteNotification: '4,000 ms',
}

/** The lowest of several measurements counts, because other programs use the machine too. */
const tries = 4
/** A request that is as fast as this is not repeated. */
const goodMs = 10
/** About as many as fit into 64 MiB of unfinished data. */
const large = 500
const data = `0x${'ab'.repeat(130_000)}`
const atRestMs = 5_000
const maxGrowthMb = 150
/** In a second. */
const restCpuMs = 100

/** The worst request of every operation of the contract, with `rows` rows in every large table. */
export async function operations(rows: number): Promise<Finding[]> {
  const chain = await startAnvil({ noMining: true })
  try {
    return await withService(async (child, url, folder) => {
      const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
      const apiKeys = await prepare(client)
      for (const relayerId of ['demo', 'authorizing', 'pooled']) {
        const { address } = (await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } }))
          .data
        await chain.setBalance(address, 10n ** 24n)
      }
      await store(folder, rows)
      await scanned(child, client)
      const findings = strays()
      const { unfinished, finding } = await sendLarge(child, client)
      findings.push(...finding)
      const pooled = await sendPooled(client)
      const { data: problems } = await client.get('/api/v1/problems', { query: { per_page: 100 } })
      const problem =
        problems.find(({ kind, relayer_id }) => kind === 'balance_empty' && relayer_id === 'full')?.id ?? 'none'
      for (const id of Object.keys(table))
        findings.push(await measure(child, url, id, { rows, unfinished, api_keys: apiKeys, pooled, problem }))
      return findings
    }, chain.url)
  } finally {
    await chain.stop()
  }
}

/** The table and the contract name the same operations. */
function strays(): Finding[] {
  const known = contractOperations.map(({ id }) => id)
  const missing = known.filter((id) => !(id in table))
  const gone = Object.keys(table).filter((id) => !known.includes(id))
  const found = [...missing, ...gone]
  const what = `operations without an entry in table.ts, and the reverse: ${found}`
  return [{ what, found: `${found.length}`, wanted: '0', holds: found.length === 0 }]
}

async function measure(child: ChildProcess, url: string, id: string, stored: Stored): Promise<Finding> {
  const least: { name: string; block: Block }[] = []
  try {
    for (let attempt = 0; attempt < tries; attempt += 1) {
      for (const [index, request] of (table[id]?.(stored, attempt) ?? []).entries()) {
        const known = least[index]?.block
        if (known && judged(known) <= goodMs) continue
        const block = await blockOf(child, url, request)
        // What stands still once, and not again, was not the request.
        least[index] = { name: request.name, block: known ? lesser(known, block) : block }
      }
    }
  } catch (error) {
    return { what: `${id}: ${(error as Error).message}`, found: 'an error', wanted: 'a success', holds: false }
  }
  const [worst] = least.sort((a, b) => judged(b.block) - judged(a.block))
  const finding = { ...blockFinding(`${id}: ${worst?.name}`, worst?.block ?? noBlock), point: 3 as const }
  const before = beforeMs[id]
  return before === undefined ? finding : { ...finding, before }
}

/** What requests of the table are about: one of each kind for every attempt, and the relayers that they use. Returns ids of API keys. */
export async function prepare(client: RelayerClient): Promise<string[]> {
  const attempts = Array.from({ length: tries }, (_, attempt) => `${attempt}`)
  const kept = attempts.map((attempt) => `kept-${attempt}`)
  for (const id of attempts) {
    await client.post('/api/v1/signers', { body: { id: `spare-${id}`, type: 'generated' } })
    await client.post('/api/v1/signers', { body: { id: `idle-${id}`, type: 'generated' } })
  }
  for (const id of ['full', 'authorizing', 'pooled', ...kept]) await addRelayer(client, id)
  await client.post('/api/v1/notifications', { body: { id: 'full', url: 'http://127.0.0.1:1/' } })
  await client.post('/api/v1/pools', { body: { id: 'payers', network: 'local', relayer_ids: ['demo'] } })
  for (const [attempt, id] of kept.entries()) {
    const refill = { min_balance: '1', target_balance: '2', max_amount_per_day: '3', max_fee_per_gas: '4' }
    await client.put('/api/v1/relayers/{relayer_id}/funding', {
      path: { relayer_id: id },
      body: { treasury_id: 'demo', ...refill },
    })
    await client.post('/api/v1/pools', { body: { id, network: 'local', relayer_ids: ['demo', 'pooled'] } })
    await client.put('/api/v1/pools/{pool_id}/funding', {
      path: { pool_id: id },
      body: { treasury_id: 'authorizing', ...refill },
    })
    await client.post('/api/v1/sponsorships', { body: { ...sponsorship, id } })
    await client.post('/api/v1/facilitators', { body: { ...facilitator, id } })
    const address = `0x${(1_000 + attempt).toString(16).padStart(40, '0')}`
    await client.post('/api/v1/abis', { body: { id, network: 'local', address, abi } })
    await client.post('/api/v1/networks', { body: { ...network, name: id } })
  }
  const made = attempts.map((attempt) =>
    client.post('/api/v1/api-keys', { body: { name: `key ${attempt}`, scopes: ['sign'] } }),
  )
  return (await Promise.all(made)).map(({ data }) => data.api_key.id)
}

async function addRelayer(client: RelayerClient, id: string): Promise<void> {
  await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
  const policies = { allow_authorizations: true }
  const relayer = { network: 'local', network_type: 'evm' as const, paused: false, policies }
  await client.post('/api/v1/relayers', { body: { ...relayer, id, name: id, signer_id: id } })
}

/** Rows that another process has stored are scanned once: no caller can have that done. */
async function scanned(child: ChildProcess, client: RelayerClient): Promise<void> {
  await client.get('/api/v1/relayers', {})
  do {
    await longest(child)
    await pause(1_000)
  } while ((await longest(child)).total_cpu_ms > restCpuMs)
}

async function sendPooled(client: RelayerClient): Promise<string[]> {
  const ids: string[] = []
  for (let index = 0; index < tries; index += 1) {
    const body = { to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000 }
    const path = { pool_id: 'kept-0' }
    ids.push((await client.post('/api/v1/pools/{pool_id}/transactions', { path, body })).data.id)
  }
  return ids
}

/** Measures the cost of one key's unmined transactions of 130 KB, when they are sent and afterwards at rest. */
async function sendLarge(child: ChildProcess, client: RelayerClient) {
  const pid = child.pid as number
  const beforeMb = memoryOf(pid)
  const unfinished: string[] = []
  await longest(child)
  for (let index = 0; index < large; index += 1) {
    const body = { to: `0x${'5a'.repeat(20)}`, value: `${index}`, data, gas_limit: 6_000_000 }
    const { data: sent } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id: 'demo' },
      body,
    })
    unfinished.push(sent.id)
  }
  const coming = await longest(child)
  await pause(atRestMs)
  const rest = await longest(child)
  const growthMb = memoryOf(pid) - beforeMb
  const name = `${large} unfinished transactions of 130 KB`
  const finding: Finding[] = [
    { ...blockFinding(`${name}: while they come`, coming), point: 1, before: '5,900 ms' },
    { ...blockFinding(`${name}: at rest`, rest), point: 1, before: '1,800 ms' },
    {
      point: 1,
      before: '+1,450 MB',
      what: `${name}: memory`,
      found: `+${growthMb.toFixed(0)} MB`,
      wanted: `under ${maxGrowthMb} MB`,
      holds: growthMb < maxGrowthMb,
    },
  ]
  return { unfinished, finding }
}
