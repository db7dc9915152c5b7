import { type RightsTable, rightsTables } from '../rights-tables.ts'
import { type StoredRow, sealedColumns } from './sealed-rows.ts'
import { type Engine, type Statement, sql } from './statement.ts'

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
