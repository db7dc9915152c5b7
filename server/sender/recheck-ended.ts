import { proveReceipts } from '../chain/proofs.ts'
import { decide } from '../domain/decide.ts'
import { effectOf } from '../domain/effect.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { BoundedMap } from '../lib/bounded-map.ts'
import type { Commit } from './commit.ts'
import { chainObservation, type SenderDependencies, type Tick, transactionState } from './lane.ts'
import type { createReceipts } from './receipts.ts'

const firstWaitMs = 60_000
const maxWaitMs = 3_600_000
const watchedMs = 24 * 3_600_000
const maxRows = 100
/** The shortest interval between two reads of the rows. */
const readAgainMs = 30_000
const maxRemembered = 10_000

export interface GivenUp {
  /** Looks up the rows that are due, and corrects them. Resolves to whether a row has changed. */
  correct(lane: Tick): Promise<boolean>
  /** Milliseconds until the next lookup; undefined: nothing is left to look up. */
  dueIn(relayerRowId: number): Promise<number | undefined>
}

interface Case {
  since: number
  poll_at: number
  wait_ms: number
}

interface GivenUpDependencies extends Pick<SenderDependencies, 'store' | 'now' | 'elapsed' | 'observer'> {
  commit: Commit
  settlement: ReturnType<typeof createReceipts>
}

/**
 * Signed transactions that failed without being in a block, because another transaction was proven at their nonces. A deep reorganization
 * may bring theirs back: the rows are looked up for a day, at growing intervals, and corrected when a majority of all endpoints has the
 * receipt of an attempt with enough confirmations.
 */
export function createRecheckEnded({
  store,
  now,
  elapsed,
  observer,
  commit,
  settlement,
}: GivenUpDependencies): GivenUp {
  const cases = new BoundedMap<number, Case>(maxRemembered)
  /** By relayer: when its rows are read again. */
  const readAt = new BoundedMap<number, number>(maxRemembered)

  async function open(relayerRowId: number): Promise<{ row: TransactionRow; known: Case }[]> {
    const rows = await store.failedUnmined(relayerRowId, maxRows)
    return rows
      .map((row) => ({ row, known: caseOf(row.row_id) }))
      .filter(({ known }) => elapsed() - known.since < watchedMs)
  }

  const caseOf = (rowId: number): Case =>
    cases.of(rowId, () => ({ since: elapsed(), poll_at: elapsed() + firstWaitMs, wait_ms: firstWaitMs }))

  async function correctOne(lane: Tick, row: TransactionRow): Promise<boolean> {
    const { networkClient } = lane
    const attempts = (await store.attempts(row.row_id)).filter(({ nonce }) => nonce === row.nonce)
    const [proof] = await proveReceipts(networkClient, [{ attempts, effect: effectOf(row) }])
    if (!proof || proof === 'shallow') return false
    const sight = chainObservation(lane, row, { now: now(), elapsed: elapsed() }, { proof })
    const step = decide({ ...transactionState(row), status: 'submitted' }, sight)
    if (step.do !== 'end') return false
    const { hash } = proof.fact
    observer.nonceNoticed?.('transaction corrected', { relayer_id: row.relayer_id, transaction_id: row.id, hash })
    await commit(await settlement.movesOf(lane, { ...row, error: null }, step))
    return true
  }

  return {
    async correct(lane) {
      const { row_id } = lane.held.relayer
      if (elapsed() < (readAt.get(row_id) ?? 0)) return false
      readAt.set(row_id, elapsed() + readAgainMs)
      let isChanged = false
      for (const { row, known } of await open(row_id)) {
        if (elapsed() < known.poll_at) continue
        known.wait_ms = Math.min(known.wait_ms * 2, maxWaitMs)
        known.poll_at = elapsed() + known.wait_ms
        isChanged = (await correctOne(lane, row)) || isChanged
      }
      return isChanged
    },
    async dueIn(relayerRowId) {
      const polls = (await open(relayerRowId)).map(({ known }) => known.poll_at)
      return polls.length === 0 ? undefined : Math.max(0, Math.min(...polls) - elapsed())
    },
  }
}
