import type { Intent } from '../../core/sending-rows.ts'
import type { Store } from '../store.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import { nextNonce, setNonce } from './accounts.ts'
import type { Database } from './database.ts'
import type { Events } from './events.ts'
import { changeReservations } from './reservations.ts'
import type { Spending } from './spending.ts'
import { sql } from './statement.ts'

/** The columns that a withdrawal depends on. */
type Candidate = Pick<Row, 'row_id' | 'id' | 'chain_id' | 'from' | 'status' | 'intent' | 'hash' | 'reserved'> & {
  nonce: number
  attempts: number
}

const highest = (unfinished: string) => `
  SELECT * FROM (
    SELECT row_id, id, chain_id, "from", nonce, status, intent, hash, reserved,
      (SELECT count(*) FROM attempts WHERE transaction_row_id = transactions.row_id) AS attempts
    FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${unfinished} AND nonce < $below_nonce
    ORDER BY nonce DESC LIMIT $limit) AS highest`
const candidates = sql<Candidate>(`
  SELECT * FROM (${highest(`status = 'pending'`)} UNION ALL ${highest(`status IN ('sent', 'submitted')`)}) AS unfinished
  ORDER BY nonce DESC LIMIT $limit`)
const end = sql<Row>(`
  UPDATE transactions SET nonce = NULL, status = $status, intent = $intent, status_reason = $reason, reserved = NULL,
    waiting_for = NULL, wait_text = NULL, changed_at = $changed_at, revision = revision + 1
  WHERE row_id = $row_id RETURNING ${columns}`)
const mark = sql(`
  UPDATE transactions SET intent = $intent, resign = 1, status_reason = $reason, waiting_for = NULL, wait_text = NULL,
    revision = revision + 1
  WHERE row_id = $row_id`)

const endOf: Record<Exclude<Intent, 'send'>, string> = { cancel: 'canceled', expire: 'expired', fail: 'failed' }

/** Withdraws many transactions in short database transactions, by the rules of `withdraw`. */
export function batchWithdrawal(
  { write }: Database,
  events: Pick<Events, 'ofTransactions'>,
  { giveBack }: Pick<Spending, 'giveBack'>,
  now: () => number,
): Pick<Store, 'withdrawBatch'> {
  return {
    withdrawBatch: (auditEntry, { relayer_row_id, below_nonce, limit, intent, reason }) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayer_row_id] })
        const batch = await transaction.all(candidates, { relayer_row_id, below_nonce, limit })
        const withdrawn: string[] = []
        const refused: string[] = []
        for (const row of batch) {
          const { row_id, id, chain_id, from, nonce, attempts } = row
          const account = { chain_id, address: from }
          if (row.intent !== 'send') {
            refused.push(id)
            continue
          }
          await transaction.attributed({ ...auditEntry, subject: id }, async () => {
            const neverSigned = row.status === 'pending' && row.hash === null
            if (neverSigned && attempts === 0) await giveBack(transaction, row)
            if (neverSigned && (await nextNonce(transaction, account)) === nonce + 1) {
              await setNonce(transaction, account, nonce)
              await changeReservations(transaction, [{ account, before: row.reserved, after: null }])
              const changed_at = new Date(now()).toISOString()
              const ended = await transaction.one(end, { row_id, intent, reason, status: endOf[intent], changed_at })
              await events.ofTransactions(transaction, [read(ended as Row)])
            } else await transaction.run(mark, { row_id, intent, reason })
          })
          withdrawn.push(id)
        }
        return { withdrawn, refused, next_below: batch.at(-1)?.nonce }
      }),
  }
}
