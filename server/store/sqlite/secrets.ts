import type Database from 'better-sqlite3'
import type { AuditEntry, MasterKeyCheck, RightsFault, RightsGuard } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { UntrustedRows } from '../secrets-store.ts'
import type { Connection } from './connection.ts'
import { readMasterKeyCheck, writeMasterKeyCheck } from './master-key-check.ts'
import { readManifest, scanNow, sealAll } from './rights-scan.ts'

/** The last assigned version. Throws UntrustedRows, because a new MAC would make a foreign row trusted. */
function checkedVersion(db: Database.Database, guard: RightsGuard): number {
  const seal = rightsSeal(guard)
  const { faults } = scanNow(db, seal, undefined)
  if (faults.length > 0) throw new UntrustedRows(faults)
  return readManifest(db, seal)?.version ?? 0
}

const highestVersion = (db: Database.Database): number =>
  Math.max(
    ...rightsTables.map(
      (table) =>
        db.prepare<[], number>(`SELECT coalesce(max(rights_version), 0) FROM ${table}`).pluck().get() as number,
    ),
  )

/** All secrets and MACs, for a rotation of the master key. */
export function secrets({ db, write, record }: Connection) {
  const columns = sealedColumns.map(([table, column]) => ({
    table,
    select: db.prepare<[], { row_id: number; id: string; sealed: Uint8Array }>(
      `SELECT row_id, id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    ),
    update: db.prepare<[Uint8Array, number]>(`UPDATE ${table} SET ${column} = ? WHERE row_id = ?`),
  }))

  return {
    /** All faults of the rows that grant rights. */
    faults: (guard: RightsGuard): RightsFault[] =>
      db.transaction(() => scanNow(db, rightsSeal(guard), undefined).faults)(),
    /** Accepts the rows that grant rights with their present content. Returns their number. */
    acceptRights: (guard: RightsGuard, entry: AuditEntry): number =>
      write(() => {
        const seal = rightsSeal(guard)
        record(entry)
        // The new versions must exceed all earlier ones, even if the manifest is lost.
        return sealAll(db, seal, Math.max(readManifest(db, seal)?.version ?? 0, highestVersion(db)))
      }),
    /** Undefined in a new database. */
    masterKeyCheck: () => readMasterKeyCheck(db),
    /** Seals all secrets again in one database transaction. Returns their number. An error of `change` rolls back. */
    reseal: (
      change: (sealed: Uint8Array, row: string) => Uint8Array,
      new_check: MasterKeyCheck,
      { from, to }: { from: RightsGuard | undefined; to: RightsGuard },
      entry: AuditEntry,
    ): number =>
      write(() => {
        const version = from ? checkedVersion(db, from) : 0
        let count = 0
        for (const { table, select, update } of columns) {
          for (const { row_id, id, sealed } of select.all()) {
            update.run(change(sealed, `${table}:${id}`), row_id)
            count += 1
          }
        }
        sealAll(db, rightsSeal(to), version)
        writeMasterKeyCheck(db, new_check)
        record(entry)
        return count
      }),
  }
}
