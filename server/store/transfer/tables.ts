import type Database from 'better-sqlite3'
import { type Session, sql } from '../queries/session.ts'
import { StoreError } from '../store-errors.ts'

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
export interface SchemaColumn {
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
