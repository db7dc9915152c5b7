import type { SpeedUpRequest, Transaction } from '../../../generated/openapi.ts'
import type { Ceiling } from '../../domain/fees.ts'
import { checkPriorityFee, contentOfRow, type TransactionRequest } from '../../domain/transaction-request.ts'
import type { WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { readAmount } from '../../domain/values.ts'
import type { ServicesContext } from '../context.ts'
import { changeTransaction } from './replace.ts'
import { type Asker, hashOf, type TransactionsContext } from './send.ts'

/** Signs the same content again at a higher price. The content is that of the row which the price is written to. */
export function speedUp(
  context: TransactionsContext & Pick<ServicesContext, 'pollNow'>,
  asker: Asker,
  relayerId: string,
  { transactionId, body }: { transactionId: string; body: SpeedUpRequest },
): Promise<Transaction> {
  const ceiling = readCeiling(body)
  const { idempotency } = asker
  return changeTransaction(context, asker, relayerId, {
    transactionId,
    requestOf: (row) => requestOf(row, body),
    ceiling,
    once: idempotency && { ...idempotency, body_hash: hashOf({ ...body, speed_up: transactionId }) },
  })
}

/** Throws DomainError (400). */
function readCeiling({ max_fee_per_gas, max_priority_fee_per_gas }: SpeedUpRequest): Ceiling {
  const read = (amount: SpeedUpRequest['max_fee_per_gas'], name: string) =>
    amount === undefined ? undefined : BigInt(readAmount(amount, [name]))
  const fee = read(max_fee_per_gas, 'max_fee_per_gas')
  const tip = read(max_priority_fee_per_gas, 'max_priority_fee_per_gas')
  if (fee !== undefined && tip !== undefined) checkPriorityFee(fee, tip)
  return { fee, tip }
}

const requestOf = (
  row: WholeTransactionRow,
  { speed = 'fastest', submission }: SpeedUpRequest,
): TransactionRequest => ({
  ...contentOfRow(row),
  type: row.type,
  tier: speed,
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  // The stored ones stay.
  valid_until: undefined,
  reference: undefined,
  metadata: undefined,
  deduplication_id: null,
  submission,
})
