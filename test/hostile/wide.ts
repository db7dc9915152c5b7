import { join } from 'node:path'
import { type Input, RLP } from '@ethereumjs/rlp'
import Database from 'better-sqlite3'
import { createRelayerClient } from '../../client/index.ts'
import { apiKey } from '../bench/processes.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { fillAudit } from './stored.ts'

export interface Wide {
  name: string
  method: string
  path: string
  succeeds?: boolean
  /** An event stream from the first event, closed after a second. */
  stream?: boolean
  /** How long the service works after the response; default 3 ms. */
  after_ms?: number
  /** The media type of the body. */
  type?: string
  body?: string
}

const rows = 1_000
const entries = 1_000_000
/** The length of a transaction's data: about the most that fits into a block. */
const dataCharacters = 260_000

/** The length of an access list: about the most addresses that the service accepts. */
const addresses = 3_300

/** Requests with long responses: full pages of the largest rows. */
export async function wideRequests(url: string, folder: string): Promise<Record<string, Wide[]>> {
  const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
  const db = new Database(join(folder, 'relayer.sqlite'))
  const get = (name: string, path: string): Wide => ({ name, method: 'GET', path: `/api/v1${path}`, succeeds: true })
  try {
    for (const index of Array(rows).keys()) {
      await client.post('/api/v1/notifications', { body: { url: `http://127.0.0.1:1/${index}${'x'.repeat(1_900)}` } })
    }
    const ids = (await relayers(client)).slice(0, rows)
    fillAudit(db, entries)
    fillTransactions(db, 'small', 64)
    fillTransactions(db, 'large', dataCharacters)
    const cidrs = Array.from({ length: 100 }, (_, index) => `10.${index}.0.0/16`)
    const key = { name: 'wide', scopes: ['sign'], relayer_ids: ids, allowed_cidrs: cidrs }
    const makeKey = { name: '1,000 relayers, 100 networks', method: 'POST', path: '/api/v1/api-keys' }
    const full = '?per_page=1000'
    return {
      'sign, 1 MiB': [
        {
          name: 'text',
          method: 'POST',
          path: '/api/v1/relayers/demo/sign',
          type: 'application/json',
          body: JSON.stringify({ message: 'x'.repeat(1_000_000) }),
        },
      ],
      'signTransaction, 1 MiB': [
        prepared('data', Buffer.alloc(500_000, 0xab), []),
        prepared(
          'an access list',
          Buffer.of(),
          Array.from({ length: addresses }, () => [Buffer.alloc(20, 1), []]),
        ),
      ],
      createApiKey: [{ ...makeKey, type: 'application/json', body: JSON.stringify(key) }],
      listRelayerTransactions: [
        get('1,000 usual ones', `/relayers/small/transactions${full}`),
        get('filtered', `/relayers/small/transactions${full}&status=confirmed`),
        get('120 of 130 KB each', '/relayers/large/transactions?per_page=120'),
      ],
      'other lists': ['relayers', 'notifications', 'networks', 'signers', 'api-keys'].map((name) =>
        get(name, `/${name}${full}`),
      ),
      listAuditEntries: [
        get('1,000 of 1e6', `/audit${full}`),
        get('a search of 1e6', `/audit${full}&operation=none`),
        get('a search that finds all', `/audit${full}&caller=somebody`),
      ],
    }
  } finally {
    db.close()
  }
}

/** An unsigned transaction for the development chain (EIP-1559). */
export const prepared = (name: string, data: Uint8Array, access: Input): Wide => {
  const list = RLP.encode([31_337, 0, 1, 1, 21_000, Buffer.alloc(20, 1), 0, data, access])
  return {
    ...{
      name,
      method: 'POST',
      path: '/api/v1/relayers/demo/sign-transaction',
      type: 'application/json',
      succeeds: true,
    },
    body: JSON.stringify({ unsigned_transaction: `0x02${Buffer.from(list).toString('hex')}` }),
  }
}

/** As many relayers as a key may be limited to. They share only their network. */
async function relayers(client: ReturnType<typeof createRelayerClient>): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < rows) {
    const id = `wide-${ids.length}`
    await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
    const relayer = { id, name: id, network: 'local', network_type: 'evm' as const, paused: false, signer_id: id }
    await client.post('/api/v1/relayers', { body: relayer })
    ids.push(id)
  }
  await client.post('/api/v1/api-keys', { body: { name: 'all of them', scopes: ['sign'], relayer_ids: ids } })
  for (const name of ['small', 'large']) {
    const body = { id: name, name, network: 'local', network_type: 'evm' as const, paused: false }
    await client.post('/api/v1/signers', { body: { id: name, type: 'generated' } })
    await client.post('/api/v1/relayers', { body: { ...body, signer_id: name } })
  }
  return ids
}

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`

function fillTransactions(db: Database.Database, id: string, dataCharacters: number): void {
  db.prepare(`${numbers(rows)}
    INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, hash, "from", "to", value, nonce, gas_limit,
      max_fee_per_gas, max_priority_fee_per_gas, status, created_at, sent_at, confirmed_at, signature, speed)
    SELECT network, 'test', 2, '2026-01-01T00:00:00.000Z', id || '-' || n, row_id, id, n, chain_id, '0x' || hex(zeroblob(32)), address, address, '1000000000000000000',
      n, 21000, '30000000000', '1000000000', 'confirmed', '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', NULL, NULL
    FROM relayers, numbers WHERE id = $id`).run({ id })
  const bytes = dataCharacters / 2
  db.prepare('INSERT INTO transaction_data SELECT row_id, zeroblob(?) FROM transactions WHERE relayer_id = ?').run(
    bytes,
    id,
  )
  db.prepare('UPDATE transactions SET data_bytes = ?, data_row_id = row_id WHERE relayer_id = ?').run(bytes, id)
}
