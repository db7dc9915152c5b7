import type { Account, OverLimit, Spend } from '../../core/sending-rows.ts'
import {
  addedAmounts,
  bucketAt,
  oldestBucket,
  overLimitOf,
  readSpent,
  type Spent,
  startOfBucket,
  sumOfBucket,
  writeSpent,
} from '../spending-rules.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

interface Place extends Account {
  asset: string
}

interface Bucket extends Place {
  bucket: number
  amount: string
}

const bucketsOf = (place: string) => `
  SELECT chain_id, address, asset, bucket, amount FROM spending
  WHERE chain_id = ${place}chain_id AND address = ${place}address AND asset = ${place}asset AND bucket >= $oldest`
const select = sql<Bucket>({
  sqlite: bucketsOf('$'),
  // OFFSET 0: each place is looked up by the index. A join would read the whole table while it is small.
  postgres: `
    SELECT its.* FROM json_to_recordset($rows::json) AS place (chain_id bigint, address text, asset text),
      LATERAL (${bucketsOf('place.')} OFFSET 0) AS its`,
})
const set = sql(
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

const open = sql<Place & { charge: string; calls: number }>({
  sqlite: `
    SELECT $chain_id AS chain_id, $address AS address, $asset AS asset, sponsored ->> 'charge' AS charge, count(*) AS calls
    FROM transactions
    WHERE chain_id = $chain_id AND sponsored IS NOT NULL AND status IN ('pending', 'sent', 'submitted', 'mined')
      AND created_at < $before AND sponsored ->> 'bucket' < $oldest
      AND EXISTS (SELECT 1 FROM json_each(sponsored, '$.holders') WHERE value = $address)
    GROUP BY charge`,
  postgres: `
    SELECT place.*, its.* FROM json_to_recordset($rows::json) AS place (chain_id bigint, address text, asset text),
      LATERAL (
        SELECT sponsored::json ->> 'charge' AS charge, count(*) AS calls FROM transactions
        WHERE chain_id = place.chain_id AND sponsored IS NOT NULL AND status IN ('pending', 'sent', 'submitted', 'mined')
          AND created_at < $before AND (sponsored::json ->> 'bucket')::bigint < $oldest
          AND jsonb_exists(sponsored::jsonb -> 'holders', place.address)
        GROUP BY 1 OFFSET 0) AS its`,
})

/**
 * What calls of sponsorships that are older than the window can still cost, by `nameOf`: an open call counts however old it is. Read before
 * the amounts of the window: a call that ends in between counts twice, not never.
 */
export async function openCharges(session: Session, places: Place[], oldest: number): Promise<Map<string, bigint>> {
  const sums = new Map<string, bigint>()
  const sponsored = places.filter(({ address, asset }) => asset === 'fee' && isOfSponsorship(address))
  if (sponsored.length === 0) return sums
  const before = new Date(startOfBucket(oldest)).toISOString()
  for (const { charge, calls, ...place } of await session.allOf(open, sponsored, { before, oldest })) {
    const name = nameOf(place)
    sums.set(name, (sums.get(name) ?? 0n) + BigInt(charge) * BigInt(calls))
  }
  return sums
}

/** The amounts that daily limits count, for several transactions that are accepted together. */
export interface SpendingBook {
  /**
   * Counts all amounts, or none when a limit is exceeded. Amounts in future time steps count too: they were spent before the clock was set
   * back. `counted`: the amounts that are already counted for the transaction.
   */
  spend(account: Account, spending: Spend[], counted?: Spent[]): { spent: string | null } | OverLimit
  write(session: Session): Promise<void>
  /** The time step in which it counts. */
  bucket: number
}

/** The sponsored transaction's own column says what it counts (sponsorships.ts). */
const isOfSponsorship = (holder: string | undefined): boolean => holder?.startsWith('sponsorship') === true

const placeOf = ({ chain_id, address }: Account, { asset, holder }: Pick<Spend, 'asset' | 'holder'>): Place => ({
  chain_id,
  address: holder ?? address,
  asset,
})

const nameOf = ({ chain_id, address, asset }: Place) => `${chain_id} ${address} ${asset}`

/** Reads the amounts of all limits. The caller holds the locks of the accounts' relayers. `now`: milliseconds since the Unix epoch. */
export async function openSpendingBook(
  session: Session,
  wanted: { account: Account; spending: Spend[] }[],
  now: number,
): Promise<SpendingBook> {
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
  const [stillOpen, counted] =
    places.size === 0
      ? [new Map<string, bigint>(), []]
      : await Promise.all([
          openCharges(session, [...places.values()], oldest),
          session.allOf(select, [...places.values()], { oldest }),
        ])
  for (const row of counted) amounts.get(nameOf(row))?.set(row.bucket, row.amount)
  const changed = new Map<string, Place & { added: bigint }>()

  return {
    bucket,
    spend(account, spending, counted = []) {
      const added = addedAmounts(spending, counted).map((one) => {
        const place = placeOf(account, one.spend)
        const [its = new Map<number, string>(), open = 0n] = [amounts.get(nameOf(place)), stillOpen.get(nameOf(place))]
        return { ...one, place, its, open }
      })
      for (const { its, open, ...one } of added) {
        const over = overLimitOf(one, [...its.values(), `${open}`])
        if (over) return over
      }
      const taken: Spent[] = added.flatMap(({ spend, place, its, amount }) => {
        its.set(bucket, sumOfBucket(its.get(bucket), amount))
        changed.set(nameOf(place), { ...place, added: (changed.get(nameOf(place))?.added ?? 0n) + amount })
        const { asset, holder } = spend
        return isOfSponsorship(holder) ? [] : [{ asset, amount: `${amount}`, bucket, ...(holder && { holder }) }]
      })
      return { spent: writeSpent([...counted, ...taken]) }
    },
    async write(to) {
      if (changed.size === 0) return
      // In one order, so that two database transactions that count the same limits never wait for each other.
      const rows = [...changed]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, { added, ...place }]) => ({
          ...{ ...place, bucket, added: `${added}` },
          amount: amounts.get(name)?.get(bucket),
        }))
      await Promise.all([
        ...[...changed.values()].map(({ added: _, ...place }) => to.run(prune, { ...place, oldest })),
        to.runOf(set, rows),
      ])
    },
  }
}

/** A change of what a limit counted in a time step. */
export interface Correction extends Place {
  bucket: number
  change: bigint
}

/** What takes back the amounts that were counted for a transaction. */
export const takenBack = (account: Account, spent: string | null | undefined): Correction[] =>
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
    if (change > 0n) await session.runOf(set, [row])
    else if (known !== undefined) await session.run(subtract, row)
  }
}
