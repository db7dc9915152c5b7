import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Vault } from '../../server/keys/secret-encryption.ts'
import { readManifest, sealAll } from '../../server/store/queries/sealed-rows.ts'
import { RowMac } from '../../server/store/row-mac.ts'
import { createSession } from '../../server/store/sqlite/session.ts'

/** Writes the MACs of rows that a test inserted directly. The service may be running. `master_key`: in hex, as in the setting. */
export async function sealRights(dataDir: string, masterKey: string): Promise<void> {
  const db = new Database(join(dataDir, 'relayer.sqlite'), { timeout: 60_000 })
  const seal = new RowMac(new Vault(Buffer.from(masterKey, 'hex')))
  try {
    const session = createSession(db)
    db.exec('BEGIN IMMEDIATE')
    const sealed = (await session.one(readManifest))?.sealed
    await sealAll(session, seal, seal.openManifest(sealed)?.version ?? 0)
    db.exec('COMMIT')
  } finally {
    db.close()
  }
}
