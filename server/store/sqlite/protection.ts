import type { MasterKeyCheck, RightsFault, RightsProof } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import { StoreError } from '../store-error.ts'
import type { Connection } from './connection.ts'
import { readMasterKeyCheck, writeMasterKeyCheck } from './master-key-check.ts'
import { sealAll } from './rights-scan.ts'
import { ForeignSchema } from './rights-schema.ts'

/** `Store.protect`. It is one database transaction, so that of two processes that start at once only one does it. */
export function protectRights(
  { db, write, rights }: Connection,
  prove: (held: MasterKeyCheck | undefined) => RightsProof,
  report: (fault: RightsFault) => void,
): { first_sealed: number } {
  return write(() => {
    const held = readMasterKeyCheck(db)
    // Without its proof, a database in use would be taken for a new one, and its rows would be trusted.
    if (held === undefined && rightsTables.some((table) => db.prepare(`SELECT 1 FROM ${table}`).get())) {
      throw new StoreError('The database has rows, but the proof of its master key (vault_check) is missing')
    }
    const proof = prove(held)
    let first_sealed = 0
    if (!proof.is_protected) {
      first_sealed = sealAll(db, rightsSeal(proof.guard), 0)
      writeMasterKeyCheck(db, proof)
    }
    try {
      rights.protect(proof.guard, report)
    } catch (error) {
      throw error instanceof ForeignSchema ? new StoreError(error.message) : error
    }
    return { first_sealed }
  })
}
