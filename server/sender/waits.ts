import { most, pricesOf } from '../domain/fees.ts'
import { capOf } from '../domain/policies/fee-policies.ts'
import { laneWait, type WaitFacts, waitColumns } from '../domain/wait-reason.ts'
import type { Commit } from './commit.ts'
import { ceilingOf, currentOf, type SenderContext } from './context.ts'
import type { Tick } from './lane.ts'

export interface LaneWaits {
  /** Records why the first in line waits, unless an answer to its own bytes has given the reason. */
  note(lane: Pick<Tick, 'held'>, known: Partial<WaitFacts>): Promise<void>
}

export function createLaneWaits({ store }: Pick<SenderContext, 'store'>, commit: Commit): LaneWaits {
  return {
    async note({ held }, known) {
      const row = await store.firstInLine(held.relayer.row_id)
      if (!row) return
      const relayer = await currentOf({ store }, held.relayer)
      const prices = row.hash === null ? undefined : pricesOf(row)
      const wait = laneWait(row, {
        paused: relayer.paused,
        ...(relayer.disabled_reason !== null && { disabled: relayer.disabled_reason }),
        cap: capOf(relayer),
        price: prices && most(prices),
        ceiling: row.intent === 'send' ? ceilingOf(row).fee : undefined,
        ...known,
      })
      const { row_id, revision, waiting_for, waits_told } = row
      if (wait !== undefined && wait?.waiting_for !== waiting_for) {
        await commit([{ row_id, revision, set: waitColumns(row, wait) }])
      } else if (waiting_for !== null && !waits_told.includes(waiting_for)) {
        // It has become the first in line: this move makes the store write the event.
        await commit([{ row_id, revision, set: {} }])
      }
    },
  }
}
