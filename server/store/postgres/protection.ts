import type { MasterKeyCheck, RightsFault, RightsProof } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import { StoreError } from '../store-error.ts'
import type { Connection } from './connection.ts'
import { readMasterKeyCheck, writeMasterKeyCheck } from './master-key-check.ts'
import { sealAll } from './rights-scan.ts'
import { sql } from './statement.ts'

const anyRow = sql(rightsTables.map((table) => `(SELECT 1 FROM ${table} LIMIT 1)`).join(' UNION ALL '))

/** `Store.protect`. */
export async function protectRights(
  { writeAlone, rights, generation }: Connection,
  prove: (held: MasterKeyCheck | undefined) => RightsProof,
  report: (fault: RightsFault) => void,
): Promise<{ first_sealed: number }> {
  let proof: RightsProof | undefined
  const first_sealed = await writeAlone(async (transaction) => {
    const held = await readMasterKeyCheck(transaction)
    // Without its proof, a database in use would be taken for a new one, and its rows would be trusted.
    if (held === undefined && (await transaction.one(anyRow))) {
      throw new StoreError('The database has rows, but the proof of its master key (vault_check) is missing')
    }
    proof = prove(held)
    if (proof.is_protected) return 0
    const count = await sealAll(transaction, rightsSeal(proof.guard), 0)
    await writeMasterKeyCheck(transaction, proof)
    return count
  })
  if (!proof) throw new Error('There is no proof of the master key')
  // A generation that was read once distinguishes those of other programs from those of this server.
  await generation()
  await rights.protect(proof.guard, report)
  return { first_sealed }
}
