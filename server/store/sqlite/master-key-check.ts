import type Database from 'better-sqlite3'
import type { MasterKeyCheck } from '../../core/rows.ts'
import { type MasterKeyRow, masterKeyCheckOf } from '../master-key-row.ts'

/** `Store.masterKeyCheck`. */
export function readMasterKeyCheck(db: Database.Database): MasterKeyCheck | undefined {
  const row = db.prepare<[], MasterKeyRow>('SELECT sealed, wrapped_by, wrapped_key FROM vault_check').get()
  return row && masterKeyCheckOf(row)
}

export function writeMasterKeyCheck(db: Database.Database, { sealed, wrapped }: MasterKeyCheck): void {
  db.prepare(
    'INSERT OR REPLACE INTO vault_check (id, sealed, wrapped_by, wrapped_key) VALUES (1, $sealed, $by, $bytes)',
  ).run({ sealed, by: wrapped?.by ?? null, bytes: wrapped?.bytes ?? null })
}
