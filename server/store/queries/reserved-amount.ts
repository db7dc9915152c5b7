import { isUnmined } from '../../domain/statuses.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'

/** What a transaction may take from the balance of its account. */
export interface Taken extends Pick<TransactionRow, 'value' | 'gas_limit' | 'gas_price' | 'max_fee_per_gas'> {
  data_fee?: string | null
  coin_spent?: string | null
}

/** The sums of an account, in wei. */
export interface ReservationSums {
  /** The highest cost of its unfinished transactions. */
  reserved: string
  /** All amounts that ever left `reserved`. */
  released: string
}

/** The sums after the amount of one transaction has changed. */
export function sumsAfter(
  { reserved, released }: ReservationSums,
  before: string | null,
  after: string | null,
): ReservationSums {
  const added = BigInt(after ?? 0) - BigInt(before ?? 0)
  const sum = BigInt(reserved) + added
  const gone = added < 0n ? BigInt(released) - added : released
  // A wrong sum may refuse or accept one transaction too many, but must not stop accepted ones.
  return { reserved: `${sum > 0n ? sum : 0n}`, released: `${gone}` }
}

/** The most wei that a transaction can still cost; null once it is in a block or final. */
export const reservedOf = ({
  status,
  block_hash,
  ...row
}: Taken & Pick<TransactionRow, 'status' | 'block_hash'>): string | null =>
  isUnmined(status) && block_hash === null ? costOf(row) : null

/** The most wei that a transaction costs. */
export function costOf({ value, gas_limit, gas_price, max_fee_per_gas, data_fee, coin_spent }: Taken): string {
  const price = gas_price ?? max_fee_per_gas ?? '0'
  const fee = BigInt(gas_limit ?? 0) * BigInt(price) + BigInt(data_fee ?? 0)
  return (BigInt(value) + BigInt(coin_spent ?? 0) + fee).toString()
}
