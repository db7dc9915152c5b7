import type { AcceptedTransaction, SendTransactionRequest } from '../../../generated/openapi.ts'
import type { NewTransaction } from '../../domain/new-transaction.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
import type { SenderContext } from '../../sender/context.ts'
import type { TransactionQuote } from './quote.ts'

/** Who asks for a transaction: a caller of the API, or background work. */
export interface Asker<Rights = unknown> {
  /** Checks the rights of the caller as they are now. Throws DomainError (401, 403, 404). */
  authorize(): Promise<Rights>
  nodes: NodeAccess
}

export interface Idempotency {
  caller: string
  key: string
  /** Of what is the same request; absent: of the body. */
  body_hash?: string
}

/** Changes a transaction before it is accepted: other limits count it too. Throws DomainError. */
export type Complete = (transaction: NewTransaction, quote: TransactionQuote, relayer: RelayerRow) => NewTransaction

export const unchanged: Complete = (transaction) => transaction

export interface Accepted {
  transaction: AcceptedTransaction
  row_id: number
}

/** The parts of the submission of one transaction. */
export interface SubmitParts {
  store: SenderContext['store']
  findRelayer(relayerId: string): Promise<RelayerRow>
  prepare(
    relayer: RelayerRow,
    request: TransactionRequest,
    asker: Asker,
  ): Promise<{ relayer: RelayerRow; quote: TransactionQuote }>
  /** The checks of the relayer's present state. Throws DomainError. */
  check(relayer: RelayerRow, request: TransactionRequest, quote: TransactionQuote): void
  newTransaction(relayer: RelayerRow, request: TransactionRequest, quote: TransactionQuote): NewTransaction
  hashOf(body: SendTransactionRequest): string
  /** Something was accepted for the relayer. */
  wake(relayerRowId: number): void
}
