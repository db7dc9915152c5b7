import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Engine, indexedBy, sql } from './statement.ts'

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

const select = sql<{ relayer_row_id: number }>(
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
    relayersAtWork: async () => (await read.all(select)).map(({ relayer_row_id }) => relayer_row_id),
  }
}
