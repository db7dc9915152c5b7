import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { changeReservations } from './reservations.ts'
import { sql, type Truth } from './statement.ts'

const holders = sql<{ row_id: number; reserved: string | null; is_unfinished: Truth }>(`
  SELECT row_id, reserved, status IN ('pending', 'sent', 'submitted', 'mined') AS is_unfinished FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= 0 ORDER BY nonce LIMIT $limit`)
// A block of the former chain is unrelated to the block of the same height on the new chain.
const forget = sql(`
  UPDATE transactions SET nonce = NULL, block_number = NULL, block_hash = NULL, reserved = NULL, revision = revision + 1
  WHERE row_id = $row_id`)
// The reason of a withdrawal is kept before the new reason.
const end = sql<Row>(`
  UPDATE transactions SET status = CASE intent WHEN 'cancel' THEN 'canceled' WHEN 'expire' THEN 'expired' ELSE 'failed' END,
    waiting_for = NULL, wait_text = NULL, error = $error, changed_at = $changed_at,
    status_reason = substr(CASE WHEN intent = 'send' THEN '' ELSE coalesce(status_reason || '; ', '') END || $reason, 1, 1000)
  WHERE row_id = $row_id RETURNING ${columns}`)
const restart = sql(`
  INSERT INTO accounts (next_nonce, genesis_hash, chain_id, address)
  VALUES ($next_nonce, $genesis_hash, $chain_id, $address)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce,
    genesis_hash = excluded.genesis_hash, used_below = 0`)

/** Accounts on a restarted chain. */
export function restarts(
  { write }: Database,
  dependencies: StoreDependencies,
): Pick<Store, 'forgetNonces' | 'restartAccount'> {
  const events = createEvents(dependencies)
  return {
    forgetNonces: ({ chain_id, address }, reason, limit) =>
      write(async (transaction) => {
        const account = { chain_id, address }
        await transaction.lockRelayers({ accounts: [account] })
        const rows = await transaction.all(holders, { ...account, limit })
        const changed_at = new Date(dependencies.now()).toISOString()
        const error = JSON.stringify({ code: 'chain_restarted', message: reason, revert_data: null })
        for (const { row_id, reserved, is_unfinished } of rows) {
          await transaction.run(forget, { row_id })
          await changeReservations(transaction, [{ account, before: reserved, after: null }])
          if (!is_unfinished) continue
          const ended = await transaction.one(end, { row_id, reason, error, changed_at })
          await events.ofTransactions(transaction, [read(ended as Row)])
        }
        return rows.length
      }),
    restartAccount: ({ chain_id, address }, genesis_hash, next_nonce, auditEntry) =>
      write(async (transaction) => {
        const account = { chain_id, address }
        await transaction.lockRelayers({ accounts: [account] })
        if (await transaction.one(holders, { ...account, limit: 1 })) return false
        await transaction.run(restart, { ...account, next_nonce, genesis_hash })
        return true
      }, auditEntry),
  }
}
