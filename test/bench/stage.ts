import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import type { Bench } from './case.ts'
import { apiKey, startOurs } from './processes.ts'

/** keccak256("cow"), the key of EIP-712's authors; the servers that ours is compared with sign with it too. */
export const key = '0xc85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4'

/** Some seconds of load are more than the default limit of unfinished transactions, beyond which requests are refused. */
export const policies = { max_pending: 100_000 }

export const databaseOf = (dataDir: string): string => join(dataDir, 'relayer.sqlite')

/** A network at that URL, and a relayer `bench` there. */
export async function createBenchRelayer(url: string, rpcUrl = 'http://127.0.0.1:1'): Promise<RelayerClient> {
  const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
  const network = { name: 'bench', network_type: 'evm' as const, chain_id: 31_337, rpc_urls: [rpcUrl] }
  await client.post('/api/v1/networks', { body: network })
  await createRelayer(client, 'bench', { type: 'plain', config: { key } })
  return client
}

async function createRelayer(client: RelayerClient, id: string, signer: Parameters<typeof createSigner>[2]) {
  await createSigner(client, id, signer)
  const body = { id, name: id, network: 'bench', network_type: 'evm' as const, paused: false, signer_id: id }
  await client.post('/api/v1/relayers', { body: { ...body, policies } })
}

const createSigner = (
  client: RelayerClient,
  id: string,
  signer: { type: 'plain'; config: { key: string } } | { type: 'generated' },
) => client.post('/api/v1/signers', { body: { id, ...signer } })

export const histories = (bench: Bench): Record<string, number> =>
  bench.quick ? { small: 1_000, medium: 10_000, large: 100_000 } : { small: 1_000, medium: 100_000, large: 1_000_000 }

const notifications = 100

/** A data folder with three relayers, each with its history of transactions; kept between cases, and between runs with --data. */
export async function historyFolder(bench: Bench): Promise<string> {
  const dataDir = join(bench.history_dir, bench.quick ? 'quick' : 'whole')
  if (existsSync(databaseOf(dataDir))) return dataDir
  const server = await startOurs(dataDir)
  const client = await createBenchRelayer(server.url)
  for (const id of Object.keys(histories(bench))) await createRelayer(client, id, { type: 'generated' })
  for (let index = 0; index < notifications; index += 1) {
    await client.post('/api/v1/notifications', {
      body: { id: `target-${index}`, type: 'webhook', url: `https://example.com/${index}` },
    })
  }
  await server.stop()

  const db = new Database(databaseOf(dataDir))
  db.pragma('synchronous = OFF')
  for (const [id, last] of Object.entries(histories(bench))) db.prepare(insert).run({ id, last })
  db.close()
  return dataDir
}

/** Rows as full as they become: mined, signed, with their prices. */
const insert = `
  WITH RECURSIVE counted (sequence) AS (SELECT 1 UNION ALL SELECT sequence + 1 FROM counted WHERE sequence < $last)
  INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, hash, "from", "to", value, nonce, gas_limit,
    max_fee_per_gas, max_priority_fee_per_gas, status, created_at, sent_at, confirmed_at, signature, speed)
  SELECT network, 'test', 2, '2026-01-01T00:00:00.000Z', format('018f6e2c-%04x-7000-8000-%012x', relayers.row_id, sequence), relayers.row_id, relayers.id, sequence, chain_id,
    format('0x%064x', sequence), address, address, '1000000000000000000', sequence - 1, 21000, '2000000000',
    '1000000000', 'confirmed', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:01.000Z', '2026-01-01T00:00:02.000Z',
    format('{"r":"0x%064x","s":"0x%064x","sig":"0x%0130x","v":27}', sequence, sequence, sequence),
    'average'
  FROM counted, relayers WHERE relayers.id = $id`
