import { expect, test } from 'vitest'
import { startTestService } from '../support/service.ts'
import { columnOf, rowsOf, type Stored, zeroBytes } from '../support/service-database.ts'

const path = { relayer_id: 'demo' }
const pending = '/api/v1/relayers/{relayer_id}/transactions/pending'
const each = 1_000

/** Inserts `each` submitted transactions and `each` unsigned ones, instead of sending them one by one. */
async function plant(stored: Stored, address: string) {
  for (const statement of [
    `WITH RECURSIVE counted (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM counted WHERE value < ${2 * each - 1})
    INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, hash, "from", "to", value, data_bytes, nonce, status, created_at)
    SELECT 'local', 'test', 2, '2026-01-01T00:00:00.000Z', 'planted-' || value, 1, 'demo', value + 1, 31337, CASE WHEN value < ${each} THEN '0x' || substr('${'0'.repeat(64)}' || value, length('' || value) + 1) END, '${address}',
      '${address}', '0', 2048, value, CASE WHEN value < ${each} THEN 'submitted' ELSE 'pending' END,
      '2026-01-01T00:00:00.000Z'
    FROM counted`,
    `INSERT INTO transaction_data SELECT row_id, ${zeroBytes(2_048)} FROM transactions`,
    'UPDATE transactions SET data_row_id = row_id',
    `INSERT INTO accounts (chain_id, address, next_nonce) VALUES (31337, '${address}', ${2 * each})`,
  ]) {
    await rowsOf(stored, statement)
  }
}

test('leaves turns for other requests while it cancels thousands of transactions', async () => {
  const { client, data_dir } = await startTestService()
  const { data: demo } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  await plant({ data_dir }, demo.address)

  let answeredMeanwhile = 0
  let isDone = false
  const canceling = client.delete(pending, { path }).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await client.get('/api/v1/health')
    if (!isDone) answeredMeanwhile += 1
  }
  const { data } = await canceling
  expect(answeredMeanwhile).toBeGreaterThan(10)

  const ids = Array.from({ length: 2 * each }, (_, index) => `planted-${2 * each - 1 - index}`)
  expect(data).toEqual({
    queued_for_cancellation_transaction_ids: ids,
    failed_to_queue_transaction_ids: [],
    total_processed: 2 * each,
  })
  const one = async (query: string) => (await columnOf<number>({ data_dir }, query))[0]
  const count = (where: string) => one(`SELECT COUNT(*) FROM transactions WHERE ${where}`)
  expect(await count(`status = 'canceled' AND nonce IS NULL AND status_reason = 'Canceled by request'`)).toBe(each)
  expect(await count(`status = 'submitted' AND intent = 'cancel' AND resign = 1`)).toBe(each)
  expect(await one('SELECT next_nonce FROM accounts')).toBe(each)
  expect(await one(`SELECT COUNT(*) FROM events WHERE event = 'transaction_update'`)).toBe(each)
  // Each has an audit entry with its id; the entry of the request follows within 50 ms.
  const query = { operation: 'cancelPendingTransactions', per_page: 0 }
  const recorded = async () => (await client.get('/api/v1/audit', { query })).pagination.total_items
  await expect.poll(recorded).toBe(2 * each + 1)
})
