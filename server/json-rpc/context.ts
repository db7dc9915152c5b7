import type { InOrder } from '../core/in-order.ts'
import type { Handlers, OperationId, OperationRequest } from '../core/operation.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../core/rows.ts'
import type { ContractDocument } from '../http/document.ts'
import type { OperationDependencies } from '../operations/dependencies.ts'
import type { WaitPlace } from '../sending/request/waiting.ts'
import type { Call } from './call.ts'

/** What a call needs of the service. Most methods are an operation of the contract, with its rights, policies and limits. */
export interface JsonRpcDependencies
  extends Pick<
    OperationDependencies,
    'store' | 'keyring' | 'findPool' | 'sending' | 'shares' | 'countCalls' | 'unexpected'
  > {
  operations: Omit<Handlers, 'callJsonRpc' | 'callPoolJsonRpc' | 'callSponsoredJsonRpc'>
  contract: ContractDocument
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

export type Request = Omit<OperationRequest<'callJsonRpc'>, 'path'>

/** One call, with all that its method needs. */
export interface Context extends Call {
  /** The relayers whose accounts the endpoint has: one, or those of a pool. */
  relayers: RelayerRow[]
  /** Of `relayers`: the one that answers for all, or whose account the call names. */
  relayer: RelayerRow
  pool: PoolRow | undefined
  request: Request
  /** The place in a batch; undefined for a single call. */
  index: number | undefined
  /** Calls back at the end of the request. */
  onClose(callback: () => void): void
  /** The place of the request among those that wait. Throws ApiError (429, 503). */
  place(): WaitPlace
  /** The order of the request's transactions. */
  inOrder: InOrder
  /** By relayer (row id): the time until which calls of the request wait for a signature. Each signature prolongs it. */
  patience: Map<number, number>
  /**
   * Authorizes the caller for an operation again, and carries it out with an audit entry of its own. `status`: its HTTP status on success.
   */
  as<T>(operation: OperationId, status: number, work: (auditEntry: PendingAuditEntry) => Promise<T>): Promise<T>
  /** The same call by the relayer with this address, which the caller must be permitted to use itself. Throws JsonRpcError. */
  by(account: unknown): Context
}

export type Method = (context: Context) => Promise<unknown>
