import type Database from 'better-sqlite3'
import type { RightsFault } from '../rows.ts'
import { emptySums, type RightsSeal, toggle } from './rights-seal.ts'
import { type RightsTable, rightsTables, type SealedRow, sealedColumns } from './rights-tables.ts'
import { createRowVersions, type RowVersions } from './row-versions.ts'

/** The result of a scan of all protected rows. */
export interface RightsState {
  /**
   * By table: the version of each row, and the rows that the manifest matches: `all`, only the `genuine` ones (another program added
   * rows), or `neither` (rows were rolled back or removed).
   */
  tables: Record<RightsTable, { versions: RowVersions; counted: 'all' | 'genuine' | 'neither' }>
  faults: RightsFault[]
}

/** A step takes about 1 ms. */
const max_step = 100
const max_faults = 100

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
  const manifest = readManifest(db, seal)
  const [all, genuine] = [emptySums(), emptySums()]
  const faults: RightsFault[] = []
  const tables = {} as RightsState['tables']
  for (const table of rightsTables) {
    const some = db.prepare<[number], SealedRow & { id: string }>(
      `SELECT id, ${sealedColumns(table)} FROM ${table} WHERE row_id > +? ORDER BY row_id LIMIT ${max_step}`,
    )
    const before = known?.tables[table].versions
    const versions = createRowVersions()
    for (let rows = some.all(0); rows.length > 0; rows = some.all(rows.at(-1)?.row_id as number)) {
      for (const row of rows) {
        const isGenuine = seal.isGenuine(table, row)
        const isNewest = row.rights_version >= (before?.get(row.row_id) ?? 0)
        const element = seal.element(table, row.row_id, row.rights_version)
        toggle(all[table], element)
        if (isGenuine) {
          toggle(genuine[table], element)
          versions.set(row.row_id, row.rights_version)
          if (isNewest) continue
        }
        if (faults.length < max_faults)
          faults.push({ table, id: row.id, reason: isGenuine ? 'rolled back' : 'changed' })
      }
      if (rows.length === max_step) yield
    }
    const sum = manifest?.sums[table]
    const counted = sum?.equals(all[table]) ? 'all' : sum?.equals(genuine[table]) ? 'genuine' : 'neither'
    if (counted === 'neither') faults.push({ table, id: null, reason: 'rows are missing or rolled back' })
    tables[table] = { versions, counted }
  }
  return { tables, faults }
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
