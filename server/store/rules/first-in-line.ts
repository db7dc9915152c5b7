import type { TransactionRow } from '../../core/sending-rows.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

const lowest = (relayer: string, status: string) => `
  SELECT * FROM (
    SELECT ${columns} FROM transactions WHERE relayer_row_id = ${relayer} AND ${status} AND nonce >= 0
    ORDER BY nonce LIMIT 1) AS lowest`
const unmined = (relayer: string) => `
  SELECT * FROM (
    ${lowest(relayer, `status = 'pending'`)} UNION ALL ${lowest(relayer, `status IN ('sent', 'submitted')`)}
  ) AS unmined ORDER BY nonce LIMIT 1`

const select = sql<Row>({
  sqlite: unmined('$relayer_row_id'),
  postgres: `
    SELECT its.* FROM json_to_recordset($rows::json) AS wanted (relayer_row_id bigint),
      LATERAL (${unmined('wanted.relayer_row_id')}) AS its`,
})

/** The unfinished transaction of each relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
export async function firstsInLine(session: Session, relayer_row_ids: number[]): Promise<TransactionRow[]> {
  const wanted = relayer_row_ids.map((relayer_row_id) => ({ relayer_row_id }))
  return (await session.allOf(select, wanted)).map(read)
}
