import type { ErrorRequestHandler } from 'express'
import { ApiError, statusOf } from '../core/errors.ts'

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
