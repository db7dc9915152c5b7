import type { Account, OverLimit, Spend } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import type { StoreWorld } from './events.ts'
import { groupCommit } from './group-commit.ts'

const bucket_ms = 300_000
const day_buckets = 288

/** The amounts that were counted for a transaction, and the time step that they were counted in. */
interface Spent {
  asset: string
  amount: string
  bucket: number
}

/** Must be called inside a database transaction, so that two requests never use the same remaining amount. */
export interface Spending {
  /** Counts all amounts, or none when a limit is exceeded. `before`: the amounts that are already counted for the transaction. */
  take(account: Account, spending: Spend[], before?: string | null): { spent: string | null } | OverLimit
  giveBack(account: Account, spent: string): void
  wouldExceed(account: Account, spending: Spend[], before?: string | null): OverLimit | undefined
}

/** A day has 288 complete steps and the current one, so a sum reads at most 289 rows. */
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
  const thisBucket = () => Math.floor(now() / bucket_ms)

  /** Amounts in future time steps count too: they were spent before the clock was set back. */
  const leftOf = ({ chain_id, address }: Account, { asset, limit }: Spend): bigint => {
    const rows = amounts.all(chain_id, address, asset, thisBucket() - day_buckets)
    const left = BigInt(limit) - rows.reduce((sum, amount) => sum + BigInt(amount), 0n)
    return left > 0n ? left : 0n
  }

  const add = ({ chain_id, address }: Account, asset: string, bucket: number, amount: bigint) => {
    const sum = BigInt(amountOf.get(chain_id, address, asset, bucket) ?? 0) + amount
    set.run(chain_id, address, asset, bucket, (sum > 0n ? sum : 0n).toString())
  }

  const added = (spending: Spend[], counted: Spent[]) =>
    spending
      .map((spend) => ({ spend, amount: BigInt(spend.amount) - countedOf(counted, spend.asset) }))
      .filter(({ amount }) => amount > 0n)

  const exceeding = (account: Account, spending: Spend[], counted: Spent[]): OverLimit | undefined => {
    for (const { spend, amount } of added(spending, counted)) {
      const left = leftOf(account, spend)
      if (amount > left) return { outcome: 'over_limit', spend: { ...spend, amount: `${amount}` }, left: `${left}` }
    }
    return undefined
  }

  return {
    wouldExceed: (account, spending, before) => exceeding(account, spending, read(before)),
    take(account, spending, before) {
      const counted = read(before)
      const over = exceeding(account, spending, counted)
      if (over) return over
      const bucket = thisBucket()
      const taken = added(spending, counted).map(({ spend: { asset }, amount }) => {
        prune.run(account.chain_id, account.address, asset, bucket - day_buckets)
        add(account, asset, bucket, amount)
        return { asset, amount: amount.toString(), bucket }
      })
      const all = [...counted, ...taken]
      return { spent: all.length === 0 ? null : JSON.stringify(all) }
    },
    giveBack(account, spent) {
      const counted: Spent[] = JSON.parse(spent)
      for (const { asset, amount, bucket } of counted) {
        // Amounts older than the window no longer count.
        if (bucket >= thisBucket() - day_buckets) add(account, asset, bucket, -BigInt(amount))
      }
    },
  }
}

const read = (spent: string | null | undefined): Spent[] => (spent == null ? [] : JSON.parse(spent))

const countedOf = (counted: Spent[], asset: string): bigint =>
  counted.reduce((sum, spent) => (spent.asset === asset ? sum + BigInt(spent.amount) : sum), 0n)

/** The spending of transactions that are signed and not sent. */
export function spendings(connection: Connection, { now }: StoreWorld): Pick<Store, 'spend' | 'wouldExceed'> {
  const { take, wouldExceed } = createSpending(connection, now)
  const spentOf = connection.db
    .prepare<[number], string | null>('SELECT spent FROM transactions WHERE row_id = ?')
    .pluck()
  const spend = groupCommit(connection, ({ account, spending }: { account: Account; spending: Spend[] }) => {
    const taken = take(account, spending)
    return 'outcome' in taken ? taken : undefined
  })
  return {
    spend: (account, spending) => spend({ account, spending }),
    wouldExceed: async (account, spending, transaction_row_id) =>
      wouldExceed(account, spending, transaction_row_id === undefined ? null : spentOf.get(transaction_row_id)),
  }
}
