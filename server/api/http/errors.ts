import type { ErrorRequestHandler } from 'express'
import type { Logger } from 'pino'
import type { Failure } from '../../../generated/openapi.ts'
import { ApiError, type ErrorCode, statusOf } from '../../domain/errors.ts'
import type { Caller } from '../../domain/operation.ts'
import type { RequestContext } from './request-context.ts'

export interface FailureAnswer {
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
    const { status, headers, body } = toFailure(error, (response.locals as RequestContext).caller)
    response.set(headers)
    // The unread rest of the body is discarded with the connection.
    if (!request.complete && hasBody(request.headers)) response.set('Connection', 'close')
    response.status(status).json(body)
  }
}

/**
 * The response to an error. An error that is not an ApiError becomes "Internal Server Error", without details. `caller`: who is told of
 * another transaction only what it may read.
 */
export function toFailure(error: unknown, caller?: Caller): FailureAnswer {
  const { code, message, details, headers, transaction } = tellable(error) ?? internal
  const body = {
    ...bodyOf(code, message),
    ...(details.length > 0 && { details }),
    ...(transaction && mayRead(caller, transaction.relayer_id) && { transaction }),
  }
  return { status: statusOf[code], headers, body }
}

const mayRead = (caller: Caller | undefined, relayerId: string): boolean =>
  caller?.roles.has('read') === true && (caller.relayer_ids?.has(relayerId) ?? true)

/** A body without details. */
export const bodyOf = (code: ErrorCode, message: string): Failure => ({
  success: false,
  data: null,
  code,
  message,
  doc_url: `/docs#/section/errors/${code}`,
})

const internal = new ApiError('internal', 'Internal Server Error')

function tellable(error: unknown): ApiError | undefined {
  if (error instanceof ApiError) return error
  // Express throws an error with status 400 for a path that is not percent-encoded UTF-8.
  if ((error as { status?: number } | undefined)?.status === 400)
    return new ApiError('invalid_request', 'Bad Request', [pathDetail])
  return undefined
}

const pathDetail = { path: '/path', message: 'must be percent-encoded UTF-8' }

const hasBody = (headers: Record<string, unknown>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const errors = {
  parse_error: { code: -32700, message: 'Parse error' },
  invalid_request: { code: -32600, message: 'Invalid Request' },
} as const

/**
 * Answers a fault of the body as JSON-RPC does (JSON-RPC 2.0, section 5), with status 200, because libraries read the error only
 * then. Faults of the path, the query and the headers stay HTTP failures.
 */
export const jsonRpcFailure =
  (kind: keyof typeof errors): ErrorRequestHandler =>
  (error, _request, response, next) => {
    const isOfBody =
      error instanceof ApiError &&
      statusOf[error.code] === 400 &&
      error.details.length > 0 &&
      error.details.every(({ path }) => path.startsWith('/body'))
    if (!isOfBody) return next(error)
    const { code, message } = errors[kind]
    const reason = error.details.map((detail) => detail.message).join('; ')
    const answer = { code, message: `${message}: the body ${reason}`, data: { details: error.details } }
    response.status(200).json({ jsonrpc: '2.0', id: null, error: answer })
  }
