import type { MasterKeyCheck, RightsFault, RightsProof } from '../../core/rows.ts'
import { rightsSeal } from '../rights-seal.ts'
import { rightsTables } from '../rights-tables.ts'
import { StoreError } from '../store-errors.ts'
import type { Database } from './database.ts'
import { sealAll } from './rights-scan.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

/** The row of `vault_check`. */
export interface MasterKeyRow {
  sealed: Uint8Array
  wrapped_by: string | null
  wrapped_key: Uint8Array | null
}

export const masterKeyCheckOf = ({ sealed, wrapped_by, wrapped_key }: MasterKeyRow): MasterKeyCheck => ({
  sealed,
  wrapped: wrapped_by === null || wrapped_key === null ? null : { by: wrapped_by, bytes: wrapped_key },
})

const select = sql<MasterKeyRow>('SELECT sealed, wrapped_by, wrapped_key FROM vault_check')
const upsert = sql(`
  INSERT INTO vault_check (id, sealed, wrapped_by, wrapped_key) VALUES (1, $sealed, $by, $bytes)
  ON CONFLICT (id) DO UPDATE
  SET sealed = excluded.sealed, wrapped_by = excluded.wrapped_by, wrapped_key = excluded.wrapped_key`)

/** `Store.masterKeyCheck`. */
export async function readMasterKeyCheck(session: Session): Promise<MasterKeyCheck | undefined> {
  const row = await session.one(select)
  return row && masterKeyCheckOf(row)
}

export async function writeMasterKeyCheck(session: Session, { sealed, wrapped }: MasterKeyCheck): Promise<void> {
  await session.run(upsert, { sealed, by: wrapped?.by ?? null, bytes: wrapped?.bytes ?? null })
}

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
