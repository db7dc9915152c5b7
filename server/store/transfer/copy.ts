import type Database from 'better-sqlite3'
import type { ClientBase } from 'pg'
import { type AuditHead, type AuditRow, beginning } from '../audit-batches.ts'
import { StoreError } from '../store-errors.ts'
import { type MovedTable, seeded } from './tables.ts'

/** The rows of one statement: at most this many, and about this many bytes. */
const maxRows = 1_000
const maxBytes = 4_000_000

/** The audit trail of a SQLite database is a chain of its own. The chains of servers have the numbers of these, from 1. */
export const movedChain = 0

type Cell = string | number | Uint8Array | null
type Row = Record<string, Cell>

/** A name as SQL writes it: some columns have the names of keywords. */
const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/**
 * Copies all rows, inside the current database transaction of the target. Counts per block and for charts are rows too: the triggers
 * that keep them rest meanwhile. Returns the number of rows.
 */
export async function copyRows(source: Database.Database, target: ClientBase, tables: MovedTable[]): Promise<number> {
  for (const { name } of tables) await target.query(`ALTER TABLE ${quoted(name)} DISABLE TRIGGER USER`)
  let count = 0
  for (const table of tables) {
    if (seeded.has(table.name)) await target.query(`DELETE FROM ${quoted(table.name)}`)
    if (table.name === 'audit') await beginChain(source, target)
    count += await copyTable(source, target, table)
    if (table.name === 'audit') await endChain(target)
    await continueIdentity(source, target, table)
  }
  for (const { name } of tables) await target.query(`ALTER TABLE ${quoted(name)} ENABLE TRIGGER USER`)
  return count
}

async function copyTable(source: Database.Database, target: ClientBase, table: MovedTable): Promise<number> {
  const { name, columns, added, key } = table
  const all = [...columns, ...added]
  const from = columns.map((column) => quoted(column.name)).join(', ')
  const rows = source.prepare<[], Row>(`SELECT ${from} FROM ${quoted(name)} ORDER BY ${key.map(quoted).join(', ')}`)
  const complete = name === 'audit' ? auditColumns() : (row: Row) => row
  const insert = {
    name: `copy ${name}`,
    text: `INSERT INTO ${quoted(name)} (${all.map((column) => quoted(column.name)).join(', ')})
      SELECT * FROM unnest(${all.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})`,
  }
  let count = 0
  for (const batch of batches(rows.iterate(), complete)) {
    try {
      await target.query({ ...insert, values: all.map((column) => batch.map((row) => row[column.name])) })
    } catch (error) {
      const { code, message } = error as { code?: string; message: string }
      // The message names no value: it is one of a constraint, or of a character that PostgreSQL cannot store.
      throw code?.startsWith('2') ? new StoreError(`The table ${name} cannot be moved: ${message}`) : error
    }
    count += batch.length
  }
  return count
}

function* batches(rows: Iterable<Row>, complete: (row: Row) => Row): Generator<Row[]> {
  let batch: Row[] = []
  let bytes = 0
  for (const row of rows) {
    batch.push(complete(row))
    for (const cell of Object.values(row))
      if (typeof cell === 'string' || cell instanceof Uint8Array) bytes += cell.length
    if (batch.length < maxRows && bytes < maxBytes) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}

/** The columns by which the entries of several chains are ordered. `at`: the time of the newest entry so far. */
function auditColumns(): (row: Row) => Row {
  let newest = 0
  return (row) => {
    for (const [, at] of JSON.parse(row.entries as string) as AuditRow[]) newest = Math.max(newest, at)
    return { ...row, chain: movedChain, at: newest }
  }
}

/** The row of the chain that the entries of the audit trail refer to. */
async function beginChain(source: Database.Database, target: ClientBase): Promise<void> {
  const last = source.prepare<[], AuditHead>('SELECT up_to, hash FROM audit ORDER BY up_to DESC LIMIT 1').get()
  const { up_to, hash } = last ?? beginning
  await target.query('INSERT INTO audit_chains (chain, up_to, hash, at) VALUES ($1, $2, $3, 0)', [
    movedChain,
    up_to,
    hash,
  ])
}

const endChain = (target: ClientBase) =>
  target.query('UPDATE audit_chains SET at = coalesce((SELECT max(at) FROM audit), 0) WHERE chain = $1', [movedChain])

/** Row ids that SQLite has assigned once are not assigned again, even if their rows are gone. */
async function continueIdentity(source: Database.Database, target: ClientBase, table: MovedTable): Promise<void> {
  const { name, identity } = table
  if (identity === undefined) return
  const last = source
    .prepare<[string], number>(
      `SELECT max(coalesce((SELECT max(${quoted(identity)}) FROM ${quoted(name)}), 0),
        coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?), 0))`,
    )
    .pluck()
    .get(name)
  // A sequence is not rolled back. That does no harm: another attempt sets it again.
  if (last) await target.query('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [name, identity, last])
}
