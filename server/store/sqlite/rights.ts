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
 * Rows that grant rights (API keys, relayers, networks, notifications, signers) carry a MAC, so that somebody who can write the
 * database, but does not have the master key, cannot change rights. Triggers of this connection notice every change of such a row,
 * by any statement; before the commit the changed rows get a new version and a MAC, and the manifest follows. A row is checked
 * when it is read to be used. Rows that are older or missing are found by a look at all rows, at the start and whenever another
 * connection has committed.
 */
export interface Rights {
  /** From here on rows are checked and changes are sealed. Inside a database transaction. */
  protect(guard: RightsGuard, report: (fault: RightsFault) => void): void
  /** Whether the row is as the service wrote it; always before `protect`. */
  isTrusted(table: RightsTable, row: Row): boolean
  /** The row without its MAC. Throws ApiError (503) when it is not trusted, or another one than was asked for. */
  require<R extends Row>(table: RightsTable, row: R, id?: string): Omit<R, Exclude<keyof SealedRow, 'key'>>
  /** Seals what was changed; inside the database transaction, before its commit. */
  seal(): void
  /** A database transaction has ended. */
  ended(committed: boolean): void
  close(): void
}

/** `version`: moves when another connection has committed. `migrations`: their text, which has the service's own triggers. */
export function createRights(
  db: Database.Database,
  file: string,
  version: () => number,
  migrations: () => string,
): Rights {
  let sealing: RightsSeal | undefined
  let statements: Statements | undefined
  const changes = new Map<string, RightsChange>()
  /** What the database transaction under way seals; version 0: deleted. */
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
    const isNewest = row.rights_version >= (known.versions.get(row.key) ?? 0)
    if (isGenuine && isNewest) return true
    tell([{ table, id: row.id, reason: isGenuine ? 'rolled back' : 'changed' }])
    return false
  }

  /** Called by the triggers, before the change, or after an insert. No statement can be executed in it. */
  function change(seal: RightsSeal, table: RightsTable, kind: string, row: Row): void {
    const name = `${table}:${row.key}`
    if (changes.has(name)) return
    const known = { table, key: row.key, version: row.rights_version }
    if (kind === 'insert') changes.set(name, { ...known, version: 0 })
    else if (judge(seal, table, row)) changes.set(name, known)
    else if (kind === 'update') throw distrusted()
    else {
      // A row that somebody added was never counted.
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
        key: number,
        version: number,
        mac: Uint8Array,
        content: string,
      ) => {
        const id = content === '' ? '' : JSON.parse(content)[1]
        change(seal, table, kind, { id, key, rights_version: version, rights_mac: mac, rights_content: content })
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
      for (const { table, key, version } of changes.values()) {
        if (version > 0) toggle(manifest.sums[table], sealing.element(table, key, version))
        const row = statements.rows[table].get(key)
        if (!row) {
          sealed.push({ table, key, version: 0 })
          continue
        }
        manifest.version += 1
        const mac = sealing.macOf(table, { ...row, rights_version: manifest.version })
        statements.updates[table].run(manifest.version, mac, key)
        toggle(manifest.sums[table], sealing.element(table, key, manifest.version))
        sealed.push({ table, key, version: manifest.version })
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
    db.prepare<[number], SealedRow>(`SELECT ${sealedColumns(table)} FROM ${table} WHERE key = ?`),
  ),
  updates: byTable((table) =>
    db.prepare<[number, Uint8Array, number]>(`UPDATE ${table} SET rights_version = ?, rights_mac = ? WHERE key = ?`),
  ),
})

const byTable = <T>(make: (table: RightsTable) => T) =>
  Object.fromEntries(rightsTables.map((table) => [table, make(table)])) as Record<RightsTable, T>

/** Which row it is stands in the log: a caller may not know of it. */
const distrusted = () =>
  new ApiError('unavailable', 'Service Unavailable', [
    {
      path: 'store',
      message: 'Rows of the database were changed by another program than this service; its log names them',
    },
  ])
