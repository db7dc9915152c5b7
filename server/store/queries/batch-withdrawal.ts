import { neverSigned } from '../../domain/ending.ts'
import type { TransactionUpdate } from '../../domain/transaction-rows.ts'
import type { Store } from '../store.ts'
import { nextNonce, setNonce } from './accounts.ts'
import type { Spending } from './daily-limits.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'
import type { Row } from './transaction-rows.ts'
import type { MoveAll } from './update-transactions.ts'
import { done, withdrawn } from './withdrawal.ts'

/** The columns that a withdrawal depends on. */
type Candidate = Pick<Row, 'row_id' | 'id' | 'chain_id' | 'from' | 'status' | 'intent' | 'hash' | 'revision'> & {
  nonce: number
  attempts: number
}

const highest = (unfinished: string) => `
  SELECT * FROM (
    SELECT row_id, id, chain_id, "from", nonce, status, intent, hash, revision,
      (SELECT count(*) FROM attempts WHERE transaction_row_id = transactions.row_id) AS attempts
    FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${unfinished} AND nonce < $below_nonce
    ORDER BY nonce DESC LIMIT $limit) AS highest`
const candidates = sql<Candidate>(`
  SELECT * FROM (${highest(`status = 'pending'`)} UNION ALL ${highest(`status IN ('sent', 'submitted')`)}) AS unfinished
  ORDER BY nonce DESC LIMIT $limit`)

/** Withdraws many transactions in short database transactions, by the rules of `withdraw`. */
export function batchWithdrawal(
  { write }: Database,
  { giveBack }: Pick<Spending, 'giveBack'>,
  moveAll: MoveAll,
): Pick<Store, 'withdrawBatch'> {
  return {
    withdrawBatch: (auditEntry, { relayer_row_id, below_nonce, limit, intent, reason }) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayer_row_id] })
        const batch = await transaction.all(candidates, { relayer_row_id, below_nonce, limit })
        const open = batch.filter((row) => row.intent === 'send')
        const moves: TransactionUpdate[] = []
        await giveBack(
          transaction,
          open.filter((row) => neverSigned(row) && row.attempts === 0),
        )
        for (const row of open) {
          const { row_id, id, revision, chain_id, from, nonce } = row
          const account = { chain_id, address: from }
          const unsigned = neverSigned(row)
          const isHighest = unsigned && (await nextNonce(transaction, account)) === nonce + 1
          if (isHighest) await setNonce(transaction, account, nonce)
          const change = withdrawn({ intent, status_reason: reason, error: null }, isHighest ? unsigned : undefined)
          moves.push({ row_id, revision, ...change })
          transaction.record({ ...auditEntry, subject: id })
        }
        for (const row of await moveAll(transaction, moves)) done(row)
        return {
          withdrawn: open.map(({ id }) => id),
          refused: batch.filter((row) => row.intent !== 'send').map(({ id }) => id),
          next_below: batch.at(-1)?.nonce,
        }
      }),
  }
}
