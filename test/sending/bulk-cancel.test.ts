import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { startTestService } from '../support/service.ts'

const path = { relayer_id: 'demo' }
const pending = '/api/v1/relayers/{relayer_id}/transactions/pending'
const each = 1_000

/** As many transactions at a node, and as many behind them that were never signed, without sending them one by one. */
function plant(file: string, address: string) {
  const db = new Database(file)
  const insert = db.prepare(`
    WITH RECURSIVE counted (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM counted WHERE value < 2 * $each - 1)
    INSERT INTO transactions (id, relayer_row_id, relayer_id, sequence, chain_id, hash, "from", "to", value, data_bytes, nonce, status, created_at)
    SELECT 'planted-' || value, 1, 'demo', value + 1, 31337, iif(value < $each, '0x' || printf('%064x', value), NULL), $address,
      $address, '0', 2048, value, iif(value < $each, 'submitted', 'pending'),
      '2026-01-01T00:00:00.000Z'
    FROM counted`)
  db.transaction(() => {
    insert.run({ each, address })
    db.exec('INSERT INTO transaction_data SELECT row_id, zeroblob(2048) FROM transactions')
    db.exec('UPDATE transactions SET data_row_id = row_id')
    db.prepare('INSERT INTO accounts (chain_id, address, next_nonce) VALUES (31337, ?, ?)').run(address, 2 * each)
  })()
  db.close()
}

test('canceling thousands of transactions leaves turns for other requests', async () => {
  const { client, data_dir } = await startTestService()
  const { data: demo } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  plant(join(data_dir, 'relayer.sqlite'), demo.address)

  let answered_meanwhile = 0
  let isDone = false
  const canceling = client.delete(pending, { path }).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await client.get('/api/v1/health')
    if (!isDone) answered_meanwhile += 1
  }
  const { data } = await canceling
  expect(answered_meanwhile).toBeGreaterThan(10)

  const ids = Array.from({ length: 2 * each }, (_, index) => `planted-${2 * each - 1 - index}`)
  expect(data).toEqual({
    queued_for_cancellation_transaction_ids: ids,
    failed_to_queue_transaction_ids: [],
    total_processed: 2 * each,
  })
  const db = new Database(join(data_dir, 'relayer.sqlite'), { readonly: true })
  const count = (where: string) => db.prepare(`SELECT COUNT(*) FROM transactions WHERE ${where}`).pluck().get()
  expect(count(`status = 'canceled' AND nonce IS NULL AND status_reason = 'Canceled by request'`)).toBe(each)
  expect(count(`status = 'submitted' AND intent = 'cancel' AND resign = 1`)).toBe(each)
  expect(db.prepare('SELECT next_nonce FROM accounts').pluck().get()).toBe(each)
  expect(db.prepare(`SELECT COUNT(*) FROM events WHERE event = 'transaction_update'`).pluck().get()).toBe(each)
  db.close()
  // Each is in the audit trail under its own id; the request's own entry follows within 50 ms.
  const query = { operation: 'cancelPendingTransactions', per_page: 0 }
  const recorded = async () => (await client.get('/api/v1/audit', { query })).pagination.total_items
  await expect.poll(recorded).toBe(2 * each + 1)
})
