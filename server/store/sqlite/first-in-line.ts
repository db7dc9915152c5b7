import type { TransactionRow } from '../../core/sending-rows.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'

/** Finds the unfinished transaction of a relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
export function firstInLine({ db }: Pick<Connection, 'db'>): (relayer_row_id: number) => TransactionRow | undefined {
  const unmined = [`status = 'pending'`, `status IN ('sent', 'submitted')`].map((status) =>
    db.prepare<[number], Row>(`
      SELECT ${columns} FROM transactions WHERE relayer_row_id = +? AND ${status} AND nonce >= 0 ORDER BY nonce LIMIT 1`),
  )
  return (relayer_row_id) => {
    const rows = unmined.map((select) => select.get(relayer_row_id)).filter((row) => row !== undefined)
    const [row] = rows.sort((a, b) => (a.nonce as number) - (b.nonce as number))
    return row && read(row)
  }
}
