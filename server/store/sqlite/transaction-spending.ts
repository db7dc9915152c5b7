import type { OverLimit, Spend } from '../sending-rows.ts'
import type { Connection } from './connection.ts'
import { createSpending } from './spending.ts'
import type { Row } from './transaction-rows.ts'

type Spender = Pick<Row, 'row_id' | 'chain_id' | 'from'>

export type TransactionSpending = ReturnType<typeof transactionSpending>

/** The amounts that daily limits count for a transaction. Must be called inside a database transaction. */
export function transactionSpending({ db }: Pick<Connection, 'db'>, now: () => number) {
  const spending = createSpending({ db }, now)
  const spentOf = db.prepare<[number], string | null>('SELECT spent FROM transactions WHERE row_id = ?').pluck()
  const setSpent = db.prepare<[string | null, number]>('UPDATE transactions SET spent = ? WHERE row_id = ?')

  return {
    /** Counts the amounts beyond those that are already counted for it. */
    takeMore({ row_id, chain_id, from }: Spender, spends: Spend[]): OverLimit | undefined {
      const taken = spending.take({ chain_id, address: from }, spends, spentOf.get(row_id))
      if ('outcome' in taken) return taken
      setSpent.run(taken.spent, row_id)
      return undefined
    },
    /** Counts the amounts once more, for another nonce: earlier attempts may still be mined. */
    takeAgain({ row_id, chain_id, from }: Spender, spends: Spend[], isSigned: boolean): OverLimit | undefined {
      const taken = spending.take({ chain_id, address: from }, spends)
      if ('outcome' in taken) return taken
      const before = spentOf.get(row_id)
      setSpent.run(bothSpent(isSigned ? withoutFees(before) : before, taken.spent), row_id)
      return undefined
    },
    giveBack({ row_id, chain_id, from }: Spender): void {
      const spent = spentOf.get(row_id)
      if (spent == null) return
      spending.giveBack({ chain_id, address: from }, spent)
      setSpent.run(null, row_id)
    },
  }
}

const bothSpent = (before: string | null | undefined, more: string | null): string | null =>
  more === null ? (before ?? null) : JSON.stringify([...JSON.parse(before ?? '[]'), ...JSON.parse(more)])

/**
 * The amounts of a transaction after it gets another nonce: the fee of the former nonce stays counted for the account, and the next
 * signature counts in full.
 */
function withoutFees(spent: string | null | undefined): string | null {
  const counted: { asset: string }[] = spent == null ? [] : JSON.parse(spent)
  const others = counted.filter(({ asset }) => asset !== 'fee')
  return others.length === 0 ? null : JSON.stringify(others)
}
