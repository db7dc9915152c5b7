import type { Explanation, WaitingFor } from '../../generated/openapi.ts'
import type { TransactionRow } from './sending-rows.ts'

/** What is known of the chain that a transaction waits for. */
export interface ChainPace {
  /** Milliseconds since the Unix epoch. */
  now: number
  /** The time of the newest block, on the same scale; undefined: no node tells it. */
  head_at: number | undefined
  average_blocktime_ms: number | null | undefined
}

/** A transaction that the next few blocks do not include waits for long. */
const few_blocks = 5
/** Where the network tells none: as long as Ethereum's, so that nothing is called slow too early. */
const default_blocktime_ms = 12_000
/** Networks with fast blocks: a new price needs some time too. */
const min_wait_ms = 15_000
/** A chain whose newest block is older stands still; development chains without blocks of their own too. */
const still_blocks = 20
const min_still_ms = 60_000
/** What forbids a higher price. The other reasons of a price say that it is below the base fee. */
const of_raise: ReadonlySet<WaitingFor> = new Set(['fee_multiple', 'fee_budget'])

export const standsStill = ({ now, head_at, average_blocktime_ms }: ChainPace): boolean =>
  head_at !== undefined &&
  now - head_at > Math.max(still_blocks * (average_blocktime_ms ?? default_blocktime_ms), min_still_ms)

/** The reason of its row, unless that forbids a higher price while the chain makes no blocks: no price helps then. */
export const reasonToWait = (
  { status, waiting_for }: Pick<TransactionRow, 'status' | 'waiting_for'>,
  pace: ChainPace,
): WaitingFor | null =>
  waiting_for !== null && status === 'submitted' && of_raise.has(waiting_for) && standsStill(pace) ? null : waiting_for

/** Which step comes next for the first in line, without a known reason to wait. `text` completes the sentence "It waits: …". */
export function nextStep(
  row: Pick<TransactionRow, 'status' | 'sent_at' | 'created_at'>,
  { now, head_at, average_blocktime_ms }: ChainPace,
): { waiting_for: Explanation['waiting_for']; text: string } {
  if (row.status === 'pending') return { waiting_for: 'signature', text: 'it is signed next' }
  if (row.status === 'sent') return { waiting_for: 'acceptance', text: 'it is signed, and no node has accepted it yet' }
  const waited_ms = now - Date.parse(row.sent_at ?? row.created_at)
  const usual_ms = Math.max(few_blocks * (average_blocktime_ms ?? default_blocktime_ms), min_wait_ms)
  if (waited_ms <= usual_ms) {
    return { waiting_for: 'block', text: 'a node has it, and one of the next blocks includes it' }
  }
  const chain = head_at === undefined ? '' : `; the chain's last block is ${span(now - head_at)} old`
  return { waiting_for: 'block', text: `no block has included it for ${span(waited_ms)}${chain}` }
}

/** `12 s`, `5 min`, `3 h`, `2 d`: never more than passed. */
function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000))
  if (s < 60) return `${s} s`
  if (s < 3_600) return `${Math.floor(s / 60)} min`
  return s < 172_800 ? `${Math.floor(s / 3_600)} h` : `${Math.floor(s / 86_400)} d`
}
