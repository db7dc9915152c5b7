import type { NamedRow } from '../rights-state.ts'
import { bytesOfRights, type RightsTable, rightsColumns, rightsTables, type SealedRow } from '../rights-tables.ts'
import { type Statement, sql } from './statement.ts'

/** A row with its MAC as it is read; `contentAsText` makes its content the text that the MAC covers. */
export type StoredSeal = Omit<SealedRow, 'rights_content'> & { rights_content: unknown[] }

export const contentAsText = <Row extends StoredSeal>(row: Row): Omit<Row, 'rights_content'> & SealedRow => ({
  ...row,
  rights_content: JSON.stringify(row.rights_content),
})

/** The columns of `StoredSeal`, as a column list. */
export function sealedColumns(table: RightsTable): string {
  const values = rightsColumns[table].map((name) =>
    bytesOfRights.has(name) ? `coalesce(upper(encode(${table}.${name}, 'hex')), '')` : `${table}.${name}`,
  )
  const relayers = `(SELECT '[' || coalesce(string_agg(relayer_row_id::text, ',' ORDER BY relayer_row_id), '') || ']'
    FROM api_key_relayers WHERE api_key_row_id = api_keys.row_id)`
  const content = [`${table}.row_id`, ...values, ...(table === 'api_keys' ? [relayers] : [])]
  return `${table}.row_id, ${table}.rights_version, ${table}.rights_mac, json_build_array(${content.join(', ')}) AS rights_content`
}

export const byTable = <T>(make: (table: RightsTable) => T) =>
  Object.fromEntries(rightsTables.map((table) => [table, make(table)])) as Record<RightsTable, T>

type StoredRow = StoredSeal & Pick<NamedRow, 'id'>

/** A step takes about 4 ms. */
export const max_step = 500

export const rows = byTable((table): Record<'one' | 'lock' | 'some', Statement<StoredRow>> => {
  const columns = `id, ${sealedColumns(table)}`
  return {
    one: sql(`SELECT ${columns} FROM ${table} WHERE row_id = $row_id`),
    lock: sql(`SELECT ${columns} FROM ${table} WHERE row_id = $row_id FOR NO KEY UPDATE`),
    some: sql(`SELECT ${columns} FROM ${table} WHERE row_id > $after ORDER BY row_id LIMIT ${max_step}`),
  }
})
export const setSeal = byTable((table) =>
  sql(`UPDATE ${table} SET rights_version = $rights_version, rights_mac = $rights_mac WHERE row_id = $row_id`),
)
export const readManifest = sql<{ sealed: Uint8Array }>('SELECT sealed FROM rights_manifest')
export const lockManifest = sql<{ sealed: Uint8Array }>('SELECT sealed FROM rights_manifest FOR UPDATE')
export const setManifest = sql(`
  INSERT INTO rights_manifest (id, sealed) VALUES (1, $sealed) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed`)
