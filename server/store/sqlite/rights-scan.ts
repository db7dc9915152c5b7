import type Database from 'better-sqlite3'
import { emptySums, type RightsSeal, toggle } from '../rights-seal.ts'
import { createScan, type NamedRow, type RightsState } from '../rights-state.ts'
import { rightsTables, type SealedRow } from '../rights-tables.ts'
import { sealedColumns } from './rights-tables.ts'

/** A step takes about 1 ms. */
const max_step = 100

export const readManifest = (db: Database.Database, seal: RightsSeal) =>
  seal.openManifest(db.prepare<[], Uint8Array>('SELECT sealed FROM rights_manifest').pluck().get())

/**
 * Scans every protected row. Yields after every `max_step` rows. Must be called inside one database transaction, so that rows and
 * manifest match. `known`: the result of the previous scan.
 */
export function* scanRights(
  db: Database.Database,
  seal: RightsSeal,
  known: RightsState | undefined,
): Generator<undefined, RightsState> {
  const scan = createScan(seal, readManifest(db, seal), known?.tables)
  for (const table of rightsTables) {
    const some = db.prepare<[number], NamedRow>(
      `SELECT id, ${sealedColumns(table)} FROM ${table} WHERE row_id > +? ORDER BY row_id LIMIT ${max_step}`,
    )
    for (let rows = some.all(0); rows.length > 0; rows = some.all(rows.at(-1)?.row_id as number)) {
      for (const row of rows) scan.add(table, row)
      if (rows.length === max_step) yield
    }
  }
  return scan.end()
}

/** The whole scan without steps. */
export function scanNow(...parameters: Parameters<typeof scanRights>): RightsState {
  const steps = scanRights(...parameters)
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Gives every protected row a new version and a MAC for its present content, and writes a new manifest. Must be called inside a database transaction. */
export function sealAll(db: Database.Database, seal: RightsSeal, first_version: number): number {
  const sums = emptySums()
  let version = first_version
  let count = 0
  for (const table of rightsTables) {
    const update = db.prepare<[number, Uint8Array, number]>(
      `UPDATE ${table} SET rights_version = ?, rights_mac = ? WHERE row_id = ?`,
    )
    for (const row of db.prepare<[], SealedRow>(`SELECT ${sealedColumns(table)} FROM ${table}`).all()) {
      version += 1
      update.run(version, seal.macOf(table, { ...row, rights_version: version }), row.row_id)
      toggle(sums[table], seal.element(table, row.row_id, version))
      count += 1
    }
  }
  writeManifest(db, seal.sealManifest({ version, sums }))
  return count
}

function writeManifest(db: Database.Database, sealed: Uint8Array): void {
  db.prepare<[Uint8Array]>('INSERT OR REPLACE INTO rights_manifest (id, sealed) VALUES (1, ?)').run(sealed)
}
