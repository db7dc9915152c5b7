import type { TransactionStatus } from '../../../generated/openapi.ts'
import type { TransactionRow } from '../../core/sending-rows.ts'
import { crowdedBy } from '../room.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { hexOf } from '../transaction-data.ts'
import { bytesOf, columns, type Row, read, type WholeRow, wholeColumns } from '../transaction-rows.ts'
import { attempts } from './attempts.ts'
import { batchWithdrawal } from './batch-withdrawal.ts'
import type { Connection } from './connection.ts'
import { createEvents } from './events.ts'
import { createMove, moves } from './moves.ts'
import { nonceCounter } from './nonce-counter.ts'
import { createUnfinished } from './room.ts'
import { transactionSpending } from './transaction-spending.ts'

type Transactions = Pick<
  Store,
  'attempts' | 'listAttempts' | 'rawOf' | 'move' | 'replaceTransaction' | 'renumber' | 'withdraw' | 'withdrawBatch'
>

/** Changes of transactions after their acceptance. */
export function transactions(connection: Connection, dependencies: StoreDependencies): Transactions {
  const { db, write } = connection
  const events = createEvents(connection, dependencies)
  const spendings = transactionSpending(connection, dependencies.now)
  const move = createMove(connection, events, spendings, dependencies.now)
  const unfinishedOf = createUnfinished(connection)

  const { nextNonce, setNonce } = nonceCounter(db)
  const byRowId = db.prepare<[number], Row>(`SELECT ${columns} FROM transactions WHERE row_id = ?`)
  const byId = db.prepare<[string, number], WholeRow>(
    `SELECT ${wholeColumns} FROM transactions WHERE id = ? AND relayer_row_id = ?`,
  )
  const isSigned = db.prepare<[number]>('SELECT 1 FROM attempts WHERE transaction_row_id = ?')

  return {
    ...attempts(connection),
    ...moves(connection, move),
    renumber: async (row_id, revision, reason, spending) =>
      write(() => {
        const row = byRowId.get(row_id) as Row
        if (row.revision !== revision) return undefined
        const { chain_id, from } = row
        const over = spendings.takeAgain(row, spending, isSigned.get(row_id) !== undefined)
        if (over) {
          const { policy, limit } = over.spend
          const status_reason = `${reason}; not sent again: the policy ${policy} (${limit} a day) has ${over.left} left`
          const error = { code: 'policy_violation', message: status_reason, revert_data: null }
          move({ row_id, revision, set: { status: 'failed', status_reason, error } })
          return over
        }
        const nonce = nextNonce.get(chain_id, from) as number
        setNonce.run(chain_id, from, nonce + 1)
        return move({
          row_id,
          revision,
          set: {
            nonce,
            status: 'pending',
            status_reason: `${reason}; it has a new nonce`,
            hash: null,
            signature: null,
          },
        })
      }),
    replaceTransaction: async (wanted, spending, room) =>
      write(() => {
        const row = byRowId.get(wanted.row_id)
        if (row?.revision !== wanted.revision) return undefined
        const bytes = bytesOf(wanted.set.data ?? null) - row.data_bytes
        const crowded = crowdedBy(unfinishedOf(row.relayer_row_id), { count: 0, bytes }, room)
        return crowded ?? spendings.takeMore(row, spending) ?? move(wanted)
      }),
    withdraw: async (relayer_row_id, id, intent, status_reason, failure) =>
      write(() => {
        const row = byId.get(id, relayer_row_id)
        if (!row) return 'missing'
        const { row_id, revision, chain_id, from, nonce, status, hash } = row
        const data = hexOf(row.data)
        if (!withdrawable.has(status) || row.intent !== 'send') return { refused: withoutData(row) }
        const neverSigned = status === 'pending' && hash === null
        // A concurrent signature fails its compare-and-set. A transaction that had another nonce before was signed for that one.
        if (neverSigned && !isSigned.get(row_id)) spendings.giveBack(row)
        if (neverSigned && nonce !== null && nextNonce.get(chain_id, from) === nonce + 1) {
          setNonce.run(chain_id, from, nonce)
          return {
            ...done(
              move({
                row_id,
                revision,
                set: { nonce: null, status: endOf[intent], intent, status_reason, error: failure ?? null },
              }),
            ),
            data,
          }
        }
        return {
          ...done(move({ row_id, revision, set: { intent, resign: true, status_reason, error: failure ?? null } })),
          data,
        }
      }),
    ...batchWithdrawal(connection, events.ofTransaction, spendings.giveBack, dependencies.now),
  }
}

const withdrawable: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])
const endOf = { cancel: 'canceled', expire: 'expired', fail: 'failed' } as const

const withoutData = ({ data: _, ...row }: WholeRow): TransactionRow => read(row)

/** A move inside the database transaction that read the row cannot come too late. */
function done(moved: TransactionRow | undefined): TransactionRow {
  if (!moved) throw new Error('A row changed inside a database transaction')
  return moved
}
