import type { AcceptedTransaction } from '../../generated/openapi.ts'
import type { PoolCreation, Replay } from '../core/new-transaction.ts'
import { withData } from './rules/transaction-data.ts'

/** The response to a repeated batch. */
export function answerBatchAgain({ body_hash, answer }: KnownAnswer, wanted_hash: string) {
  if (body_hash !== wanted_hash) return { outcome: 'mismatch' } as const
  return { outcome: 'replayed', transactions: JSON.parse(answer) as AcceptedTransaction[] } as const
}

/** A row of the table `idempotency`, with the data that it names. */
export interface KnownAnswer {
  body_hash: string
  answer: string
  data: Uint8Array | null
  transaction_row_id: number
}

/** The response to a repeated request. */
export function answerAgain({ body_hash, answer, data, transaction_row_id }: KnownAnswer, wanted_hash: string): Replay {
  if (body_hash !== wanted_hash) return { outcome: 'mismatch' }
  const transaction: AcceptedTransaction = JSON.parse(withData(answer, data))
  return { outcome: 'replayed', transaction, row_id: transaction_row_id }
}

/** Undoes a batch: a member was refused. */
export class Refused extends Error {
  readonly index: number
  readonly creation: PoolCreation

  constructor(index: number, creation: PoolCreation) {
    super('A member of a batch was refused')
    this.index = index
    this.creation = creation
  }
}
