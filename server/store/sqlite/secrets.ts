import type { AuditEntry } from '../rows.ts'
import type { Connection } from './connection.ts'

/** What is sealed, by table and column; a test holds the list to the schema. Each is bound to the name of its row. */
const sealedColumns = [
  ['signers', 'secret'],
  ['notifications', 'signing_key'],
  ['notifications', 'former_key'],
] as const

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
    /** Undefined in a database that no service has ever used. */
    proof: () => proof.get(),
    /** Seals all anew in one database transaction; how many. What `change` throws leaves everything as it was. */
    reseal: (
      change: (sealed: Uint8Array, row: string) => Uint8Array,
      new_proof: Uint8Array,
      entry: AuditEntry,
    ): number =>
      write(() => {
        let count = 0
        for (const { table, select, update } of columns) {
          for (const { key, id, sealed } of select.all()) {
            update.run(change(sealed, `${table}:${id}`), key)
            count += 1
          }
        }
        setProof.run(new_proof)
        record(entry)
        return count
      }),
  }
}
