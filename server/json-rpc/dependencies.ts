import type { Handlers } from '../core/operation.ts'
import type { ContractDocument } from '../http/document.ts'
import type { OperationDependencies } from '../operations/dependencies.ts'

/** What a call needs of the service. Most methods are an operation of the contract, with its rights, policies and limits. */
export interface JsonRpcDependencies
  extends Pick<OperationDependencies, 'store' | 'keyring' | 'sending' | 'countCalls' | 'unexpected'> {
  operations: Omit<Handlers, 'callJsonRpc'>
  contract: ContractDocument
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}
