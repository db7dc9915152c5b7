import type Database from 'better-sqlite3'

/** The statements of an account's counter: the nonce that its next transaction gets. */
export function nonceCounter(db: Database.Database) {
  return {
    nextNonce: db
      .prepare<[number, string], number>('SELECT next_nonce FROM accounts WHERE chain_id = ? AND address = ?')
      .pluck(),
    setNonce: db.prepare<[number, string, number]>(`
      INSERT INTO accounts (chain_id, address, next_nonce) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET next_nonce = excluded.next_nonce`),
  }
}
