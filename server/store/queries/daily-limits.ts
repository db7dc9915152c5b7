import { budgetChain, isOfKey } from '../../domain/policies/budgets.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import { unfinishedStatuses } from '../../domain/statuses.ts'
import type { Account, OverLimit, Spend } from '../../domain/transaction-rows.ts'
import { type Database, type DatabaseTransaction, oneByOne, type Session, selectForEach, sql } from './database.ts'
import { knownPayment, type SignedPayment, writePayment } from './signed-payments.ts'
import { type StoredTransaction, statusIn } from './transaction-rows.ts'

const bucketMs = 300_000
/** A day has 288 complete time steps and the current one, so a sum reads at most 289 rows. */
const dayBuckets = 288
const hourBuckets = 12

/** The amounts that were counted for a transaction, for whom (absent: its account), and in which time step. */
interface Spent extends Pick<Spend, 'holder'> {
  asset: string
  amount: string
  bucket: number
}

/** The current time step. `now`: milliseconds since the Unix epoch. */
export const bucketAt = (now: number): number => Math.floor(now / bucketMs)

const startOfBucket = (bucket: number): number => bucket * bucketMs

const bucketsIn = (window: Spend['window']): number => (window === 'hour' ? hourBuckets : dayBuckets)

/** When the amounts of a time step leave the sums of a day, or of an hour, in milliseconds since the Unix epoch. */
export const endOfBucket = (bucket: number, window?: Spend['window']): number =>
  (bucket + bucketsIn(window) + 1) * bucketMs

/** The oldest time step that still counts for a limit per day, and for one per hour. */
export const oldestBucket = (bucket: number, window?: Spend['window']): number => bucket - bucketsIn(window)

/** The asset under which filled nonce gaps are counted. */
const gapFill = 'gap_fill'

const readSpent = (spent: string | null | undefined): Spent[] => (spent == null ? [] : JSON.parse(spent))

const countedOf = (counted: Spent[], { asset, holder }: Spend): bigint =>
  counted.reduce(
    (sum, spent) => (spent.asset === asset && spent.holder === holder ? sum + BigInt(spent.amount) : sum),
    0n,
  )

/** The amounts beyond those that are already counted for the transaction. */
const addedAmounts = (spending: Spend[], counted: Spent[]): { spend: Spend; amount: bigint }[] =>
  spending
    .map((spend) => ({ spend, amount: BigInt(spend.amount) - countedOf(counted, spend) }))
    .filter(({ amount }) => amount > 0n)

/**
 * `all`: the amounts of the time steps of a day; `open`: what counts in none; `bucket`: the current one. Undefined: the amount is within
 * the limit.
 */
function overLimitOf(
  { spend, amount }: { spend: Spend; amount: bigint },
  all: ReadonlyMap<number, string>,
  { open, bucket }: { open: bigint; bucket: number },
): OverLimit | undefined {
  const { limit, window } = spend
  if (limit === undefined) return undefined
  const buckets = window === undefined ? all : since(all, oldestBucket(bucket, window))
  const rest = BigInt(limit) - [...buckets.values()].reduce((sum, spent) => sum + BigInt(spent), open)
  const left = rest > 0n ? rest : 0n
  if (amount <= left) return undefined
  const its = { ...spend, limit, amount: `${amount}` }
  return { outcome: 'over_limit', spend: its, left: `${left}`, resets_at: resetOf(buckets, amount - rest, window) }
}

const since = (buckets: ReadonlyMap<number, string>, oldest: number): Map<number, string> =>
  new Map([...buckets].filter(([bucket]) => bucket >= oldest))

/** When time steps with so much in them have left the sum. */
function resetOf(buckets: ReadonlyMap<number, string>, wanted: bigint, window: Spend['window']): string | undefined {
  let freed = 0n
  for (const [bucket, amount] of [...buckets].sort(([a], [b]) => a - b)) {
    freed += BigInt(amount)
    if (freed >= wanted) return new Date(endOfBucket(bucket, window)).toISOString()
  }
  return undefined
}

/** The sum of a time step after a change. */
function sumOfBucket(before: string | undefined, amount: bigint): string {
  const sum = BigInt(before ?? 0) + amount
  return (sum > 0n ? sum : 0n).toString()
}

/** The column `spent`. */
const writeSpent = (all: Spent[]): string | null => (all.length === 0 ? null : JSON.stringify(all))

const bothSpent = (before: string | null | undefined, more: string | null): string | null =>
  more === null ? (before ?? null) : JSON.stringify([...JSON.parse(before ?? '[]'), ...JSON.parse(more)])

/**
 * The amounts of a transaction after it gets another nonce: the fee of the former nonce stays counted for the account, and the next
 * signature counts in full.
 */
const withoutFees = (spent: string | null | undefined): string | null =>
  writeSpent(readSpent(spent).filter(({ asset }) => asset !== 'fee'))

interface Place extends Account {
  asset: string
}

interface Bucket extends Place {
  bucket: number
  amount: string
}

const placeTypes = { chain_id: 'bigint', address: 'text', asset: 'text' } as const
const selectBuckets = selectForEach<Bucket>(
  placeTypes,
  (place) => `
  SELECT chain_id, address, asset, bucket, amount FROM spending
  WHERE chain_id = ${place}chain_id AND address = ${place}address AND asset = ${place}asset AND bucket >= $oldest`,
)
const addToBuckets = sql(
  (engine) => `
  INSERT INTO spending (chain_id, address, asset, bucket, amount)
  ${
    engine === 'sqlite'
      ? 'VALUES ($chain_id, $address, $asset, $bucket, $amount)'
      : `SELECT chain_id, address, asset, bucket, added FROM json_to_recordset($rows::json)
         AS changed (chain_id bigint, address text, asset text, bucket bigint, added text)`
  }
  ON CONFLICT (chain_id, address, asset, bucket) DO UPDATE SET amount = ${
    // What is given back to a pool or a sponsorship is so under the locks of the transaction's relayer alone.
    engine === 'sqlite' ? 'excluded.amount' : '(spending.amount::numeric + excluded.amount::numeric)::text'
  }`,
)
const amountAt = sql<{ amount: string }>(`
  SELECT amount FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket = $bucket`)
const subtract = sql({
  sqlite: `
    UPDATE spending SET amount = $amount
    WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket = $bucket`,
  postgres: `
    UPDATE spending SET amount = greatest(amount::numeric + $added::text::numeric, 0)::text
    WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket = $bucket`,
})
const prune = sql(`
  DELETE FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket < $oldest`)

const selectOpenCharges = selectForEach<Place & { charge: string; calls: number }>(
  placeTypes,
  (place, engine) => `
  SELECT ${engine === 'sqlite' ? 'sponsored' : 'sponsored::json'} ->> 'charge' AS charge, count(*) AS calls FROM transactions
  WHERE chain_id = ${place}chain_id AND sponsored IS NOT NULL AND ${statusIn(unfinishedStatuses)} AND created_at < $before
    AND ${engine === 'sqlite' ? `sponsored ->> 'bucket'` : `(sponsored::json ->> 'bucket')::bigint`} < $oldest
    AND ${
      engine === 'sqlite'
        ? `EXISTS (SELECT 1 FROM json_each(sponsored, '$.holders') WHERE value = ${place}address)`
        : `jsonb_exists(sponsored::jsonb -> 'holders', ${place}address)`
    }
  GROUP BY 1`,
  { shown: ['chain_id', 'address', 'asset'] },
)

/**
 * What calls of sponsorships that are older than the window can still cost, by `nameOf`: an open call counts however old it is. Read before
 * the amounts of the window: a call that ends in between counts twice, not never.
 */
export async function openCharges(session: Session, places: Place[], oldest: number): Promise<Map<string, bigint>> {
  const sums = new Map<string, bigint>()
  const sponsored = places.filter(({ address, asset }) => asset === 'fee' && isOfSponsorship(address))
  if (sponsored.length === 0) return sums
  const before = new Date(startOfBucket(oldest)).toISOString()
  for (const { charge, calls, ...place } of await session.allOf(selectOpenCharges, sponsored, { before, oldest })) {
    const name = nameOf(place)
    sums.set(name, (sums.get(name) ?? 0n) + BigInt(charge) * BigInt(calls))
  }
  return sums
}

/** The sponsored transaction's own column says what it counts (sponsorships.ts). */
const isOfSponsorship = (holder: string | undefined): boolean =>
  holder?.startsWith('sponsorship') === true || holder?.startsWith('facilitator') === true

const placeOf = ({ chain_id, address }: Account, { asset, holder }: Pick<Spend, 'asset' | 'holder'>): Place => ({
  chain_id: isOfKey(holder) ? budgetChain : chain_id,
  address: holder ?? address,
  asset,
})

/** API keys whose amounts are counted, whatever relayer counts them: no other database transaction counts them until the commit. */
export const keysIn = (spending: Spend[] | undefined): string[] => [
  ...new Set(spending?.flatMap(({ holder = '' }) => (isOfKey(holder) ? holder : []))),
]

const nameOf = ({ chain_id, address, asset }: Place) => `${chain_id} ${address} ${asset}`

/** The amounts that daily limits count, for several transactions that are accepted together. */
export class DailyLimits {
  /** The time step in which it counts. */
  readonly bucket: number
  readonly #oldest: number
  /** By `nameOf`: the amounts of the time steps of a day, and what counts in none. */
  readonly #amounts: ReadonlyMap<string, Map<number, string>>
  readonly #open: ReadonlyMap<string, bigint>
  readonly #changed = new Map<string, Place & { added: bigint }>()

  constructor(bucket: number, amounts: ReadonlyMap<string, Map<number, string>>, open: ReadonlyMap<string, bigint>) {
    this.bucket = bucket
    this.#oldest = oldestBucket(bucket)
    this.#amounts = amounts
    this.#open = open
  }

  /**
   * Counts all amounts, or none when a limit is exceeded. Amounts in future time steps count too: they were spent before the clock was set
   * back. `counted`: the amounts that are already counted for the transaction.
   */
  spend(account: Account, spending: Spend[], counted: Spent[] = []): { spent: string | null } | OverLimit {
    const { bucket } = this
    const added = addedAmounts(spending, counted).map((one) => {
      const place = placeOf(account, one.spend)
      const name = nameOf(place)
      const its = this.#amounts.get(name) ?? new Map<number, string>()
      return { ...one, place, its, open: this.#open.get(name) ?? 0n }
    })
    for (const { its, open, ...one } of added) {
      const over = overLimitOf(one, its, { open, bucket })
      if (over) return over
    }
    const taken: Spent[] = added.flatMap(({ spend, place, its, amount }) => {
      its.set(bucket, sumOfBucket(its.get(bucket), amount))
      const before = this.#changed.get(nameOf(place))?.added ?? 0n
      this.#changed.set(nameOf(place), { ...place, added: before + amount })
      const { asset, holder } = spend
      return isOfSponsorship(holder) ? [] : [{ asset, amount: `${amount}`, bucket, ...(holder && { holder }) }]
    })
    return { spent: writeSpent([...counted, ...taken]) }
  }

  async write(session: Session): Promise<void> {
    if (this.#changed.size === 0) return
    const { bucket } = this
    const oldest = this.#oldest
    // In one order, so that two database transactions that count the same limits never wait for each other.
    const rows = [...this.#changed]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { added, ...place }]) => ({
        ...{ ...place, bucket, added: `${added}` },
        amount: this.#amounts.get(name)?.get(bucket),
      }))
    await Promise.all([
      ...rows.map(({ chain_id, address, asset }) => session.run(prune, { chain_id, address, asset, oldest })),
      session.runOf(addToBuckets, rows),
    ])
  }
}

/** Reads the amounts of all limits. The caller holds the locks of the accounts' relayers. `now`: milliseconds since the Unix epoch. */
export async function readDailyLimits(
  session: Session,
  wanted: { account: Account; spending: Spend[] }[],
  now: number,
): Promise<DailyLimits> {
  const bucket = bucketAt(now)
  const oldest = oldestBucket(bucket)
  const places = new Map<string, Place>()
  for (const { account, spending } of wanted) {
    for (const spend of spending) {
      const place = placeOf(account, spend)
      places.set(nameOf(place), place)
    }
  }
  const amounts = new Map<string, Map<number, string>>([...places.keys()].map((name) => [name, new Map()]))
  if (places.size === 0) return new DailyLimits(bucket, amounts, new Map())
  const [open, counted] = await Promise.all([
    openCharges(session, [...places.values()], oldest),
    session.allOf(selectBuckets, [...places.values()], { oldest }),
  ])
  for (const row of counted) amounts.get(nameOf(row))?.set(row.bucket, row.amount)
  return new DailyLimits(bucket, amounts, open)
}

/** A change of what a limit counted in a time step. */
export interface Correction extends Place {
  bucket: number
  change: bigint
}

/** What takes back the amounts that were counted for a transaction. */
const takenBack = (account: Account, spent: string | null | undefined): Correction[] =>
  readSpent(spent).map(({ amount, bucket, ...spend }) => ({
    ...placeOf(account, spend),
    bucket,
    change: -BigInt(amount),
  }))

/** Corrects what limits counted before. */
export async function correctSpending(session: Session, corrections: Correction[]): Promise<void> {
  const sums = new Map<string, Correction>()
  for (const one of corrections) {
    const name = `${nameOf(one)} ${one.bucket}`
    sums.set(name, { ...one, change: one.change + (sums.get(name)?.change ?? 0n) })
  }
  // In the order of an acceptance.
  for (const [, { change, ...place }] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (change === 0n) continue
    const known = (await session.one(amountAt, place))?.amount
    const row = { ...place, added: `${change}`, amount: sumOfBucket(known, change) }
    if (change > 0n) await session.runOf(addToBuckets, [row])
    else if (known !== undefined) await session.run(subtract, row)
  }
}

type Spender = Pick<StoredTransaction, 'row_id' | 'chain_id' | 'from'>

const amounts = sql<{ amount: string }>(`
  SELECT amount FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket >= $oldest`)
const selectSpent = sql<{ spent: string | null }>('SELECT spent FROM transactions WHERE row_id = $row_id')
const setSpent = sql('UPDATE transactions SET spent = $spent WHERE row_id = $row_id')

const spentOf = async (session: Session, rowId: number) => (await session.one(selectSpent, { row_id: rowId }))?.spent

/**
 * Counts all amounts, or none when a limit is exceeded. `before`: the amounts that are already counted for the transaction. The caller
 * holds the lock of the account's relayer.
 */
async function takeSpending(
  dbTransaction: DatabaseTransaction,
  account: Account,
  spending: Spend[],
  before?: string | null,
) {
  const limits = await readDailyLimits(dbTransaction, [{ account, spending }], dbTransaction.effects.now())
  const taken = limits.spend(account, spending, readSpent(before))
  if (!('outcome' in taken)) await limits.write(dbTransaction)
  return taken
}

/** Counts the amounts beyond those that are already counted for the transaction. */
export async function takeMoreSpending(
  dbTransaction: DatabaseTransaction,
  { row_id, chain_id, from }: Spender,
  spends: Spend[],
): Promise<OverLimit | undefined> {
  const before = await spentOf(dbTransaction, row_id)
  const taken = await takeSpending(dbTransaction, { chain_id, address: from }, spends, before)
  if ('outcome' in taken) return taken
  await dbTransaction.run(setSpent, { row_id, spent: taken.spent })
  return undefined
}

/** Counts the amounts once more, for another nonce: earlier attempts may still be mined. */
export async function takeSpendingAgain(
  dbTransaction: DatabaseTransaction,
  { row_id, chain_id, from }: Spender,
  spends: Spend[],
  isSigned: boolean,
): Promise<OverLimit | undefined> {
  const taken = await takeSpending(dbTransaction, { chain_id, address: from }, spends)
  if ('outcome' in taken) return taken
  const before = await spentOf(dbTransaction, row_id)
  const spent = bothSpent(isSigned ? withoutFees(before) : before, taken.spent)
  await dbTransaction.run(setSpent, { row_id, spent })
  return undefined
}

/** Takes back what transactions counted, from all whose limits counted it. */
export async function giveSpendingBack(dbTransaction: DatabaseTransaction, spenders: Spender[]): Promise<void> {
  const corrections: Correction[] = []
  for (const { row_id, chain_id, from } of spenders) {
    corrections.push(...takenBack({ chain_id, address: from }, await spentOf(dbTransaction, row_id)))
    await dbTransaction.run(setSpent, { row_id, spent: null })
  }
  await correctSpending(dbTransaction, corrections)
}

/**
 * Counts nonce gaps of the account that are about to be filled. Resolves to how many of `wanted` may be filled now, so that there are
 * at most `limit` in an hour, over all servers and restarts.
 */
export const takeGapFills = (
  database: Database,
  { chain_id, address }: Account,
  wanted: number,
  limit: number,
): Promise<number> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ accounts: [{ chain_id, address }] })
    const bucket = bucketAt(dbTransaction.effects.now())
    const place = { chain_id, address, asset: gapFill }
    const taken = await dbTransaction.all(amounts, { ...place, oldest: oldestBucket(bucket, 'hour') })
    const sum = taken.reduce((count, { amount }) => count + Number(amount), 0)
    const granted = Math.max(0, Math.min(wanted, limit - sum))
    await dbTransaction.run(prune, { ...place, oldest: oldestBucket(bucket) })
    await correctSpending(dbTransaction, [{ ...place, bucket, change: BigInt(granted) }])
    return granted
  })

/**
 * A signature that limits count. `spent`: what they count for it already. `payment`: it is a payment, whose repetitions count no more than
 * the first one.
 */
interface CountedSignature {
  account: Account
  spending: Spend[]
  spent?: string | null
  payment?: SignedPayment | undefined
}

/** `spent`: for `unspend`, when it was certainly not signed. `valid_before`: of the payment that was asked for first. */
type CountResult = { spent: string | null; valid_before?: number } | OverLimit | { outcome: 'mismatch' }

const spends = oneByOne(
  ({ account, spending }: CountedSignature) => ({ accounts: [account], names: keysIn(spending) }),
  async (dbTransaction, { account, spending, spent, payment }): Promise<CountResult> => {
    const known = payment && (await knownPayment(dbTransaction, account, payment))
    if (known && known.request_hash !== payment.request_hash) return { outcome: 'mismatch' }
    const taken = await takeSpending(dbTransaction, account, spending, known ? known.spent : spent)
    if (!payment || 'outcome' in taken) return taken
    const its = { ...payment, ...known, ...taken }
    await writePayment(dbTransaction, account, its)
    return its
  },
)

/** Counts a signature that is not of an own transaction against the limits; durable when it resolves. */
export const spend = (
  database: Database,
  signature: CountedSignature,
  auditEntry?: PendingAuditEntry,
): Promise<CountResult> => database.groupCommit(spends, signature, auditEntry)

export const unspend = (database: Database, account: Account, spent: string): Promise<void> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ accounts: [account] })
    await correctSpending(dbTransaction, takenBack(account, spent))
  })

/** The result that `spend` would have, without counting. `transactionRowId`: only the spending beyond that transaction's counts. */
export async function wouldExceed(
  database: Database,
  account: Account,
  spending: Spend[],
  transactionRowId?: number,
): Promise<OverLimit | undefined> {
  const { read, effects } = database
  const spent = transactionRowId === undefined ? null : await spentOf(read, transactionRowId)
  const limits = await readDailyLimits(read, [{ account, spending }], effects.now())
  const taken = limits.spend(account, spending, readSpent(spent))
  return 'outcome' in taken ? taken : undefined
}
