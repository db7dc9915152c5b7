import { DomainError } from '../domain/errors.ts'

/** The database cannot be used. The message gives the operator the reason. */
export class StoreError extends Error {}

/** The database cannot be used at present. It may be started again, or be reached again, at any time. */
export class DatabaseDown extends StoreError {}

/** The connection was lost, or the disk failed, at a commit: the changes were made or not. Nothing repeats them by itself. */
export class UnknownOutcome extends DomainError {
  constructor(
    explanation = 'The connection to the database was lost during the commit, so whether this request took effect is unknown; repeat a transaction only with its Idempotency-Key',
  ) {
    // Without Retry-After, by which programs repeat a request that did nothing.
    super('outcome_unknown', [{ of: 'store', field: [], message: explanation }])
  }
}
