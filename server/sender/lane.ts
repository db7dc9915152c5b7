import type { Sight, Step, Tracked } from '../domain/decide.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import type { HeldRelayer } from '../keys/keyring.ts'
import { type ChainSeen, newChainSeen } from './chain-state.ts'
import { type NetworkClient, type SendingDependencies, tierOf } from './context.ts'
import { type InPool, isSilent, newInPool } from './mempool-state.ts'
import type { Nonces } from './nonces/nonces.ts'
import { newSchedule, type Schedule } from './schedule.ts'

export interface SenderDependencies extends SendingDependencies {
  nonces: Nonces
  /** Whether this process may send for the relayer: asked before each signature. */
  mayWork(relayerRowId: number): Promise<boolean>
  /** The same without waiting, by the monotonic clock: asked directly before a key is used. */
  holds(relayerRowId: number): boolean
  /** Called after every change; wakes requests that wait for a status. */
  changed(): void
}

/**
 * What a lane remembers between two rounds: what the chain showed, when to look again, and what was broadcast. It holds for the
 * endpoints that showed it: with others a lane begins anew, and reads the chain before it sends.
 */
export interface LaneState {
  endpoints: string
  seen: ChainSeen
  schedule: Schedule
  pool: InPool
}

/** The subject of a round: one relayer and its network, with what the lane remembers. */
export interface Lane extends LaneState {
  held: HeldRelayer
  networkClient: NetworkClient
}

export const newLaneState = ({ endpoints }: NetworkClient): LaneState => ({
  endpoints,
  seen: newChainSeen(),
  schedule: newSchedule(),
  pool: newInPool(),
})

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

/** The facts of a lane for `decide`; `known` adds facts about one transaction. `now`: the wall clock; `elapsed`: the monotonic one. */
export const sightOf = (
  { networkClient, seen, pool, held }: Lane,
  row: TransactionRow,
  { now, elapsed }: { now: number; elapsed: number },
  known: Partial<Sight>,
): Sight => ({
  now,
  head: seen.head?.number ?? 0,
  latest: seen.latest,
  confirmations: networkClient.network.required_confirmations,
  receipt: undefined,
  proof: undefined,
  replaced: undefined,
  reorganized: seen.recheck,
  payable: true,
  paused: held.relayer.paused,
  blocks: seen.left_out.get(row.row_id)?.blocks ?? 0,
  end: seen.latest + pool.window,
  pooled: pool.pooled,
  is_silent: isSilent(pool, row.row_id, tierOf(row), elapsed),
  ...known,
})

/** Closes the gaps of a lane, and notes how many stay open. */
export async function mendGaps(nonces: Pick<Nonces, 'mend'>, { held, networkClient, seen }: Lane): Promise<void> {
  seen.gaps = await nonces.mend(held.relayer, networkClient, seen.latest)
}
