import { STATUS_CODES } from 'node:http'
import type { ErrorRequestHandler } from 'express'
import type { Logger } from 'pino'
import type { DryRun, Failure, FailureDetail } from '../../../generated/openapi.ts'
import {
  DomainError,
  type ErrorCode,
  type Fault,
  type Field,
  type SentTransaction,
  type Subject,
} from '../../domain/errors.ts'
import type { Caller } from '../../domain/operation.ts'
import type { RequestContext } from './request-context.ts'

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
  already_exists: 409,
  in_use: 409,
  invalid_state: 409,
  limit_reached: 409,
  already_sent: 409,
  possibly_sent: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  expectation_failed: 417,
  idempotency_mismatch: 422,
  gas_limit_too_low: 422,
  key_service_refused: 422,
  precondition_required: 428,
  rate_limited: 429,
  header_too_large: 431,
  internal: 500,
  not_implemented: 501,
  bad_gateway: 502,
  unavailable: 503,
  outcome_unknown: 503,
} as const satisfies Record<ErrorCode, number>

/** `message` of a failure whose error has no sentence of its own, where it is not the status's phrase. */
const sentenceOf: Partial<Record<ErrorCode, string>> = {
  insufficient_funds: 'The balance is too low',
  execution_reverted: 'The call reverts',
  forbidden: 'The API key lacks the right',
  policy_violation: 'A policy refuses the request',
  already_exists: 'It exists already',
  in_use: 'Other resources use it',
  invalid_state: 'Its state does not allow this',
  limit_reached: 'There are as many as are allowed',
  already_sent: 'It was sent already',
  possibly_sent: 'It may have been sent already',
  precondition_failed: 'It was changed since it was read',
  payload_too_large: 'Bad Request',
  unsupported_media_type: 'Bad Request',
  idempotency_mismatch: 'The Idempotency-Key was used with another body',
  gas_limit_too_low: 'The gas limit is too low',
  key_service_refused: 'The key service refused',
  precondition_required: 'If-Match is required',
  unavailable: 'The request cannot be carried out now',
  outcome_unknown: 'The outcome of the request is unknown',
}

export const phraseOf = (code: ErrorCode): string => sentenceOf[code] ?? (STATUS_CODES[statusOf[code]] as string)

/** The path of each subject in `details`. A member of the request is named by a JSON pointer (RFC 6901). */
const placeOf: Record<Subject, string> = {
  input: '/body',
  idempotency_key: '/headers/idempotency-key',
  if_match: '/headers/if-match',
  current: 'current',
  token: '/headers/authorization',
  origin: '/headers/origin',
  page: '/query/page',
  max_fee_per_gas: '/query/max_fee_per_gas',
  named: '/path',
  policies: 'policies',
  pool_policies: 'pool/policies',
  budget: 'api_key/budget',
  api_key: 'api_key',
  sponsorship: 'sponsorship',
  facilitator: 'facilitator',
  relayer: 'relayer',
  pool: 'pool',
  signer: 'signer',
  network: 'network',
  node: 'node',
  node_calls: 'node_calls',
  next_nonce: 'next_nonce',
  refill: 'refill',
  store: 'store',
  audit: 'audit',
  process: 'process',
}

/** One reason for a failure. `path`: a JSON pointer that starts with `/body`, `/query`, `/path` or `/headers`, or another subject. */
export interface Detail {
  path: string
  /** For programs. Absent: the word of the failure's code. */
  code?: string
  message: string
  resets_at?: string
}

/** A failure of a request as HTTP knows it: its path, query, headers, size and rate. */
export class ApiError extends DomainError {
  readonly details: readonly Detail[]
  readonly headers: Record<string, string>

  constructor(code: ErrorCode, message: string, details: readonly Detail[] = [], headers: Record<string, string> = {}) {
    super(code, message)
    this.name = 'ApiError'
    this.details = details
    this.headers = headers
  }
}

/** 400 for a part of the request beside the body. `path`: a JSON pointer. */
export const badRequestAt = (path: string, message: string): ApiError =>
  new ApiError('invalid_request', 'Bad Request', [{ path, message }])

/** Runs `read` for a value from the path or the query, whose faults it names. */
export function readFrom<T>(part: '/path' | '/query', read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof DomainError) || error instanceof ApiError) throw error
    const details = error.faults.map(({ field, message }) => ({ path: pointerOf(part, field), message }))
    throw new ApiError(error.code, messageOf(error), details)
  }
}

/** The longest `path` that the contract allows. */
const maxPath = 1_000

const pointerOf = (root: string, field: Field): string => [root, ...field].join('/').slice(0, maxPath)

export const detailOf = ({ of, field, message, member, code, resets_at }: Fault): Detail => ({
  path: pointerOf(placeOf[of], field),
  message: member ? `${message} (${pointerOf(placeOf.input, member)})` : message,
  ...((code !== undefined || ruled.has(of)) && { code: code ?? `${field[0]}` }),
  ...(resets_at !== undefined && { resets_at }),
})

/** Subjects whose first member is the rule that refuses, the word for programs. */
const ruled: ReadonlySet<Subject> = new Set(['policies', 'pool_policies', 'sponsorship', 'facilitator', 'budget'])

/** The reasons for an error, with their paths in the request, each with a code. */
export const detailsOf = (error: DomainError): FailureDetail[] =>
  (error instanceof ApiError ? error.details : error.faults.map(detailOf)).map((detail) => ({
    ...detail,
    code: detail.code ?? (error.code === 'invalid_request' ? 'invalid_value' : error.code),
  }))

/** A dry run as the contract has it. */
export const shownDryRun = (its: Omit<DryRun, 'refusals'> & { refusals: DomainError[] }): DryRun => ({
  ...its,
  refusals: its.refusals.map((error) => ({
    http_status: statusOf[error.code],
    code: error.code,
    message: messageOf(error),
    details: detailsOf(error),
  })),
})

/** `message` of the failure. */
export const messageOf = ({ code, sentence }: DomainError): string => sentence ?? phraseOf(code)

function headersOf(error: DomainError): Record<string, string> {
  if (error instanceof ApiError) return error.headers
  if (error.code === 'unauthorized') return { 'WWW-Authenticate': 'Bearer' }
  const { retry_after_s: seconds } = error.data
  return seconds === undefined ? {} : retryAfter(seconds)
}

/** A client that waits for longer asks again, so that nobody sleeps for a day because of one answer. */
const maxRetryAfterS = 3_600

export const retryAfter = (seconds: number) => ({ 'Retry-After': `${Math.min(seconds, maxRetryAfterS)}` })

interface FailureAnswer {
  status: number
  headers: Record<string, string>
  body: Failure
}

/** Sends the response to a failed request. The last middleware of the application. */
export function failureMiddleware(logger: Logger): ErrorRequestHandler {
  return (error, request, response, _next) => {
    const { request_id } = response.locals as RequestContext
    if (!tellable(error)) logger.error({ err: error, request_id }, 'request failed')
    if (response.headersSent) return void response.destroy()
    const { status, headers, body } = toFailure(error, response.locals as RequestContext)
    response.set(headers)
    // The unread rest of the body is discarded with the connection.
    if (!request.complete && hasBody(request.headers)) response.set('Connection', 'close')
    response.status(status).json(body)
  }
}

/**
 * The response to an error. An error that is not a DomainError becomes "Internal Server Error", without details. The caller is told of
 * another transaction only what it may read.
 */
export function toFailure(
  error: unknown,
  { request_id, caller }: Pick<RequestContext, 'request_id' | 'caller'>,
): FailureAnswer {
  const its = tellable(error) ?? internal
  const details = detailsOf(its)
  const { transaction, revision } = its.data
  const body = {
    ...bodyOf(its.code, messageOf(its), request_id),
    ...(details.length > 0 && { details }),
    ...(revision !== undefined && { revision }),
    ...(transaction && mayRead(caller, transaction) && { transaction: namedIn(transaction) }),
  }
  return { status: statusOf[its.code], headers: headersOf(its), body }
}

const mayRead = (caller: Caller | undefined, { relayer_id, pool_id }: SentTransaction): boolean =>
  caller?.roles.has('read') === true &&
  (caller.relayer_ids === undefined ||
    caller.relayer_ids.has(relayer_id) ||
    (pool_id != null && caller.pool_ids.has(pool_id)))

const namedIn = ({ id, relayer_id }: SentTransaction) => ({ id, relayer_id })

/** A body without details. */
export const bodyOf = (code: ErrorCode, message: string, requestId: string): Failure => ({
  success: false,
  data: null,
  code,
  message,
  doc_url: `/docs#/section/errors/${code}`,
  request_id: requestId,
})

const internal = new ApiError('internal', 'Internal Server Error')

function tellable(error: unknown): DomainError | undefined {
  if (error instanceof DomainError) return error
  // Express throws an error with status 400 for a path that is not percent-encoded UTF-8.
  if ((error as { status?: number } | undefined)?.status === 400)
    return new ApiError('invalid_request', 'Bad Request', [pathDetail])
  return undefined
}

const pathDetail = { path: '/path', message: 'must be percent-encoded UTF-8' }

const hasBody = (headers: Record<string, unknown>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
