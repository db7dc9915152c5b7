import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { sql, type Transaction } from './session.ts'
import { type ChangingName, changingNames, encode, type Row, recordsOf } from './transaction-rows.ts'

/**
 * What the steps of a transaction change: it waits, a node takes it, it is signed, it is in a block, it is signed again; and anything
 * else. A list, because a caller chooses what a replacement changes, and each statement is kept.
 */
const finalColumns = [
  'status',
  'confirmed_at',
  'receipt',
  'block_number',
  'block_hash',
  'reserved',
  'changed_at',
  'revision',
] as const
const columnSets: readonly (readonly ChangingName[])[] = [
  ['waiting_for', 'wait_text', 'changed_at', 'reprice_at', 'revision'],
  ['status', 'sent_at', 'changed_at', 'revision'],
  ['hash', 'status', 'signature', 'changed_at', 'reprice_at', 'revision'],
  finalColumns,
  [...finalColumns, 'sponsored'],
  [
    ...(['hash', 'gas_price', 'max_fee_per_gas', 'max_priority_fee_per_gas', 'signature', 'resign'] as const),
    ...(['waiting_for', 'wait_text', 'reserved', 'changed_at', 'reprice_at', 'revision'] as const),
  ],
  changingNames,
]

/**
 * A statement sets no more columns than it needs to: the others would have to be sent, and in SQLite, setting a column to its present
 * value rewrites its indexes. In PostgreSQL, the list of row ids lets the planner look them up by the index; by a join, it would read the
 * whole table while it is small.
 */
const updates = columnSets.map((names) => ({
  names,
  statement: sql<object>({
    sqlite: `
      UPDATE transactions SET ${names.map((name) => `"${name}" = $${name}`).join(', ')}
      WHERE row_id = $row_id AND revision = $known_revision`,
    postgres: `
      UPDATE transactions SET ${names.map((name) => `"${name}" = new."${name}"`).join(', ')}
      FROM ${recordsOf(['row_id', ...names], 'known_revision bigint')}
      WHERE transactions.row_id = ANY ($row_ids::bigint[]) AND transactions.row_id = new.row_id
        AND transactions.revision = new.known_revision`,
  }),
}))
type Update = (typeof updates)[number]

/** How a row differs from the stored one, the statement that changes it, and its values. */
export function changeOf(before: Row, row: TransactionRow) {
  const after = encode(row)
  const changed = changingNames.filter((name) => after[name] !== before[name])
  const update = updates.find(({ names }) => changed.every((name) => names.includes(name))) as Update
  const values = Object.fromEntries(update.names.map((name) => [name, after[name]]))
  return { changed, update, values: { ...values, row_id: row.row_id, known_revision: before.revision } }
}

/** Resolves to how many rows were changed: those that still have the known revision. */
export async function writeChanges(transaction: Transaction, changes: ReturnType<typeof changeOf>[]): Promise<number> {
  const counts = await Promise.all(
    [...Map.groupBy(changes, ({ update }) => update)].map(([{ statement }, its]) =>
      transaction.runOf(
        statement,
        its.map(({ values }) => values),
        { row_ids: its.map(({ values }) => values.row_id) },
      ),
    ),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
