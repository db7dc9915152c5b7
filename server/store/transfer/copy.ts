import type Database from 'better-sqlite3'
import type { ClientBase } from 'pg'
import { type AuditHead, type AuditRow, beginning } from '../queries/audit.ts'
import { type Session, StoreError, sql } from '../queries/database.ts'

/** The rows of one statement: at most this many, and about this many bytes. */
const maxRows = 1_000
const maxBytes = 4_000_000

/** The audit trail of a SQLite database is a chain of its own. The chains of servers have the numbers of these, from 1. */
const movedChain = 0

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

/** A table that is moved. */
export interface MovedTable {
  name: string
  /** The columns of both schemas. `type`: that of PostgreSQL. */
  columns: { name: string; type: string }[]
  /** Columns that only PostgreSQL has. */
  added: { name: string; type: string }[]
  /** The order in which the rows are read. */
  key: string[]
  /** A column whose values PostgreSQL generates. */
  identity: string | undefined
}

/** A column of a table, in the order of the table. */
interface SchemaColumn {
  table_name: string
  name: string
  type: string
  is_identity: boolean
}

/** Tables that only one store has, or that describe the servers of a store. They keep the content that the schema gave them. */
const own: ReadonlySet<string> = new Set([
  ...['schema_migrations', 'servers', 'work_leases', 'rate_buckets', 'audit_chains'],
  ...['leases'],
])

/** Columns that only PostgreSQL has. Their values are made from the row: see copy.ts. */
const addedColumns: Readonly<Record<string, readonly string[]>> = { audit: ['chain', 'at'] }

/** Tables in which the schema writes rows. A new database has these rows; they are replaced. */
export const seeded: ReadonlySet<string> = new Set(['generation'])

const selectColumns = sql<SchemaColumn>(`
  SELECT relname AS table_name, attname AS name, attidentity <> '' AS is_identity,
    format_type(CASE WHEN typtype = 'd' THEN typbasetype ELSE atttypid END, NULL) AS type
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    JOIN pg_type ON pg_type.oid = atttypid
  WHERE nspname = current_schema() AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
  ORDER BY relname, attnum`)
const selectReferences = sql<{ table_name: string; other: string }>(`
  SELECT its.relname AS table_name, other.relname AS other FROM pg_constraint
    JOIN pg_class AS its ON its.oid = conrelid JOIN pg_class AS other ON other.oid = confrelid
    JOIN pg_namespace ON pg_namespace.oid = its.relnamespace
  WHERE contype = 'f' AND nspname = current_schema()`)

/** The tables to move, each after the tables that it refers to. Throws StoreError when the schemas do not fit together. */
export async function movedTables(source: Database.Database, target: Session): Promise<MovedTable[]> {
  const tables = matchSchemas(readSqliteSchema(source), await target.all(selectColumns))
  return afterReferences(tables, await target.all(selectReferences))
}

type SqliteSchema = Map<string, { name: string; place: number }[]>

function readSqliteSchema(source: Database.Database): SqliteSchema {
  const tables = source
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'")
    .pluck()
    .all()
  const columns = source.prepare<[string], { name: string; place: number }>(
    'SELECT name, pk AS place FROM pragma_table_info(?)',
  )
  return new Map(tables.map((table) => [table, columns.all(table)]))
}

/** Every table and every column of either schema is moved, or is named above: a new one is not forgotten. */
function matchSchemas(source: SqliteSchema, target: SchemaColumn[]): MovedTable[] {
  const targetTables = Map.groupBy(target, ({ table_name }) => table_name)
  const faults: string[] = []
  const tables: MovedTable[] = []
  for (const table of new Set([...source.keys(), ...targetTables.keys()])) {
    if (own.has(table)) continue
    const [from = [], to = []] = [source.get(table), targetTables.get(table)]
    const added = to.filter(({ name }) => addedColumns[table]?.includes(name))
    const both = to.filter(({ name }) => from.some((column) => column.name === name))
    faults.push(
      ...from.filter(({ name }) => !both.some((column) => column.name === name)).map(({ name }) => `${table}.${name}`),
      ...to.filter((column) => !both.includes(column) && !added.includes(column)).map(({ name }) => `${table}.${name}`),
    )
    tables.push({
      name: table,
      columns: both,
      added,
      key: from
        .filter(({ place }) => place > 0)
        .sort((one, other) => one.place - other.place)
        .map(({ name }) => name),
      identity: to.find(({ is_identity }) => is_identity)?.name,
    })
  }
  if (faults.length === 0) return tables
  throw new StoreError(`One of the databases has columns that the other one lacks: ${faults.join(', ')}`)
}

function afterReferences(tables: MovedTable[], references: { table_name: string; other: string }[]): MovedTable[] {
  const ordered: MovedTable[] = []
  const add = (table: MovedTable): void => {
    if (ordered.includes(table)) return
    for (const { table_name, other } of references) {
      const referred = tables.find(({ name }) => name === other)
      if (table_name === table.name && referred && referred !== table) add(referred)
    }
    ordered.push(table)
  }
  for (const table of tables) add(table)
  return ordered
}
