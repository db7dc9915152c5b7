import type { OverLimit, Spend } from '../../core/sending-rows.ts'
import { bothSpent, withoutFees } from '../spending-rules.ts'
import type { Row } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'
import { createSpending } from './spending.ts'

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
