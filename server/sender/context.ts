import type { CallerChains, NetworkClient } from '../chain/chains.ts'
import type { Tier } from '../domain/fees.ts'
import type { Observer } from '../domain/observer.ts'
import type { RelayerRow } from '../domain/rows.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import type { Store } from '../store/store.ts'

export type { NetworkClient } from '../chain/chains.ts'

/** The effects that sending has. */
export interface SenderContext {
  store: Store
  observer: Observer
  findSigner(relayerId: string): Promise<RelayerSigner | undefined>
  /** Throws DomainError (404) when the relayer does not exist. */
  findRelayer(relayerId: string): Promise<RelayerRow>
  /** For the background work. */
  networkClient(relayer: RelayerRow): Promise<NetworkClient | undefined>
  /** For requests. */
  clientFor: CallerChains['clientFor']
  makeId(): string
  /** The wall clock: milliseconds since the Unix epoch. */
  now(): number
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

export const tierOf = (row: Pick<TransactionRow, 'speed'>): Tier => row.speed?.tier ?? 'average'

/** The highest prices that the request of a transaction gave, in wei per unit of gas. */
export const ceilingOf = ({ fee_ceiling, tip_ceiling }: Pick<TransactionRow, 'fee_ceiling' | 'tip_ceiling'>) => ({
  fee: fee_ceiling === null ? undefined : BigInt(fee_ceiling),
  tip: tip_ceiling === null ? undefined : BigInt(tip_ceiling),
})

/** The newest state of a relayer: it may have changed during a round. */
export const currentOf = async ({ store }: Pick<SenderContext, 'store'>, relayer: RelayerRow): Promise<RelayerRow> =>
  (await store.getRelayerByRowId(relayer.row_id)) ?? relayer
