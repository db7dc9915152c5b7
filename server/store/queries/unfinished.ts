import type { Unfinished } from '../../domain/new-transaction.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Engine, indexedBy, type Session, sql } from './session.ts'
import { columns, type Row, read } from './transaction-rows.ts'

const sums = sql<Unfinished & { relayer_row_id: number }>(`
  SELECT relayer_row_id, sum(unfinished) AS count, sum(unfinished_bytes) AS bytes
  FROM transaction_blocks WHERE relayer_row_id = ANY ($relayer_row_ids::bigint[]) AND level = 1 GROUP BY relayer_row_id`)

export const nothing: Unfinished = { count: 0, bytes: 0 }

/** The number and size of each relayer's unfinished transactions, from the counts per block. */
export async function unfinishedOfAll(session: Session, relayerRowIds: number[]): Promise<Map<number, Unfinished>> {
  const rows = await session.all(sums, { relayer_row_ids: relayerRowIds })
  return new Map(rows.map(({ relayer_row_id, ...unfinished }) => [relayer_row_id, unfinished]))
}

export const unfinishedOf = async (session: Session, relayerRowId: number): Promise<Unfinished> =>
  (await unfinishedOfAll(session, [relayerRowId])).get(relayerRowId) ?? nothing

const lowest = (relayer: string, status: string) => `
  SELECT * FROM (
    SELECT ${columns} FROM transactions WHERE relayer_row_id = ${relayer} AND ${status} AND nonce >= 0
    ORDER BY nonce LIMIT 1) AS lowest`
const unmined = (relayer: string) => `
  SELECT * FROM (
    ${lowest(relayer, `status = 'pending'`)} UNION ALL ${lowest(relayer, `status IN ('sent', 'submitted')`)}
  ) AS unmined ORDER BY nonce LIMIT 1`

const firsts = sql<Row>({
  sqlite: unmined('$relayer_row_id'),
  postgres: `
    SELECT its.* FROM json_to_recordset($rows::json) AS wanted (relayer_row_id bigint),
      LATERAL (${unmined('wanted.relayer_row_id')}) AS its`,
})

/** The unfinished transaction of each relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
export async function firstsInLine(session: Session, relayerRowIds: number[]): Promise<TransactionRow[]> {
  const wanted = relayerRowIds.map((relayerRowId) => ({ relayer_row_id: relayerRowId }))
  return (await session.allOf(firsts, wanted)).map(read)
}

const unfinished = [
  ['transactions_pending', `status = 'pending'`],
  ['transactions_flying', `status IN ('sent', 'submitted')`],
  ['transactions_mined', `status = 'mined'`],
] as const

/** Skips from relayer to relayer in the index, so the cost depends on the number of relayers, not of transactions. */
const atWork = (engine: Engine, index: string, status: string) => `
  at_work_${index} (relayer_row_id) AS (
    SELECT min(relayer_row_id) FROM transactions${indexedBy[engine](index)} WHERE ${status}
    UNION ALL
    SELECT (SELECT min(relayer_row_id) FROM transactions${indexedBy[engine](index)}
            WHERE ${status} AND relayer_row_id > at_work_${index}.relayer_row_id)
    FROM at_work_${index} WHERE at_work_${index}.relayer_row_id IS NOT NULL
  )`

const atWorkNow = sql<{ relayer_row_id: number }>(
  (engine) => `
  WITH RECURSIVE ${unfinished.map(([index, status]) => atWork(engine, index, status)).join(',')}
  SELECT relayer_row_id FROM watches
  ${unfinished
    .map(([index]) => `UNION SELECT relayer_row_id FROM at_work_${index} WHERE relayer_row_id IS NOT NULL`)
    .join(' ')}`,
)

/** The relayers that have work for the sender. */
export function relayersAtWork({ read }: Database): Pick<Store, 'relayersAtWork'> {
  return {
    relayersAtWork: async () => (await read.all(atWorkNow)).map(({ relayer_row_id }) => relayer_row_id),
  }
}
