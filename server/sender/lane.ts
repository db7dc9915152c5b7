import type { ChainObservation, Step, TransactionState } from '../domain/decide.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import { type ChainState, newChainState } from './chain-state.ts'
import { type NetworkClient, type SenderContext, tierOf } from './context.ts'
import { isSilent, type MempoolState, newMempoolState } from './mempool-state.ts'
import type { Nonces } from './nonces/nonces.ts'
import { newSchedule, type Schedule } from './schedule.ts'

export interface SenderDependencies extends SenderContext {
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
export interface SenderState {
  endpoints: string
  seen: ChainState
  schedule: Schedule
  pool: MempoolState
}

/** The subject of a round: one relayer and its network, with what the lane remembers. */
export interface Tick extends SenderState {
  held: RelayerSigner
  networkClient: NetworkClient
}

/** `before`: of the same relayer at the same endpoints, before it rested. What nodes hold of an account stays. */
export const newSenderState = ({ endpoints }: NetworkClient, before?: SenderState): SenderState => ({
  endpoints,
  seen: newChainState(),
  schedule: newSchedule(),
  pool: newMempoolState(before?.pool.window),
})

export interface Decided {
  row: TransactionRow
  step: Step
}

/** The columns of a row that `decide` depends on. */
export const transactionState = (row: TransactionRow): TransactionState => ({
  ...row,
  nonce: row.nonce as number,
  tier: tierOf(row),
  valid_until: row.valid_until === null ? undefined : Date.parse(row.valid_until),
})

/** The facts of a lane for `decide`; `known` adds facts about one transaction. `now`: the wall clock; `elapsed`: the monotonic one. */
export const chainObservation = (
  { networkClient, seen, pool, held }: Tick,
  row: TransactionRow,
  { now, elapsed }: { now: number; elapsed: number },
  known: Partial<ChainObservation>,
): ChainObservation => ({
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
  end: seen.latest + pool.window.size,
  pooled: pool.pooled,
  is_silent: isSilent(pool, row.row_id, tierOf(row), elapsed),
  ...known,
})

/** Closes the gaps of a lane, and notes how many stay open. */
export async function fillNonceGaps(nonces: Pick<Nonces, 'mend'>, { held, networkClient, seen }: Tick): Promise<void> {
  seen.gaps = await nonces.mend(held.relayer, networkClient, seen.latest)
}
