import type Database from 'better-sqlite3'
import type { AuditEntry, RightsFault, RightsGuard } from '../rows.ts'
import type { Connection } from './connection.ts'
import { readManifest, scanNow, sealAll } from './rights-scan.ts'
import { rightsSeal } from './rights-seal.ts'
import { rightsTables } from './rights-tables.ts'

/** What is sealed, by table and column; a test holds the list to the schema. Each is bound to the name of its row. */
const sealedColumns = [
  ['signers', 'secret'],
  ['notifications', 'signing_key'],
  ['notifications', 'former_key'],
] as const

/** Rows that grant rights are not as the service wrote them. */
export class UntrustedRows extends Error {
  readonly faults: RightsFault[]

  constructor(faults: RightsFault[]) {
    super('Rows that grant rights are not as the service wrote them')
    this.faults = faults
  }
}

/** The last version given to a row that grants rights. Throws UntrustedRows: a new MAC would make any row the service's own. */
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

/** Everything that is sealed, for the change of the master key. */
export function secrets({ db, write, record }: Connection) {
  const proof = db.prepare<[], Uint8Array>('SELECT sealed FROM vault_check').pluck()
  const setProof = db.prepare<[Uint8Array]>('UPDATE vault_check SET sealed = ?')
  const columns = sealedColumns.map(([table, column]) => ({
    table,
    select: db.prepare<[], { key: number; id: string; sealed: Uint8Array }>(
      `SELECT key, id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    ),
    update: db.prepare<[Uint8Array, number]>(`UPDATE ${table} SET ${column} = ? WHERE key = ?`),
  }))

  return {
    /** Every fault of the rows that grant rights. */
    faults: (guard: RightsGuard): RightsFault[] =>
      db.transaction(() => scanNow(db, rightsSeal(guard), undefined).faults)(),
    /** Takes the rows that grant rights as they are; how many. */
    acceptRights: (guard: RightsGuard, entry: AuditEntry): number =>
      write(() => {
        const seal = rightsSeal(guard)
        record(entry)
        // Above every version that was ever given, also where the manifest is lost.
        return sealAll(db, seal, Math.max(readManifest(db, seal)?.version ?? 0, highestVersion(db)))
      }),
    /** Undefined in a database that no service has ever used. */
    proof: () => proof.get(),
    /** Seals all anew in one database transaction; how many. What `change` throws leaves everything as it was. */
    reseal: (
      change: (sealed: Uint8Array, row: string) => Uint8Array,
      new_proof: Uint8Array,
      { from, to }: { from: RightsGuard | undefined; to: RightsGuard },
      entry: AuditEntry,
    ): number =>
      write(() => {
        const version = from ? checkedVersion(db, from) : 0
        let count = 0
        for (const { table, select, update } of columns) {
          for (const { key, id, sealed } of select.all()) {
            update.run(change(sealed, `${table}:${id}`), key)
            count += 1
          }
        }
        sealAll(db, rightsSeal(to), version)
        setProof.run(new_proof)
        record(entry)
        return count
      }),
  }
}
