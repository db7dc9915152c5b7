import type { Transaction } from '../../client/index.ts'
import { type AuditBatch, beginning, faultOfBatch } from '../../server/store/queries/audit.ts'
import { answerOf } from '../../server/store/queries/insert-rules.ts'
import type { StoreEvidence } from '../crash/evidence.ts'
import type { Stage } from './stage.ts'

/** What the database has of one relayer. */
export interface RelayerEvidence extends StoreEvidence {
  relayer_id: string
  address: string
}

type Rows = Stage['rows']

interface Attempt {
  relayer_row_id: number
  hash: string
  price: string
}

/** Reads the tables, because no operation returns pending deliveries. */
export async function readDatabase(rows: Rows): Promise<RelayerEvidence[]> {
  const relayers = await rows<{ row_id: string; id: string; address: string; next_nonce: string | null }>(
    `SELECT relayers.row_id, id, relayers.address, next_nonce FROM relayers
     LEFT JOIN accounts ON accounts.chain_id = relayers.chain_id AND accounts.address = relayers.address`,
  )
  const attempts = await rows<Attempt>(
    `SELECT relayer_row_id::float8 AS relayer_row_id, attempts.hash, json_build_array(attempts.nonce, attempts.gas_price,
       attempts.max_fee_per_gas, attempts.max_priority_fee_per_gas, purpose)::text AS price
     FROM attempts JOIN transactions ON transactions.row_id = transaction_row_id`,
  )
  const answers = await rows<{ relayer_row_id: number; key: string; answer: string }>(
    `SELECT transactions.relayer_row_id::float8 AS relayer_row_id, idempotency_key AS key, answer
     FROM idempotency JOIN transactions ON transactions.row_id = transaction_row_id`,
  )
  const events = await rows<{ relayer_row_id: number; sequence: number; body: string }>(
    `SELECT relayer_row_id::float8 AS relayer_row_id, sequence::float8 AS sequence, body FROM events
     ORDER BY relayer_row_id, sequence`,
  )
  return relayers.map(({ row_id, id, address, next_nonce }) => {
    const own = <T extends { relayer_row_id: number }>(all: T[]) =>
      all.filter(({ relayer_row_id }) => relayer_row_id === Number(row_id))
    const signed = own(attempts)
    return {
      relayer_id: id,
      address,
      damage: [],
      next_nonce: Number(next_nonce ?? 0),
      hashes: signed.map(({ hash }) => hash),
      prices: new Map(signed.map(({ hash, price }) => [hash, price])),
      answers: new Map(own(answers).map(({ key, answer }) => [key, answerOf(JSON.parse(answer), null) as Transaction])),
      events: own(events).map(({ body, ...event }) => {
        const { payload_type: _, ...shown } = JSON.parse(body).payload
        return { ...event, payload: shown as Transaction }
      }),
    }
  })
}

/** The number of audit chains, one for each server, and the faults of each. */
export async function readAudit(rows: Rows): Promise<{ chains: number; faults: string[] }> {
  const batches = await rows<AuditBatch & { chain: string }>(
    `SELECT chain, up_to::float8 AS up_to, first::float8 AS first, entries, hash FROM audit ORDER BY audit.chain, audit.up_to`,
  )
  const heads = await rows<{ chain: string; up_to: number; hash: Buffer }>(
    'SELECT chain, up_to::float8 AS up_to, hash FROM audit_chains',
  )
  const chains = Map.groupBy(batches, ({ chain }) => chain)
  const faults = [...chains].flatMap(([chain, its]) => {
    let before = beginning
    for (const batch of its) {
      const fault = faultOfBatch(batch, before)
      if (fault !== undefined) return [`chain ${chain}: ${fault}`]
      before = batch
    }
    const head = heads.find((one) => one.chain === chain)
    const isEnd = head?.up_to === before.up_to && head.hash.equals(before.hash)
    return isEnd ? [] : [`chain ${chain}: its head is another one`]
  })
  return { chains: chains.size, faults }
}

/** Events without exactly one delivery. */
export async function countWrongDeliveries(rows: Rows): Promise<number> {
  const [found] = await rows<{ wrong: number }>(
    `SELECT count(*)::float8 AS wrong FROM (
       SELECT events.row_id FROM events LEFT JOIN deliveries ON event_row_id = events.row_id
       GROUP BY events.row_id HAVING count(deliveries.row_id) <> 1) AS others`,
  )
  return found?.wrong ?? 0
}

export async function countUndelivered(rows: Rows): Promise<number> {
  const [found] = await rows<{ left: number }>(
    `SELECT count(*)::float8 AS left FROM deliveries WHERE status <> 'delivered'`,
  )
  return found?.left ?? 0
}
