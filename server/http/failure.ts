import type { Logger } from 'pino'
import type { Failure } from '../../generated/openapi.ts'
import { ApiError, statusOf } from '../errors.ts'

export interface FailureAnswer {
  status: number
  headers: Record<string, string>
  body: Failure
}

const internal = new ApiError('internal', 'Internal Server Error')

/** What a caller is told of an error. What is not ours to tell is logged, and says "Internal Server Error". */
export function toFailure(error: unknown, request_id: string, logger: Logger): FailureAnswer {
  const told = tellable(error)
  if (!told) logger.error({ err: error, request_id }, 'a request failed')
  const { code, message, details, headers } = told ?? internal
  const body: Failure = { success: false, data: null, message }
  if (details.length > 0) body.details = details
  return { status: statusOf[code], headers, body }
}

/** Express throws an error with status 400 for a path that is no URI. */
function tellable(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof URIError) return new ApiError('bad_request', 'Bad Request', [pathDetail])
  return undefined
}

const pathDetail = { path: '/path', message: 'must be percent-encoded UTF-8' }
