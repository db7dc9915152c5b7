import type { MasterKeyCheck } from '../../core/rows.ts'
import { type MasterKeyRow, masterKeyCheckOf } from '../master-key-row.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

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
