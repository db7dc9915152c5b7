import type { SpeedUpRequest, Transaction } from '../../../generated/openapi.ts'
import { badRequest } from '../../domain/errors.ts'
import type { Ceiling } from '../../domain/fees.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
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
  if (fee !== undefined && tip !== undefined && tip > fee)
    throw badRequest(['max_priority_fee_per_gas'], `must be at most max_fee_per_gas (${fee})`)
  return { fee, tip }
}

const requestOf = (
  row: WholeTransactionRow,
  { speed = 'fastest', submission }: SpeedUpRequest,
): TransactionRequest => ({
  to: row.to,
  value: row.value,
  data: row.data,
  fragments: row.fragments,
  gas_limit: row.gas_is_given ? row.gas_limit : null,
  type: row.type,
  tier: speed,
  gas_price: null,
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
  // The stored ones stay.
  valid_until: undefined,
  reference: undefined,
  metadata: undefined,
  ordering_key: null,
  deduplication_id: null,
  submission,
  access_list: row.access_list,
  authorization_list: row.authorization_list,
})
