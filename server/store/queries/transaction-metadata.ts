import { sql, type Transaction } from './session.ts'

const remove = sql('DELETE FROM transaction_metadata WHERE transaction_row_id = ANY ($row_ids::bigint[])')
const insert = sql(
  (engine) => `
  INSERT INTO transaction_metadata (relayer_row_id, name, value, sequence, transaction_row_id)
  SELECT relayer_row_id, its.key, its.value, sequence, transactions.row_id
  FROM transactions, ${engine === 'sqlite' ? 'json_each(metadata)' : 'json_each_text(metadata::json)'} AS its
  WHERE transactions.row_id = ANY ($row_ids::bigint[])`,
)

/** Makes new transactions findable by their metadata. */
export const indexMetadata = (transaction: Transaction, rowIds: number[]): Promise<number> =>
  rowIds.length === 0 ? Promise.resolve(0) : transaction.run(insert, { row_ids: rowIds })

/** Does so again for transactions whose metadata has changed. */
export async function indexMetadataAgain(transaction: Transaction, rowIds: number[]): Promise<void> {
  if (rowIds.length === 0) return
  await transaction.run(remove, { row_ids: rowIds })
  await transaction.run(insert, { row_ids: rowIds })
}
