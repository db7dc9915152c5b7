import type { OverLimit, Spend } from '../core/sending-rows.ts'

const bucket_ms = 300_000
/** A day has 288 complete time steps and the current one, so a sum reads at most 289 rows. */
const day_buckets = 288
const hour_buckets = 12

/** The amounts that were counted for a transaction, for whom (absent: its account), and in which time step. */
export interface Spent extends Pick<Spend, 'holder'> {
  asset: string
  amount: string
  bucket: number
}

/** The current time step. `now`: milliseconds since the Unix epoch. */
export const bucketAt = (now: number): number => Math.floor(now / bucket_ms)

export const startOfBucket = (bucket: number): number => bucket * bucket_ms

/** When the amounts of a time step leave the sums of a day, in milliseconds since the Unix epoch. */
export const endOfBucket = (bucket: number): number => (bucket + day_buckets + 1) * bucket_ms

/** The oldest time step that still counts for a limit per day, and for one per hour. */
export const oldestBucket = (bucket: number): number => bucket - day_buckets

export const oldestBucketOfHour = (bucket: number): number => bucket - hour_buckets

/** The asset under which filled nonce gaps are counted. */
export const gap_fill = 'gap_fill'

/** How many of `wanted` may be taken under a limit. `amounts`: those of all time steps that count. */
export const grantedOf = (wanted: number, limit: number, amounts: string[]): number =>
  Math.max(0, Math.min(wanted, limit - amounts.reduce((sum, taken) => sum + Number(taken), 0)))

export const readSpent = (spent: string | null | undefined): Spent[] => (spent == null ? [] : JSON.parse(spent))

const countedOf = (counted: Spent[], { asset, holder }: Spend): bigint =>
  counted.reduce(
    (sum, spent) => (spent.asset === asset && spent.holder === holder ? sum + BigInt(spent.amount) : sum),
    0n,
  )

/** The amounts beyond those that are already counted for the transaction. */
export const addedAmounts = (spending: Spend[], counted: Spent[]): { spend: Spend; amount: bigint }[] =>
  spending
    .map((spend) => ({ spend, amount: BigInt(spend.amount) - countedOf(counted, spend) }))
    .filter(({ amount }) => amount > 0n)

/** `amounts`: those of all time steps that count. Undefined: the amount is within the limit. */
export function overLimitOf(
  { spend, amount }: { spend: Spend; amount: bigint },
  amounts: string[],
): OverLimit | undefined {
  const { limit } = spend
  if (limit === undefined) return undefined
  const rest = BigInt(limit) - amounts.reduce((sum, spent) => sum + BigInt(spent), 0n)
  const left = rest > 0n ? rest : 0n
  return amount > left
    ? { outcome: 'over_limit', spend: { ...spend, limit, amount: `${amount}` }, left: `${left}` }
    : undefined
}

/** The sum of a time step after a change. */
export function sumOfBucket(before: string | undefined, amount: bigint): string {
  const sum = BigInt(before ?? 0) + amount
  return (sum > 0n ? sum : 0n).toString()
}

/** The column `spent`. */
export const writeSpent = (all: Spent[]): string | null => (all.length === 0 ? null : JSON.stringify(all))

export const bothSpent = (before: string | null | undefined, more: string | null): string | null =>
  more === null ? (before ?? null) : JSON.stringify([...JSON.parse(before ?? '[]'), ...JSON.parse(more)])

/**
 * The amounts of a transaction after it gets another nonce: the fee of the former nonce stays counted for the account, and the next
 * signature counts in full.
 */
export const withoutFees = (spent: string | null | undefined): string | null =>
  writeSpent(readSpent(spent).filter(({ asset }) => asset !== 'fee'))
