import type { Payment, PaymentErrorCode, TransactionStatus } from '../../../generated/openapi.ts'
import { type NewPayment, reasons } from '../../domain/payments.ts'
import type { Listing, PageRequest } from '../../domain/rows.ts'
import { type Database, type DatabaseTransaction, insertInto, oneByOne, sql } from './database.ts'
import { writeEvents } from './events.ts'
import type { InsertedTransaction } from './insert-rules.ts'

/** A payment, which was accepted in one commit with its transaction. */
export interface PaymentRow extends Omit<NewPayment, 'facilitator_row_id'>, Omit<Payment, 'status' | 'hash' | 'error'> {
  row_id: number
  facilitator_row_id: number
  relayer_row_id: number
  /** It is `pending` until its outcome is proven; then it never changes. */
  status: Payment['status']
  /** What settled it. */
  hash: string | null
  error_reason: PaymentErrorCode | null
  /** The state of its transaction; null: that was removed, long after its end. */
  transaction_status: TransactionStatus | null
  transaction_hash: string | null
}

const paymentColumns = [
  ...['facilitator_row_id', 'facilitator_id', 'network', 'id', 'relayer_row_id', 'relayer_id', 'transaction_id'],
  ...['asset', 'payer', 'pay_to', 'amount', 'nonce', 'valid_before', 'created_at'],
]
const bigints = new Set(['facilitator_row_id', 'relayer_row_id'])
// The row of its transaction says how far it is: it may be reopened by a reorganization.
const selectPayment = `
  SELECT payments.row_id, ${paymentColumns.map((name) => `payments.${name}`).join(', ')}, payments.status, payments.hash, error_reason,
    transactions.status AS transaction_status, transactions.hash AS transaction_hash
  FROM payments LEFT JOIN transactions ON transactions.id = payments.transaction_id`
const selectOne = sql<PaymentRow>(
  `${selectPayment} WHERE facilitator_row_id = $facilitator_row_id AND payments.id = $id`,
)
const maxAtOnce = 100
const selectOpen = sql<PaymentRow>(`
  ${selectPayment} WHERE facilitator_row_id = $facilitator_row_id AND payments.status = 'pending' AND payments.row_id > $after
  ORDER BY payments.row_id LIMIT ${maxAtOnce}`)
const maxListed = 1_000
const selectNewest = sql<PaymentRow>(`
  ${selectPayment} WHERE facilitator_row_id = $facilitator_row_id ORDER BY payments.row_id DESC LIMIT $limit OFFSET $offset`)
const countNewest = sql<{ count: number }>(`
  SELECT COUNT(*) AS count
  FROM (SELECT 1 FROM payments WHERE facilitator_row_id = $facilitator_row_id LIMIT ${maxListed}) AS newest`)
const withOpen = sql<{ row_id: number }>(
  "SELECT DISTINCT facilitator_row_id AS row_id FROM payments WHERE status = 'pending'",
)
const insertPaymentRows = insertInto('payments', {
  ...Object.fromEntries(paymentColumns.map((name) => [name, bigints.has(name) ? 'bigint' : 'text'] as const)),
  status: 'text',
})
const end = sql<{ row_id: number }>(`
  UPDATE payments SET status = $status, hash = $hash, error_reason = $error_reason
  WHERE row_id = $row_id AND status = 'pending' RETURNING row_id`)

export const getPayment = (database: Database, facilitatorRowId: number, id: string): Promise<PaymentRow | undefined> =>
  database.read.one(selectOne, { facilitator_row_id: facilitatorRowId, id })

/** The last payments of a facilitator, newest first: so many that counting them costs little. */
export async function listPayments(
  database: Database,
  facilitatorRowId: number,
  { offset, limit }: PageRequest,
): Promise<Listing<PaymentRow>> {
  const its = { facilitator_row_id: facilitatorRowId }
  const { count = 0 } = (await database.read.one(countNewest, its)) ?? {}
  const left = Math.max(0, Math.min(limit, count - offset))
  const rows = left === 0 ? [] : await database.read.all(selectNewest, { ...its, offset, limit: left })
  return { items: rows, total_items: count }
}

/** The next payments after this row id whose outcome is not known. */
export const openPayments = (database: Database, facilitatorRowId: number, after: number): Promise<PaymentRow[]> =>
  database.read.all(selectOpen, { facilitator_row_id: facilitatorRowId, after })

/** The row ids of facilitators with payments whose outcome is not known. */
export const facilitatorsAtWork = async (database: Database): Promise<number[]> =>
  (await database.read.all(withOpen)).map(({ row_id }) => row_id)

/** Records the payments among accepted transactions. */
export async function insertPayments(
  dbTransaction: DatabaseTransaction,
  accepted: InsertedTransaction[],
): Promise<void> {
  const rows = accepted.flatMap(({ payment, row: { id, network, relayer_row_id, relayer_id, created_at } }) =>
    payment
      ? { ...payment, network, relayer_row_id, relayer_id, transaction_id: id, created_at, status: 'pending' }
      : [],
  )
  if (rows.length > 0) await dbTransaction.runOf(insertPaymentRows, rows)
}

type Outcome = { status: 'settled'; hash: string } | { status: 'failed'; error_reason: PaymentErrorCode }

const ends = oneByOne(
  ({ payment }: { payment: PaymentRow; outcome: Outcome }) => ({ relayers: [payment.relayer_row_id] }),
  async (dbTransaction, { payment, outcome }) => {
    const { row_id, relayer_row_id, facilitator_id } = payment
    const ended = { hash: null, error_reason: null, ...outcome }
    if (!(await dbTransaction.one(end, { row_id, ...ended }))) return
    const payload = { facilitator_id, payment: showPayment({ ...payment, ...ended }) }
    const event = outcome.status === 'settled' ? 'payment_settled' : 'payment_failed'
    await writeEvents(dbTransaction, [
      {
        ...{ relayer_row_id, event, subject: payment.transaction_id, data_row_id: null },
        payload: { payload_type: event, ...payload } as never,
      },
    ])
  },
)

/** The outcome of a payment, once, with its event. */
export const endPayment = (database: Database, payment: PaymentRow, outcome: Outcome): Promise<void> =>
  database.groupCommit(ends, { payment, outcome })

/** While its outcome is not known, the hash of its transaction, which may be mined. */
export function showPayment(row: PaymentRow): Payment {
  const { id, facilitator_id, network, status, payer, asset, amount, relayer_id, transaction_id } = row
  const { hash, created_at } = row
  const shown = status === 'settled' ? hash : row.transaction_hash
  return {
    ...{ id, facilitator_id, network, status, payer, asset, amount, relayer_id, transaction_id },
    ...{ hash: shown, error: errorOf(row), created_at },
  }
}

const messages: Record<PaymentErrorCode, string> = {
  [reasons.expired]: 'The authorization has expired',
  [reasons.nonceUsed]: 'The authorization was used or canceled',
  [reasons.failed]: 'The transaction failed',
}

const errorOf = ({ error_reason: code }: PaymentRow): Payment['error'] => code && { code, message: messages[code] }
