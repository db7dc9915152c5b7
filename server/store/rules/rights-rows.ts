import type { NamedRow } from '../rights-state.ts'
import {
  bytesOfRights,
  listsOfRelayers,
  type RightsTable,
  rightsColumns,
  rightsTables,
  type SealedRow,
} from '../rights-tables.ts'
import { type Engine, type Statement, sql } from './statement.ts'

/** A row with its MAC as it is read: PostgreSQL gives the content as values. */
export type StoredSeal = Omit<SealedRow, 'rights_content'> & { rights_content: string | unknown[] }
export type StoredRow = StoredSeal & Pick<NamedRow, 'id'>

/** The row with the content as the text that the MAC covers. */
export const contentAsText = <Row extends StoredSeal>(row: Row): Omit<Row, 'rights_content'> & SealedRow => ({
  ...row,
  rights_content: typeof row.rights_content === 'string' ? row.rights_content : JSON.stringify(row.rights_content),
})

const hex: Record<Engine, (column: string) => string> = {
  sqlite: (column) => `hex(${column})`,
  postgres: (column) => `coalesce(upper(encode(${column}, 'hex')), '')`,
}
// The empty string makes it text: in SQLite, a JSON value keeps its subtype in some contexts and loses it in others.
const aggregated: Record<Engine, string> = {
  sqlite: `json_group_array(relayer_row_id ORDER BY relayer_row_id) || ''`,
  postgres: `'[' || coalesce(string_agg(relayer_row_id::text, ',' ORDER BY relayer_row_id), '') || ']'`,
}
const array: Record<Engine, string> = { sqlite: 'json_array', postgres: 'json_build_array' }

/** An SQL expression: the protected content of a row, as JSON. `row`: the table's name, or OLD in a trigger. */
export function contentOf(engine: Engine, table: RightsTable, row: string = table): string {
  const values = rightsColumns[table].map((name) =>
    bytesOfRights.has(name) ? hex[engine](`${row}.${name}`) : `${row}.${name}`,
  )
  const list = table === 'api_keys' || table === 'pools' ? listsOfRelayers[table] : undefined
  const relayers = list ? [`(SELECT ${aggregated[engine]} FROM ${list.table} WHERE ${list.owner} = ${row}.row_id)`] : []
  return `${array[engine]}(${[`${row}.row_id`, ...values, ...relayers].join(', ')})`
}

/** The columns of `StoredSeal`, as a column list. */
export const sealedColumns = (engine: Engine, table: RightsTable): string =>
  `${table}.row_id, ${table}.rights_version, ${table}.rights_mac, ${contentOf(engine, table)} AS rights_content`

export const byTable = <T>(make: (table: RightsTable) => T) =>
  Object.fromEntries(rightsTables.map((table) => [table, make(table)])) as Record<RightsTable, T>

/** A step takes some milliseconds. */
export const max_step = 250

/** The rows that grant rights, with their MACs. */
export const rows = byTable((table): Record<'one' | 'lock' | 'some', Statement<StoredRow>> => {
  const select = (engine: Engine) => `SELECT id, ${sealedColumns(engine, table)} FROM ${table}`
  return {
    one: sql((engine) => `${select(engine)} WHERE row_id = $row_id`),
    lock: sql((engine) => `${select(engine)} WHERE row_id = $row_id FOR NO KEY UPDATE`),
    some: sql((engine) => `${select(engine)} WHERE row_id > $after ORDER BY row_id LIMIT ${max_step}`),
  }
})
export const setSeal = byTable((table) =>
  sql(`UPDATE ${table} SET rights_version = $rights_version, rights_mac = $rights_mac WHERE row_id = $row_id`),
)
export const readManifest = sql<{ sealed: Uint8Array }>('SELECT sealed FROM rights_manifest')
export const lockManifest = sql<{ sealed: Uint8Array }>('SELECT sealed FROM rights_manifest FOR UPDATE')
export const setManifest = sql(`
  INSERT INTO rights_manifest (id, sealed) VALUES (1, $sealed) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed`)
