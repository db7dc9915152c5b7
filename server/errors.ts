/**
 * Every failure that a caller is told of is an ApiError; its code gives the HTTP status by this one table.
 * Anything else that is thrown is ours alone: it is logged and the caller reads "Internal Server Error".
 */
export const statusOf = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unprocessable: 422,
  too_many_requests: 429,
  header_too_large: 431,
  internal: 500,
  bad_gateway: 502,
  unavailable: 503,
} as const

export type ErrorCode = keyof typeof statusOf

/** What was wrong (`message`), and where (`path`: a JSON pointer from `/body`, `/query`, `/path` or `/headers`). */
export interface Detail {
  path: string
  message: string
}

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: Detail[]
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, message: string, details: Detail[] = [], headers: Record<string, string> = {}) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.details = details
    this.headers = headers
  }
}

/** A request that the contract cannot refuse by its shape, but that cannot be carried out: 400, saying where. */
export const badRequest = (path: string, message: string): ApiError =>
  new ApiError('bad_request', 'Bad Request', [{ path, message }])

/** The state of things stands against it: 409, saying which. */
export const conflict = (path: string, message: string): ApiError =>
  new ApiError('conflict', 'Conflict', [{ path, message }])

export const notFound = (message: string): ApiError => new ApiError('not_found', message)

/** A policy of the relayer's stands against it: 403, naming each that does. */
export const refusedBy = (details: Detail[]): ApiError => new ApiError('forbidden', 'Forbidden', details)
