import type { TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../lib/yield-to-event-loop.ts'
import type { Store } from '../store/store.ts'

const moveAtOnce = 100

export type Commit = (moves: TransactionUpdate[]) => Promise<(TransactionRow | undefined)[]>

/** Moves are committed in batches, so that the event loop stays free: a block may settle 1,000 rows, which take 100 ms. */
export function createCommit(store: Pick<Store, 'move'>, changed: () => void): Commit {
  return async (moves) => {
    const rows: (TransactionRow | undefined)[] = []
    for (let at = 0; at < moves.length; at += moveAtOnce) {
      if (at > 0) await yieldToEventLoop()
      rows.push(...(await store.move(moves.slice(at, at + moveAtOnce))))
      changed()
    }
    return rows
  }
}
