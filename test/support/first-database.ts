import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../server/config.ts'
import { connect } from '../../server/store/sqlite/connection.ts'
import { dataRoot } from './data-root.ts'

let migrated: Buffer | undefined

/**
 * Gives a service that was never started an empty database of the newest schema. The migrations are half of a first start, and
 * tests start hundreds of services; test/server.test.ts and the tests of the store run the migrations.
 */
export function placeDatabase({ data_dir, database, master_key, key_encryption_key }: Config): void {
  if (database.type !== 'sqlite') return
  migrated ??= migratedDatabase()
  writeFileSync(database.file, migrated, { mode: 0o600 })
  // The service makes a master key for a new database only.
  if (master_key ?? key_encryption_key) return
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')
  writeFileSync(join(data_dir, 'master-key'), `${key}\n`, { mode: 0o600 })
}

function migratedDatabase(): Buffer {
  const folder = mkdtempSync(join(dataRoot, 'relayer-migrated-'))
  const file = join(folder, 'relayer.sqlite')
  connect(file).close()
  const bytes = readFileSync(file)
  rmSync(folder, { recursive: true })
  return bytes
}
