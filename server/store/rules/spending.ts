import type { Account, OverLimit, Spend } from '../../core/sending-rows.ts'
import {
  bothSpent,
  bucketAt,
  gap_fill,
  grantedOf,
  oldestBucket,
  oldestBucketOfHour,
  readSpent,
  withoutFees,
} from '../spending-rules.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Row } from '../transaction-rows.ts'
import type { Database } from './database.ts'
import type { Session } from './session.ts'
import { type Correction, correctSpending, openSpendingBook, takenBack } from './spending-book.ts'
import { sql } from './statement.ts'

type Spender = Pick<Row, 'row_id' | 'chain_id' | 'from'>

const amounts = sql<{ amount: string }>(`
  SELECT amount FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket >= $oldest`)
const prune = sql(`
  DELETE FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket < $oldest`)
const selectSpent = sql<{ spent: string | null }>('SELECT spent FROM transactions WHERE row_id = $row_id')
const setSpent = sql('UPDATE transactions SET spent = $spent WHERE row_id = $row_id')

/** The amounts that daily limits count. The caller holds the lock of the account's relayer. `now`: milliseconds since the epoch. */
export function createSpending(now: () => number) {
  const thisBucket = () => bucketAt(now())
  const spentOf = async (session: Session, row_id: number) => (await session.one(selectSpent, { row_id }))?.spent

  /** Counts all amounts, or none when a limit is exceeded. `before`: the amounts that are already counted for the transaction. */
  async function take(session: Session, account: Account, spending: Spend[], before?: string | null) {
    const book = await openSpendingBook(session, [{ account, spending }], now())
    const taken = book.spend(account, spending, readSpent(before))
    if (!('outcome' in taken)) await book.write(session)
    return taken
  }

  /** The result that `take` would have, without counting. */
  async function wouldExceed(session: Session, account: Account, spending: Spend[], before?: string | null) {
    const book = await openSpendingBook(session, [{ account, spending }], now())
    const taken = book.spend(account, spending, readSpent(before))
    return 'outcome' in taken ? taken : undefined
  }

  return {
    take,
    /** See `takeGapFills` of the store. */
    async takeGapFills(session: Session, account: Account, wanted: number, limit: number): Promise<number> {
      const { chain_id, address } = account
      const bucket = thisBucket()
      const oldest = oldestBucketOfHour(bucket)
      const taken = await session.all(amounts, { chain_id, address, asset: gap_fill, oldest })
      const granted = grantedOf(
        wanted,
        limit,
        taken.map(({ amount }) => amount),
      )
      const place = { chain_id, address, asset: gap_fill }
      await session.run(prune, { ...place, oldest: oldestBucket(bucket) })
      await correctSpending(session, [{ ...place, bucket, change: BigInt(granted) }])
      return granted
    },
    wouldExceed,
    spentOf,
    /** Counts the amounts beyond those that are already counted for the transaction. */
    async takeMore(
      session: Session,
      { row_id, chain_id, from }: Spender,
      spends: Spend[],
    ): Promise<OverLimit | undefined> {
      const taken = await take(session, { chain_id, address: from }, spends, await spentOf(session, row_id))
      if ('outcome' in taken) return taken
      await session.run(setSpent, { row_id, spent: taken.spent })
      return undefined
    },
    /** Counts the amounts once more, for another nonce: earlier attempts may still be mined. */
    async takeAgain(
      session: Session,
      { row_id, chain_id, from }: Spender,
      spends: Spend[],
      isSigned: boolean,
    ): Promise<OverLimit | undefined> {
      const taken = await take(session, { chain_id, address: from }, spends)
      if ('outcome' in taken) return taken
      const before = await spentOf(session, row_id)
      await session.run(setSpent, { row_id, spent: bothSpent(isSigned ? withoutFees(before) : before, taken.spent) })
      return undefined
    },
    /** Takes back what transactions counted, from all whose limits counted it. */
    async giveBack(session: Session, spenders: Spender[]): Promise<void> {
      const corrections: Correction[] = []
      for (const { row_id, chain_id, from } of spenders) {
        corrections.push(...takenBack({ chain_id, address: from }, await spentOf(session, row_id)))
        await session.run(setSpent, { row_id, spent: null })
      }
      await correctSpending(session, corrections)
    },
  }
}

export type Spending = ReturnType<typeof createSpending>

/** The spending of transactions that are signed and not sent, and the limit of gap fills. */
export function spendings(
  database: Database,
  { now }: Pick<StoreDependencies, 'now'>,
): Pick<Store, 'spend' | 'unspend' | 'wouldExceed' | 'takeGapFills'> {
  const { take, takeGapFills, wouldExceed, spentOf } = createSpending(now)
  const spend = database.groupCommit(
    ({ account }: { account: Account; spending: Spend[] }) => ({ accounts: [account] }),
    (transaction, { account, spending }) => take(transaction, account, spending),
  )
  return {
    takeGapFills: (account, wanted, limit) =>
      database.write(async (transaction) => {
        await transaction.lockRelayers({ accounts: [account] })
        return takeGapFills(transaction, account, wanted, limit)
      }),
    spend: (account, spending, auditEntry) => spend({ account, spending }, auditEntry),
    unspend: (account, spent) =>
      database.write(async (transaction) => {
        await transaction.lockRelayers({ accounts: [account] })
        await correctSpending(transaction, takenBack(account, spent))
      }),
    async wouldExceed(account, spending, transaction_row_id) {
      const { read } = database
      const spent = transaction_row_id === undefined ? null : await spentOf(read, transaction_row_id)
      return wouldExceed(read, account, spending, spent)
    },
  }
}
