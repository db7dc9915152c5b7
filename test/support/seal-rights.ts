import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createVault } from '../../server/secrets/vault.ts'
import { rightsSeal } from '../../server/store/rights-seal.ts'
import { readManifest, sealAll } from '../../server/store/sqlite/rights-scan.ts'

/** Writes the MACs of rows that a test inserted directly. The service may be running. `master_key`: in hex, as in the setting. */
export function sealRights(data_dir: string, master_key: string): void {
  const db = new Database(join(data_dir, 'relayer.sqlite'), { timeout: 60_000 })
  const seal = rightsSeal(createVault(Buffer.from(master_key, 'hex')))
  try {
    db.transaction(() => sealAll(db, seal, readManifest(db, seal)?.version ?? 0)).immediate()
  } finally {
    db.close()
  }
}
