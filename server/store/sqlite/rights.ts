import type Database from 'better-sqlite3'
import { ApiError } from '../../errors.ts'
import type { RightsFault, RightsGuard } from '../rows.ts'
import { createLook, type RightsChange } from './rights-look.ts'
import { createReports } from './rights-reports.ts'
import { schemaCheck } from './rights-schema.ts'
import { type RightsSeal, rightsSeal, toggle } from './rights-seal.ts'
import { type RightsTable, rightsTables, rightsTriggers, type SealedRow, sealedColumns } from './rights-tables.ts'

type Row = SealedRow & { id: string }

/**
 * Protects rows that grant rights (API keys, relayers, networks, notifications, signers) with a MAC: whoever can write the database
 * cannot change rights without the master key. Triggers of this connection record every change of such a row, by any statement.
 * Before the commit, changed rows get a new version and a MAC, and the manifest is updated. A row is checked when it is used. A scan
 * of all rows, at startup and after commits by other connections, finds rows that were rolled back or removed.
 */
export interface Rights {
  /** Starts checking rows and sealing changes. Must be called inside a database transaction. */
  protect(guard: RightsGuard, report: (fault: RightsFault) => void): void
  /** Whether the service wrote the row. Always true before `protect`. */
  isTrusted(table: RightsTable, row: Row): boolean
  /** The row without its MAC. Throws ApiError (503) when the row is not trusted, or does not have the requested id. */
  require<R extends Row>(table: RightsTable, row: R, id?: string): Omit<R, Exclude<keyof SealedRow, 'row_id'>>
  /** Seals the changed rows. Must be called inside the database transaction, before its commit. */
  seal(): void
  /** Must be called after every database transaction. */
  ended(committed: boolean): void
  close(): void
}

/** `version`: changes when another connection commits. `migrations`: their text, which contains the service's own triggers. */
export function createRights(
  db: Database.Database,
  file: string,
  version: () => number,
  migrations: () => string,
): Rights {
  let sealing: RightsSeal | undefined
  let statements: Statements | undefined
  const changes = new Map<string, RightsChange>()
  /** The changes that the current database transaction seals; version 0: deleted. */
  let sealed: RightsChange[] = []
  const tell = createReports()
  const look = createLook(db, file, version, tell)
  const checkSchema = schemaCheck(db, migrations)

  function isTrusted(table: RightsTable, row: Row): boolean {
    if (!sealing) return true
    look.again(sealing)
    return judge(sealing, table, row)
  }

  function judge(seal: RightsSeal, table: RightsTable, row: Row): boolean {
    const known = look.of(table)
    if (known === undefined || known.counted === 'neither') {
      tell([{ table, id: null, reason: 'rows are missing or rolled back' }])
      return false
    }
    const isGenuine = seal.isGenuine(table, row)
    const isNewest = row.rights_version >= known.versions.get(row.row_id)
    if (isGenuine && isNewest) return true
    tell([{ table, id: row.id, reason: isGenuine ? 'rolled back' : 'changed' }])
    return false
  }

  /** Called by the triggers, before a change or after an insert. SQLite allows no statement in it. */
  function change(seal: RightsSeal, table: RightsTable, kind: string, row: Row): void {
    const name = `${table}:${row.row_id}`
    if (changes.has(name)) return
    const known = { table, row_id: row.row_id, version: row.rights_version }
    if (kind === 'insert') changes.set(name, { ...known, version: 0 })
    else if (judge(seal, table, row)) changes.set(name, known)
    else if (kind === 'update') throw distrusted()
    else {
      // The manifest does not count a row that another program added.
      const isCounted = seal.isGenuine(table, row) || look.of(table)?.counted !== 'genuine'
      changes.set(name, isCounted ? known : { ...known, version: 0 })
    }
  }

  return {
    protect(guard, report) {
      const seal = rightsSeal(guard)
      sealing = seal
      tell.to(report)
      statements = prepare(db)
      checkSchema()
      const call = (
        table: RightsTable,
        kind: string,
        row_id: number,
        version: number,
        mac: Uint8Array,
        content: string,
      ) => {
        const id = content === '' ? '' : JSON.parse(content)[1]
        change(seal, table, kind, { id, row_id, rights_version: version, rights_mac: mac, rights_content: content })
        return null
      }
      db.function('rights_change', call as (...values: unknown[]) => null)
      db.exec(rightsTriggers())
      look.first(seal)
    },
    isTrusted,
    require(table, row, id = row.id) {
      if (!isTrusted(table, row) || row.id !== id) throw distrusted()
      const { rights_version: _, rights_mac: __, rights_content: ___, ...rest } = row
      return rest
    },
    seal() {
      if (!sealing || !statements || changes.size === 0) return
      checkSchema()
      const manifest = sealing.openManifest(statements.manifest.get())
      if (!manifest) throw new Error('The manifest of the rows that grant rights is gone')
      for (const { table, row_id, version } of changes.values()) {
        if (version > 0) toggle(manifest.sums[table], sealing.element(table, row_id, version))
        const row = statements.rows[table].get(row_id)
        if (!row) {
          sealed.push({ table, row_id, version: 0 })
          continue
        }
        manifest.version += 1
        const mac = sealing.macOf(table, { ...row, rights_version: manifest.version })
        statements.updates[table].run(manifest.version, mac, row_id)
        toggle(manifest.sums[table], sealing.element(table, row_id, manifest.version))
        sealed.push({ table, row_id, version: manifest.version })
      }
      statements.setManifest.run(sealing.sealManifest(manifest))
    },
    ended(committed) {
      if (changes.size === 0) return
      if (committed) look.follow(sealed)
      changes.clear()
      sealed = []
    },
    close: look.close,
  }
}

type Statements = ReturnType<typeof prepare>

const prepare = (db: Database.Database) => ({
  manifest: db.prepare<[], Uint8Array>('SELECT sealed FROM rights_manifest').pluck(),
  setManifest: db.prepare<[Uint8Array]>('UPDATE rights_manifest SET sealed = ?'),
  rows: byTable((table) =>
    db.prepare<[number], SealedRow>(`SELECT ${sealedColumns(table)} FROM ${table} WHERE row_id = ?`),
  ),
  updates: byTable((table) =>
    db.prepare<[number, Uint8Array, number]>(`UPDATE ${table} SET rights_version = ?, rights_mac = ? WHERE row_id = ?`),
  ),
})

const byTable = <T>(make: (table: RightsTable) => T) =>
  Object.fromEntries(rightsTables.map((table) => [table, make(table)])) as Record<RightsTable, T>

/** Only the log names the row, because the caller may not have the right to see it. */
const distrusted = () =>
  new ApiError('unavailable', 'Service Unavailable', [
    {
      path: 'store',
      message: 'Rows of the database were changed by another program than this service; its log names them',
    },
  ])
