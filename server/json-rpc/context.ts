import type { InOrder } from '../core/in-order.ts'
import type { OperationId, OperationRequest } from '../core/operation.ts'
import type { PendingAuditEntry, RelayerRow } from '../core/rows.ts'
import type { Call } from './call.ts'

export type Request = OperationRequest<'callJsonRpc'>

/** One call, with all that its method needs. */
export interface Context extends Call {
  relayer: RelayerRow
  request: Request
  /** The place in a batch; undefined for a single call. */
  index: number | undefined
  /** Calls back at the end of the request. */
  onClose(callback: () => void): void
  /** The order of the request's transactions. */
  inOrder: InOrder
  /**
   * Authorizes the caller for an operation again, and carries it out with an audit entry of its own. `status`: its HTTP status on success.
   */
  as<T>(operation: OperationId, status: number, work: (auditEntry: PendingAuditEntry) => Promise<T>): Promise<T>
}

export type Method = (context: Context) => Promise<unknown>
