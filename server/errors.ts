/**
 * The codes of failures, as `code` of the response shows them, and the HTTP status of each. Callers branch on them: a code is
 * never renamed. Every failure that a caller is told of is an ApiError; anything else that is thrown is logged, and the response
 * says "Internal Server Error". The error catalogue in openapi.yaml describes each code.
 */
export const statusOf = {
  invalid_request: 400,
  insufficient_funds: 400,
  execution_reverted: 400,
  unauthorized: 401,
  forbidden: 403,
  policy_violation: 403,
  relayer_paused: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  unprocessable: 422,
  rate_limited: 429,
  header_too_large: 431,
  internal: 500,
  not_implemented: 501,
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
  new ApiError('invalid_request', 'Bad Request', [{ path, message }])

/** The account cannot pay for the transaction: 400. */
export const insufficientFunds = (message: string): ApiError =>
  new ApiError('insufficient_funds', 'Bad Request', [{ path: '/body/value', message }])

/** The state of things stands against it: 409, saying which. */
export const conflict = (path: string, message: string): ApiError =>
  new ApiError('conflict', 'Conflict', [{ path, message }])

export const notFound = (message: string): ApiError => new ApiError('not_found', message)

/** Policies of the relayer refuse it: 403, naming each that does. */
export const refusedBy = (details: Detail[]): ApiError => new ApiError('policy_violation', 'Forbidden', details)

/** A paused relayer signs and sends nothing: 403. */
export const relayerPaused = (): ApiError => new ApiError('relayer_paused', 'Relayer paused')
