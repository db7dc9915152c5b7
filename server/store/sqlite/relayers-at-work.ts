import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'

/** The relayers that have work for the sender. */
export function relayersAtWork({ db }: Connection): Pick<Store, 'relayersAtWork'> {
  // INDEXED BY names the indexes of unfinished rows, because SQLite would choose an index of all rows for one of them.
  const unfinished = [
    `transactions INDEXED BY transactions_pending WHERE status = 'pending'`,
    `transactions INDEXED BY transactions_flying WHERE status IN ('sent', 'submitted')`,
    `transactions INDEXED BY transactions_mined WHERE status = 'mined'`,
  ]
  // Skips from relayer to relayer in the index, so the cost depends on the number of relayers, not of transactions.
  const atWork = unfinished.map((rows) =>
    db
      .prepare<[], number>(`
        WITH RECURSIVE at_work (relayer_row_id) AS (
          SELECT min(relayer_row_id) FROM ${rows}
          UNION ALL
          SELECT (SELECT min(relayer_row_id) FROM ${rows} AND relayer_row_id > at_work.relayer_row_id)
          FROM at_work WHERE at_work.relayer_row_id IS NOT NULL
        )
        SELECT relayer_row_id FROM at_work WHERE relayer_row_id IS NOT NULL`)
      .pluck(),
  )

  const watched = db.prepare<[], number>('SELECT relayer_row_id FROM watches').pluck()

  return {
    relayersAtWork: async () => [...new Set([...atWork, watched].flatMap((select) => select.all()))],
  }
}
