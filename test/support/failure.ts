import type { Failure } from '../../generated/openapi.ts'
import { toFailure } from '../../server/api/http/errors.ts'
import { DomainError } from '../../server/domain/errors.ts'

/** The body of the response to an error that callers are told of. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof DomainError)) throw error
  return toFailure(error, { request_id: 'test', caller: undefined }).body
}

/** The work, which throws that body. */
export const failing = (work: () => unknown) => () => {
  try {
    return work()
  } catch (error) {
    throw Object.assign(new Error(), failureOf(error))
  }
}
