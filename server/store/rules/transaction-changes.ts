import { BoundedMap } from '../../core/bounded-map.ts'
import type { TransactionRow } from '../../core/sending-rows.ts'
import { encode, type Row } from '../transaction-rows.ts'
import type { Transaction } from './session.ts'
import { type Statement, sql } from './statement.ts'
import { allColumns, type Column, recordsOf } from './transaction-columns.ts'

/** What a transaction keeps from its acceptance, and what has a statement of its own (spending.ts). */
const kept = [
  'row_id',
  'id',
  'relayer_row_id',
  'relayer_id',
  'sequence',
  'chain_id',
  'from',
  'created_at',
  'spent',
  'caller',
  'sponsored',
  'sponsored_lane',
] as const satisfies Column[]
type Changing = Exclude<Column, (typeof kept)[number]>
const changing = allColumns.filter((name): name is Changing => !kept.some((its) => its === name))

/** About 20 occur. */
const max_updates = 200
const updates = new BoundedMap<string, Statement<object>>(max_updates)
/**
 * A statement sets only columns that have changed: the others would have to be sent, and in SQLite, setting a column to its present value
 * rewrites its indexes. In PostgreSQL, the list of row ids lets the planner look them up by the index; by a join, it would read the whole
 * table while it is small.
 */
const updateOf = (names: readonly Column[]) =>
  updates.of(names.join(), () =>
    sql({
      sqlite: `
        UPDATE transactions SET ${names.map((name) => `"${name}" = $${name}`).join(', ')}
        WHERE row_id = $row_id AND revision = $known_revision`,
      postgres: `
        UPDATE transactions SET ${names.map((name) => `"${name}" = new."${name}"`).join(', ')}
        FROM ${recordsOf(['row_id', ...names], 'known_revision bigint')}
        WHERE transactions.row_id = ANY ($row_ids::bigint[]) AND transactions.row_id = new.row_id
          AND transactions.revision = new.known_revision`,
    }),
  )

/** The columns in which a row differs from the stored one, with their values. */
export function changeOf(before: Row, row: TransactionRow) {
  const after = encode(row)
  const names = changing.filter((name) => after[name] !== before[name])
  const values = Object.fromEntries(names.map((name) => [name, after[name]]))
  return { names, values: { ...values, row_id: row.row_id, known_revision: before.revision } }
}

/** Resolves to how many rows were changed: those that still have the known revision. */
export async function writeChanges(transaction: Transaction, changes: ReturnType<typeof changeOf>[]): Promise<number> {
  const counts = await Promise.all(
    [...Map.groupBy(changes, ({ names }) => updateOf(names))].map(([update, its]) =>
      transaction.runOf(
        update,
        its.map(({ values }) => values),
        { row_ids: its.map(({ values }) => values.row_id) },
      ),
    ),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
