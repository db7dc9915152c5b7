import type { NetworkClient } from '../chain/chains.ts'
import type { Observer } from '../domain/observer.ts'
import type { RelayerRow } from '../domain/rows.ts'
import type { TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { isSameWait, type Wait, waitColumns } from '../domain/wait-reason.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import { yieldToEventLoop } from '../lib/timers.ts'
import type { Budgets } from '../store/budgets.ts'
import type { Store } from '../store/store.ts'

export type { NetworkClient } from '../chain/chains.ts'

/** The effects that sending has. */
export interface SenderContext {
  store: Store
  budgets: Pick<Budgets, 'find'>
  observer: Observer
  findSigner(relayerId: string): Promise<RelayerSigner | undefined>
  /** Throws DomainError (404) when the relayer does not exist. */
  findRelayer(relayerId: string): Promise<RelayerRow>
  /** For the background work. */
  networkClient(relayer: RelayerRow): Promise<NetworkClient | undefined>
  makeId(): string
  /** The wall clock: milliseconds since the Unix epoch. */
  now(): number
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

export type NonceContext = Pick<
  SenderContext,
  'store' | 'budgets' | 'networkClient' | 'makeId' | 'now' | 'elapsed' | 'observer'
>

/** The newest state of a relayer: it may have changed during a tick. */
export const currentOf = async ({ store }: Pick<SenderContext, 'store'>, relayer: RelayerRow): Promise<RelayerRow> =>
  (await store.getRelayerByRowId(relayer.row_id)) ?? relayer

const updatesAtOnce = 100

interface CommitContext extends Pick<SenderContext, 'store'> {
  /** Called after every change; wakes requests that wait for a status. */
  changed(): void
}

/** Updates are committed in batches, so that the event loop stays free: a block may change 1,000 rows, which take 100 ms. */
export async function commit(
  { store, changed }: CommitContext,
  updates: TransactionUpdate[],
): Promise<(TransactionRow | undefined)[]> {
  const rows: (TransactionRow | undefined)[] = []
  for (let at = 0; at < updates.length; at += updatesAtOnce) {
    if (at > 0) await yieldToEventLoop()
    rows.push(...(await store.move(updates.slice(at, at + updatesAtOnce))))
    changed()
  }
  return rows
}

/** Records why a transaction waits, unless its row says so already. */
export async function recordWait(context: CommitContext, row: TransactionRow, wait: Wait): Promise<void> {
  if (isSameWait(row, wait)) return
  await commit(context, [{ row_id: row.row_id, revision: row.revision, set: waitColumns(row, wait) }])
}
