import type { CallerChains, Chains } from '../chain/chains.ts'
import type { Fault } from '../domain/errors.ts'
import type { Observer } from '../domain/observer.ts'
import type { Caller, Share } from '../domain/operation.ts'
import type { Incident, KeyServiceState, PoolRow } from '../domain/rows.ts'
import type { KeyServices } from '../keys/key-services.ts'
import type { Keyring } from '../keys/keyring.ts'
import type { Vault } from '../keys/secret-encryption.ts'
import type { GenerationCache } from '../lib/cache.ts'
import type { TargetCheck } from '../lib/ssrf-guard.ts'
import type { FacilitatorRow } from '../store/queries/facilitators.ts'
import type { Store } from '../store/store.ts'
import type { Deliverer } from '../webhooks/deliverer.ts'
import type { ProblemList } from './problems.ts'
import type { TransactionsContext } from './transactions/send.ts'
import type { WaitContext } from './transactions/wait-for-status.ts'

/** The effects of the operations. */
export interface ServicesContext extends TransactionsContext, WaitContext {
  store: Store
  /** Pools and facilitators are cached while the store's generation is unchanged. */
  pools: GenerationCache<PoolRow | undefined>
  facilitators: GenerationCache<FacilitatorRow | undefined>
  observer: Observer
  keyring: Keyring
  keyServices: Pick<KeyServices, 'admit'>
  vault: Pick<Vault, 'seal'>
  /** A node is called for a request with the request's access only. */
  chains: CallerChains
  /** For facts that are read once for everybody. */
  background: Pick<Chains, 'networkClient'>
  /** Reports a change, to wake waiting requests here and on other servers. */
  changed(): void
  /** Makes the relayer's sender read the chain at once. `resend`: and broadcast again what is not in a block. */
  pollNow(relayerRowId: number, resend?: boolean): void
  /** Works for the relayer now. Resolves at the end of one tick. */
  runSender(relayerRowId: number): Promise<void>
  /** The settings of a relayer's funding were changed. */
  fund(relayerRowId: number): void
  webhooks: {
    sendTest: Deliverer['test']
    /** There are deliveries to make. */
    wake(notificationRowId: number): void
  }
  /** The reason why a URL may not be called; undefined: it may. */
  checkTarget: TargetCheck
  shares: {
    /** Open event streams. */
    streams: Share
    /** Requests that wait for a status of a transaction. */
    waits: Share
  }
  /** Counts this many additional requests of the caller. Throws DomainError (429). */
  countCalls(caller: Caller, count: number): Promise<void>
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  isStopping(): boolean
  /** The newest changes of state that any server noticed, newest first. */
  incidents(): Promise<Incident[]>
  /** What this process saw of key services, by type. */
  keyServiceStates(): KeyServiceState[]
  problems: ProblemList
  /** Of the contract. */
  version: string
  /** The reasons why the process is not ready; empty when it is. */
  unready(): Promise<Fault[]>
}
