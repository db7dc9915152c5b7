import type { Tier } from '../core/prices.ts'
import type { RelayerRow } from '../core/rows.ts'
import type { TransactionRow } from '../core/sending-rows.ts'
import type { NetworkClient } from '../evm/chains.ts'
import type { Store } from '../store/store.ts'
import type { Observer } from '../telemetry/observer.ts'

export type { NetworkClient } from '../evm/chains.ts'

export interface RawSignature {
  rs: Uint8Array
  recovery: number
  /** Of the key service, for the audit trail. */
  request_id?: string
}

export interface HeldRelayer {
  relayer: RelayerRow
  signer: {
    address: string
    /** How many signatures may be asked for at once; 1 for a key in this process. Otherwise it changes. */
    readonly at_once: number
    /** `signal`: a request that still waits is dropped when it aborts. */
    sign(digest: Uint8Array, preimage: () => Uint8Array, signal?: AbortSignal): RawSignature | Promise<RawSignature>
  }
}

/** The effects that sending has. */
export interface SendingDependencies {
  store: Store
  observer: Observer
  findSigner(relayer_id: string): Promise<HeldRelayer | undefined>
  /** Throws ApiError (404) when the relayer does not exist. */
  findRelayer(relayer_id: string): Promise<RelayerRow>
  networkClient(relayer: RelayerRow): Promise<NetworkClient | undefined>
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
export const currentOf = async (
  { store }: Pick<SendingDependencies, 'store'>,
  relayer: RelayerRow,
): Promise<RelayerRow> => (await store.getRelayerByRowId(relayer.row_id)) ?? relayer
