import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'

const folder = join(import.meta.dirname, '..', '..', 'server', 'store', 'migrations')
const migrations = readdirSync(folder).sort()

test('keeps signers, their keys and the relayers that use them in the migration that allows other types', () => {
  const db = new Database(':memory:')
  db.pragma('foreign_keys = ON')
  const run = (name: string) => db.transaction(() => db.exec(readFileSync(join(folder, name), 'utf8')))()
  const at = migrations.findIndex((name) => readFileSync(join(folder, name), 'utf8').includes('DROP TABLE signers'))
  for (const name of migrations.slice(0, at)) run(name)
  const address = `0x${'12'.repeat(20)}`
  db.exec(`
    INSERT INTO networks (id, name, network_type, chain_id, rpc_urls, required_confirmations, is_testnet, explorer_urls, features, tags)
      VALUES ('evm:n', 'n', 'evm', 1, '[]', 1, 1, '[]', '[]', '[]');
    INSERT INTO signers (id, type, address, secret) VALUES ('a', 'local', '${address}', x'01'), ('b', 'local', '${address}', x'02');
    DELETE FROM signers WHERE id = 'b';
    INSERT INTO relayers (id, name, network, network_type, chain_id, address, paused, signer_id, policies, custom_rpc_urls,
      system_disabled) VALUES ('r', 'R', 'n', 'evm', 1, '${address}', 0, 'a', '{}', '[]', 0);`)
  const before = db.prepare('SELECT * FROM signers').all()
  run(migrations[at] as string)
  expect(db.prepare('SELECT * FROM signers').all()).toEqual(before)
  expect(db.pragma('foreign_key_check')).toEqual([])
  expect(() => db.exec(`DELETE FROM signers`)).toThrow(/FOREIGN KEY/)
  // AUTOINCREMENT: the key of a deleted signer is not given again.
  db.exec(`INSERT INTO signers (id, type, address, secret) VALUES ('c', 'aws_kms', '${address}', x'03')`)
  expect(db.prepare("SELECT key FROM signers WHERE id = 'c'").pluck().get()).toBe(3)
})
