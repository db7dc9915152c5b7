import type { Account, OverLimit, Spend } from '../../core/sending-rows.ts'
import {
  addedAmounts,
  bucketAt,
  oldestBucket,
  overLimitOf,
  type Spent,
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

// OFFSET 0: each place is looked up by the index. A join would read the whole table while it is small.
const select = sql<Bucket>(`
  SELECT place.chain_id, place.address, place.asset, its.*
  FROM json_to_recordset($places::json) AS place (chain_id bigint, address text, asset text), LATERAL (
    SELECT bucket, amount FROM spending
    WHERE chain_id = place.chain_id AND address = place.address AND asset = place.asset AND bucket >= $oldest OFFSET 0
  ) AS its`)
const set = sql(`
  INSERT INTO spending (chain_id, address, asset, bucket, amount)
  SELECT chain_id, address, asset, $bucket, amount
  FROM json_to_recordset($rows::json) AS changed (chain_id bigint, address text, asset text, amount text)
  ON CONFLICT (chain_id, address, asset, bucket) DO UPDATE SET amount = excluded.amount`)
const prune = sql(`
  DELETE FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket < $oldest`)

/** The amounts that daily limits count, for several transactions that are accepted together. */
export interface SpendingBook {
  /** Counts all amounts, or none when a limit is exceeded. */
  spend(account: Account, spending: Spend[]): { spent: string | null } | OverLimit
  write(session: Session): Promise<void>
}

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
    for (const { asset } of spending) {
      const place = { chain_id: account.chain_id, address: account.address, asset }
      places.set(nameOf(place), place)
    }
  }
  const amounts = new Map<string, Map<number, string>>([...places.keys()].map((name) => [name, new Map()]))
  if (places.size > 0) {
    for (const row of await session.all(select, { places: JSON.stringify([...places.values()]), oldest })) {
      amounts.get(nameOf(row))?.set(row.bucket, row.amount)
    }
  }
  const changed = new Map<string, Place>()

  return {
    spend(account, spending) {
      const added = addedAmounts(spending, []).map((one) => {
        const place = { chain_id: account.chain_id, address: account.address, asset: one.spend.asset }
        return { ...one, place, its: amounts.get(nameOf(place)) ?? new Map<number, string>() }
      })
      for (const { its, ...one } of added) {
        const over = overLimitOf(one, [...its.values()])
        if (over) return over
      }
      const taken: Spent[] = added.map(({ place, its, amount }) => {
        its.set(bucket, sumOfBucket(its.get(bucket), amount))
        changed.set(nameOf(place), place)
        return { asset: place.asset, amount: amount.toString(), bucket }
      })
      return { spent: writeSpent(taken) }
    },
    async write(to) {
      if (changed.size === 0) return
      const rows = [...changed].map(([name, place]) => ({ ...place, amount: amounts.get(name)?.get(bucket) }))
      await Promise.all([
        ...[...changed.values()].map((place) => to.run(prune, { ...place, oldest })),
        to.run(set, { rows: JSON.stringify(rows), bucket }),
      ])
    },
  }
}
