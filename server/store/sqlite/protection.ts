import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import type { RightsFault, RightsProof } from '../rows.ts'
import { StoreError } from '../store-error.ts'
import type { Connection } from './connection.ts'
import { sealAll } from './rights-scan.ts'
import { ForeignSchema } from './rights-schema.ts'

/** `Store.protect`. It is one database transaction, so that of two processes that start at once only one does it. */
export function protectRights(
  { db, write, rights }: Connection,
  prove: (sealed: Uint8Array | undefined) => RightsProof,
  report: (fault: RightsFault) => void,
): { first_sealed: number } {
  return write(() => {
    const sealed = db.prepare<[], Uint8Array>('SELECT sealed FROM vault_check').pluck().get()
    // Without its proof, a database in use would be taken for a new one, and its rows would be trusted.
    if (sealed === undefined && rightsTables.some((table) => db.prepare(`SELECT 1 FROM ${table}`).get())) {
      throw new StoreError('The database has rows, but the proof of its master key (vault_check) is missing')
    }
    const proof = prove(sealed)
    let first_sealed = 0
    if (!proof.is_protected) {
      first_sealed = sealAll(db, rightsSeal(proof.guard), 0)
      db.prepare('INSERT OR REPLACE INTO vault_check (id, sealed) VALUES (1, ?)').run(proof.sealed)
    }
    try {
      rights.protect(proof.guard, report)
    } catch (error) {
      throw error instanceof ForeignSchema ? new StoreError(error.message) : error
    }
    return { first_sealed }
  })
}
