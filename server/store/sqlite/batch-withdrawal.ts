import type { Store } from '../store.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'
import type { Events } from './events.ts'
import { nonceCounter } from './nonce-counter.ts'
import { createReservations } from './reservations.ts'

/** The columns that a withdrawal depends on. */
type Candidate = Pick<Row, 'row_id' | 'id' | 'chain_id' | 'from' | 'status' | 'intent' | 'hash' | 'reserved'> & {
  nonce: number
  attempts: number
}

const endOf = { cancel: 'canceled', expire: 'expired', fail: 'failed' } as const

/** Withdraws many transactions in short database transactions, by the rules of `withdraw`. `giveBack`: subtracts the spending of a row. */
export function batchWithdrawal(
  { db, write, attributed }: Connection,
  writeEvent: Events['ofTransaction'],
  giveBack: (row: Pick<Row, 'row_id' | 'chain_id' | 'from'>) => void,
  now: () => number,
): Pick<Store, 'withdrawBatch'> {
  const { nextNonce, setNonce } = nonceCounter(db)
  const reservations = createReservations(db)
  const candidates = [`status = 'pending'`, `status IN ('sent', 'submitted')`].map((unfinished) =>
    db.prepare<[number, number, number], Candidate>(`
      SELECT row_id, id, chain_id, "from", nonce, status, intent, hash, reserved,
        (SELECT COUNT(*) FROM attempts WHERE transaction_row_id = transactions.row_id) AS attempts
      FROM transactions WHERE relayer_row_id = +? AND ${unfinished} AND nonce < +? ORDER BY nonce DESC LIMIT +?`),
  )
  const end = db.prepare<[object], Row>(`
    UPDATE transactions SET nonce = NULL, status = $status, intent = $intent, status_reason = $reason, reserved = NULL,
      waiting_for = NULL, wait_text = NULL, changed_at = $changed_at, revision = revision + 1
    WHERE row_id = $row_id RETURNING ${columns}`)
  const mark = db.prepare<[object]>(`
    UPDATE transactions SET intent = $intent, resign = 1, status_reason = $reason, waiting_for = NULL, wait_text = NULL,
      revision = revision + 1
    WHERE row_id = $row_id`)

  function nextBatch(relayer_row_id: number, below_nonce: number, limit: number): Candidate[] {
    return candidates
      .flatMap((select) => select.all(relayer_row_id, below_nonce, limit))
      .sort((a, b) => b.nonce - a.nonce)
      .slice(0, limit)
  }

  return {
    withdrawBatch: async (auditEntry, { relayer_row_id, below_nonce, limit, intent, reason }) =>
      write(() => {
        const batch = nextBatch(relayer_row_id, below_nonce, limit)
        const withdrawn: string[] = []
        const refused: string[] = []
        for (const row of batch) {
          const { row_id, id, chain_id, from, nonce, attempts } = row
          if (row.intent !== 'send') {
            refused.push(id)
            continue
          }
          attributed({ ...auditEntry, subject: id }, () => {
            const neverSigned = row.status === 'pending' && row.hash === null
            if (neverSigned && attempts === 0) giveBack(row)
            if (neverSigned && nextNonce.get(chain_id, from) === nonce + 1) {
              setNonce.run(chain_id, from, nonce)
              reservations.change({ chain_id, address: from }, row.reserved, null)
              const changed_at = new Date(now()).toISOString()
              writeEvent(read(end.get({ row_id, intent, reason, status: endOf[intent], changed_at }) as Row))
            } else mark.run({ row_id, intent, reason })
          })
          withdrawn.push(id)
        }
        return { withdrawn, refused, next_below: batch.at(-1)?.nonce }
      }),
  }
}
