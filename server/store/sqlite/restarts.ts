import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'
import { createEvents } from './events.ts'
import { createReservations } from './reservations.ts'

/** Accounts on a restarted chain. */
export function restarts(
  connection: Connection,
  dependencies: StoreDependencies,
): Pick<Store, 'forgetNonces' | 'restartAccount'> {
  const { db, write } = connection
  const writeEvent = createEvents(connection, dependencies).ofTransaction
  const reservations = createReservations(db)
  const holders = db.prepare<
    [number, string, number],
    { row_id: number; reserved: string | null; isUnfinished: 0 | 1 }
  >(`
    SELECT row_id, reserved, status IN ('pending', 'sent', 'submitted', 'mined') AS isUnfinished FROM transactions
    WHERE chain_id = +? AND "from" = +? AND nonce >= 0 ORDER BY nonce LIMIT +?`)
  // A block of the former chain is unrelated to the block of the same height on the new chain.
  const forget = db.prepare<[number]>(`
    UPDATE transactions SET nonce = NULL, block_number = NULL, block_hash = NULL, reserved = NULL, revision = revision + 1 WHERE row_id = ?`)
  // The reason of a withdrawal is kept before the new reason.
  const end = db.prepare<[string, string, string, number], Row>(`
    UPDATE transactions SET status = CASE intent WHEN 'cancel' THEN 'canceled' WHEN 'expire' THEN 'expired' ELSE 'failed' END,
      waiting_for = NULL, wait_text = NULL, status_reason = substr(iif(intent = 'send', '', coalesce(status_reason || '; ', '')) || ?, 1, 1000),
      error = ?, changed_at = ?
    WHERE row_id = ? RETURNING ${columns}`)
  const restart = db.prepare<[number, string, number, string]>(`
    INSERT INTO accounts (next_nonce, genesis_hash, chain_id, address) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET next_nonce = excluded.next_nonce, genesis_hash = excluded.genesis_hash,
      used_below = 0`)

  return {
    forgetNonces: async ({ chain_id, address }, reason, limit) =>
      write(() => {
        const rows = holders.all(chain_id, address, limit)
        for (const { row_id, reserved, isUnfinished } of rows) {
          forget.run(row_id)
          reservations.change({ chain_id, address }, reserved, null)
          if (isUnfinished === 1)
            writeEvent(
              read(
                end.get(
                  reason,
                  JSON.stringify({ code: 'chain_restarted', message: reason, revert_data: null }),
                  new Date(dependencies.now()).toISOString(),
                  row_id,
                ) as Row,
              ),
            )
        }
        return rows.length
      }),
    restartAccount: async ({ chain_id, address }, genesis_hash, next_nonce) =>
      write(() => {
        if (holders.get(chain_id, address, 1)) return false
        restart.run(next_nonce, genesis_hash, chain_id, address)
        return true
      }),
  }
}
