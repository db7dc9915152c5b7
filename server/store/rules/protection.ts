import type { MasterKeyCheck, RightsFault, RightsProof } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import { StoreError } from '../store-error.ts'
import type { Database } from './database.ts'
import { readMasterKeyCheck, writeMasterKeyCheck } from './master-key-check.ts'
import { sealAll } from './rights-scan.ts'
import { sql } from './statement.ts'

const anyRow = sql(
  rightsTables.map((table) => `SELECT * FROM (SELECT 1 FROM ${table} LIMIT 1) AS any_of_${table}`).join(' UNION ALL '),
)

/** `Store.protect`. The first proof is one database transaction, so that of two processes that start at once only one makes it. */
export async function protectRights(
  { writeAlone, rights }: Database,
  prove: (held: MasterKeyCheck | undefined) => RightsProof,
  report: (fault: RightsFault) => void,
): Promise<{ first_sealed: number }> {
  const { proof, first_sealed } = await writeAlone(async (transaction) => {
    const held = await readMasterKeyCheck(transaction)
    // Without its proof, a database in use would be taken for a new one, and its rows would be trusted.
    if (held === undefined && (await transaction.one(anyRow))) {
      throw new StoreError('The database has rows, but the proof of its master key (vault_check) is missing')
    }
    const proof = prove(held)
    if (proof.is_protected) return { proof, first_sealed: 0 }
    const first_sealed = await sealAll(transaction, rightsSeal(proof.guard), 0)
    await writeMasterKeyCheck(transaction, proof)
    return { proof, first_sealed }
  })
  await rights.protect(proof.guard, report)
  return { first_sealed }
}
