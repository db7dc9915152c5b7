import type { Failure } from '../../generated/openapi.ts'

/**
 * The codes of failures, as `code` of the response shows them, and the HTTP status of each. Callers branch on them: a code is
 * never renamed. Every failure that is reported to a caller is an ApiError. Any other error is logged, and the caller gets
 * "Internal Server Error". The error catalogue in openapi.yaml describes each code.
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
  already_sent: 409,
  possibly_sent: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  unprocessable: 422,
  gas_limit_too_low: 422,
  rate_limited: 429,
  header_too_large: 431,
  internal: 500,
  not_implemented: 501,
  bad_gateway: 502,
  unavailable: 503,
  outcome_unknown: 503,
} as const

export type ErrorCode = keyof typeof statusOf

/** One reason for a failure. `path`: a JSON pointer (RFC 6901) that starts with `/body`, `/query`, `/path` or `/headers`. */
export interface Detail {
  path: string
  message: string
}

/** What a failure names of a transaction. */
export type SentTransaction = NonNullable<Failure['transaction']>

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly details: Detail[]
  readonly headers: Record<string, string>
  /** The transaction that is the reason. The answer names it to those who may read it. */
  readonly transaction: SentTransaction | undefined

  constructor(
    code: ErrorCode,
    message: string,
    details: Detail[] = [],
    headers: Record<string, string> = {},
    transaction?: SentTransaction,
  ) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.details = details
    this.headers = headers
    this.transaction = transaction
  }
}

/** 400 for a request that matches the contract's schema and cannot be carried out. `path`: a JSON pointer to the cause. */
export const badRequest = (path: string, message: string): ApiError =>
  new ApiError('invalid_request', 'Bad Request', [{ path, message }])

/** 400: the account cannot pay for the transaction. */
export const insufficientFunds = (message: string): ApiError =>
  new ApiError('insufficient_funds', 'Bad Request', [{ path: '/body/value', message }])

/** 409: the current state of a resource does not permit the request. `path`: a JSON pointer to the cause. */
export const conflict = (path: string, message: string): ApiError =>
  new ApiError('conflict', 'Conflict', [{ path, message }])

export const notFound = (message: string): ApiError => new ApiError('not_found', message)

// These messages are part of the contract: clients compare them.
export const relayerNotFound = (id: string): ApiError => notFound(`Relayer with ID ${id} not found`)
export const transactionNotFound = (id: string): ApiError => notFound(`Transaction with ID ${id} not found`)
export const notificationNotFound = (): ApiError => notFound('Notification not found')

/** 409: a transaction of the chain has the caller's deduplication_id. */
export const alreadySent = (transaction: SentTransaction): ApiError =>
  new ApiError(
    'already_sent',
    'Conflict',
    [{ path: '/body/deduplication_id', message: 'another transaction of this chain has it' }],
    {},
    transaction,
  )

/** 409: the nonce that the caller gave is not the next one. */
export class NonceTaken extends ApiError {
  readonly next_nonce: number

  constructor(nextNonce: number) {
    super('conflict', 'Conflict', [{ path: '/body/nonce', message: `must be ${nextNonce}, the next nonce` }])
    this.name = 'NonceTaken'
    this.next_nonce = nextNonce
  }
}

/** 503: the database cannot be used, and nothing was changed. */
export class StoreUnavailable extends ApiError {
  /** The store has logged that the database is down. */
  readonly isLogged: boolean

  constructor({ isLogged = false } = {}) {
    const details = [{ path: 'store', message: 'The database is unavailable; try again later' }]
    super('unavailable', 'Service Unavailable', details, { 'Retry-After': '1' })
    this.isLogged = isLogged
  }
}

/** 403: policies of the relayer refuse the request. `details` names each of them. */
export const refusedBy = (details: Detail[]): ApiError => new ApiError('policy_violation', 'Forbidden', details)

/** 403: a paused relayer signs and sends nothing. */
export const relayerPaused = (): ApiError => new ApiError('relayer_paused', 'Relayer paused')

/** Settings, files or a database that the service cannot start with. The message has one line for each fault, and no secret. */
export class ConfigError extends Error {}
