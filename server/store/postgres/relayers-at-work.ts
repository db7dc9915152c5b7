import type { Store } from '../store.ts'
import { type Connection, sql } from './connection.ts'

const unfinished = [`status = 'pending'`, `status IN ('sent', 'submitted')`, `status = 'mined'`]

/** Skips from relayer to relayer in the index, so the cost depends on the number of relayers, not of transactions. */
const atWork = (name: string, status: string) => `
  ${name} (relayer_row_id) AS (
    (SELECT relayer_row_id FROM transactions WHERE ${status} ORDER BY relayer_row_id LIMIT 1)
    UNION ALL
    SELECT (SELECT relayer_row_id FROM transactions WHERE ${status} AND relayer_row_id > ${name}.relayer_row_id
            ORDER BY relayer_row_id LIMIT 1)
    FROM ${name} WHERE ${name}.relayer_row_id IS NOT NULL
  )`

const select = sql<{ relayer_row_id: number }>(`
  WITH RECURSIVE ${unfinished.map((status, index) => atWork(`at_work_${index}`, status)).join(',')}
  SELECT relayer_row_id FROM watches
  ${unfinished
    .map((_, index) => `UNION SELECT relayer_row_id FROM at_work_${index} WHERE relayer_row_id IS NOT NULL`)
    .join(' ')}`)

/** The relayers that have work for the sender. */
export function relayersAtWork({ read }: Connection): Pick<Store, 'relayersAtWork'> {
  return {
    relayersAtWork: async () => (await read.all(select)).map(({ relayer_row_id }) => relayer_row_id),
  }
}
