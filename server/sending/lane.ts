import type { TransactionRow } from '../store/sending-rows.ts'
import { type HeldRelayer, type NetworkClient, type SendingDependencies, tierOf } from './dependencies.ts'
import type { LaneState } from './lane-state.ts'
import type { Nonces } from './nonces.ts'
import type { Sight, Step, Tracked } from './state.ts'

export interface SenderDependencies extends SendingDependencies {
  nonces: Nonces
  /** Whether this process may send for the relayer: asked before each signature. */
  mayWork(relayer_row_id: number): Promise<boolean>
  /** The same without waiting, by the monotonic clock: asked directly before a key is used. */
  holds(relayer_row_id: number): boolean
  /** Called after every change; wakes requests that wait for a status. */
  changed(): void
}

/** The subject of a round: one relayer, its network, and its lane state. */
export interface Lane {
  held: HeldRelayer
  networkClient: NetworkClient
  laneState: LaneState
}

export interface Decided {
  row: TransactionRow
  step: Step
}

/** The columns of a row that `decide` depends on. */
export const trackedOf = (row: TransactionRow): Tracked => ({
  ...row,
  nonce: row.nonce as number,
  tier: tierOf(row),
  valid_until: row.valid_until === null ? undefined : Date.parse(row.valid_until),
})

/** The facts of a lane for `decide`; `known` adds facts about one transaction. `now`: the wall clock. */
export const sightOf = ({ networkClient, laneState }: Lane, now: number, known: Partial<Sight>): Sight => ({
  now,
  head: laneState.head?.number ?? 0,
  latest: laneState.latest,
  confirmations: networkClient.network.required_confirmations,
  receipt: undefined,
  replaced: undefined,
  reorganized: false,
  payable: true,
  paused: false,
  blocks: 0,
  end: laneState.latest + laneState.window,
  ...known,
})

/** Closes the gaps of a lane, and notes how many stay open. */
export async function mendGaps(nonces: Pick<Nonces, 'mend'>, { held, networkClient, laneState }: Lane): Promise<void> {
  laneState.gaps = await nonces.mend(held.relayer, networkClient, laneState.latest)
}
