import type { InUse } from '../../domain/rows.ts'
import type { DatabaseTransaction, Statement, Values } from './database.ts'

/** Those that the statement finds, as the reason why a row is not deleted; undefined: nothing uses it. */
export async function usersOf(
  dbTransaction: DatabaseTransaction,
  usedBy: InUse['used_by'],
  statement: Statement<{ id: string }>,
  values: Values,
): Promise<InUse | undefined> {
  const rows = await dbTransaction.all(statement, values)
  return rows.length === 0 ? undefined : { used_by: usedBy, ids: rows.map(({ id }) => id) }
}
