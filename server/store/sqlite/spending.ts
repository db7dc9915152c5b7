import type { Account, OverLimit, Spend } from '../../core/sending-rows.ts'
import {
  addedAmounts,
  bucketAt,
  gap_fill,
  grantedOf,
  oldestBucket,
  oldestBucketOfHour,
  overLimitOf,
  readSpent,
  type Spent,
  sumOfBucket,
  writeSpent,
} from '../spending-rules.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Connection } from './connection.ts'
import { groupCommit } from './group-commit.ts'

/** Must be called inside a database transaction, so that two requests never use the same remaining amount. */
export interface Spending {
  /** Counts all amounts, or none when a limit is exceeded. `before`: the amounts that are already counted for the transaction. */
  take(account: Account, spending: Spend[], before?: string | null): { spent: string | null } | OverLimit
  giveBack(account: Account, spent: string): void
  wouldExceed(account: Account, spending: Spend[], before?: string | null): OverLimit | undefined
  /** See `takeGapFills` of the store. */
  takeGapFills(account: Account, wanted: number, limit: number): number
}

export function createSpending({ db }: Pick<Connection, 'db'>, now: () => number): Spending {
  const amounts = db
    .prepare<[number, string, string, number], string>(
      'SELECT amount FROM spending WHERE chain_id = ? AND address = ? AND asset = ? AND bucket >= ?',
    )
    .pluck()
  const amountOf = db
    .prepare<[number, string, string, number], string>(
      'SELECT amount FROM spending WHERE chain_id = ? AND address = ? AND asset = ? AND bucket = ?',
    )
    .pluck()
  const set = db.prepare<[number, string, string, number, string]>(`
    INSERT INTO spending (chain_id, address, asset, bucket, amount) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET amount = excluded.amount`)
  const prune = db.prepare<[number, string, string, number]>(
    'DELETE FROM spending WHERE chain_id = ? AND address = ? AND asset = ? AND bucket < ?',
  )
  const thisBucket = () => bucketAt(now())

  const add = ({ chain_id, address }: Account, asset: string, bucket: number, amount: bigint) => {
    set.run(chain_id, address, asset, bucket, sumOfBucket(amountOf.get(chain_id, address, asset, bucket), amount))
  }

  const count = (account: Account, asset: string, bucket: number, amount: bigint) => {
    prune.run(account.chain_id, account.address, asset, oldestBucket(bucket))
    add(account, asset, bucket, amount)
  }

  /** Amounts in future time steps count too: they were spent before the clock was set back. */
  const exceeding = ({ chain_id, address }: Account, spending: Spend[], counted: Spent[]): OverLimit | undefined => {
    for (const added of addedAmounts(spending, counted)) {
      const rows = amounts.all(chain_id, address, added.spend.asset, oldestBucket(thisBucket()))
      const over = overLimitOf(added, rows)
      if (over) return over
    }
    return undefined
  }

  return {
    wouldExceed: (account, spending, before) => exceeding(account, spending, readSpent(before)),
    take(account, spending, before) {
      const counted = readSpent(before)
      const over = exceeding(account, spending, counted)
      if (over) return over
      const bucket = thisBucket()
      const taken = addedAmounts(spending, counted).map(({ spend: { asset }, amount }) => {
        count(account, asset, bucket, amount)
        return { asset, amount: amount.toString(), bucket }
      })
      return { spent: writeSpent([...counted, ...taken]) }
    },
    takeGapFills(account, wanted, limit) {
      const bucket = thisBucket()
      const taken = amounts.all(account.chain_id, account.address, gap_fill, oldestBucketOfHour(bucket))
      const granted = grantedOf(wanted, limit, taken)
      if (granted > 0) count(account, gap_fill, bucket, BigInt(granted))
      return granted
    },
    giveBack(account, spent) {
      for (const { asset, amount, bucket } of readSpent(spent)) {
        // Amounts older than the window no longer count.
        if (bucket >= oldestBucket(thisBucket())) add(account, asset, bucket, -BigInt(amount))
      }
    },
  }
}

/** The spending of transactions that are signed and not sent, and the limit of gap fills. */
export function spendings(
  connection: Connection,
  { now }: StoreDependencies,
): Pick<Store, 'spend' | 'unspend' | 'wouldExceed' | 'takeGapFills'> {
  const { take, giveBack, wouldExceed, takeGapFills } = createSpending(connection, now)
  const spentOf = connection.db
    .prepare<[number], string | null>('SELECT spent FROM transactions WHERE row_id = ?')
    .pluck()
  const spend = groupCommit(connection, ({ account, spending }: { account: Account; spending: Spend[] }) =>
    take(account, spending),
  )
  return {
    takeGapFills: async (...parameters) => connection.write(() => takeGapFills(...parameters)),
    spend: (account, spending) => spend({ account, spending }),
    unspend: async (account, spent) => connection.write(() => giveBack(account, spent)),
    wouldExceed: async (account, spending, transaction_row_id) =>
      wouldExceed(account, spending, transaction_row_id === undefined ? null : spentOf.get(transaction_row_id)),
  }
}
