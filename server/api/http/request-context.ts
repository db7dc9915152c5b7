import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Caller, OperationId } from '../../domain/operation.ts'

/** A request and its response, for the log and metrics. The only text from the caller is an id of a checked form. */
export interface RequestContext {
  /** The caller's X-Request-Id, or a generated one. */
  request_id: string
  method: string
  /** Undefined when the request was refused before routing, or its path is not in the contract. */
  operation: OperationId | undefined
  /** Undefined before authentication. */
  caller: Caller | undefined
  remote_address: string
  /** Whether the operation's handler has started. Until then the request can be refused. */
  started: boolean
  /** The response's status; 0 without a response. */
  status: number
  /** The client did not read the whole response. */
  aborted: boolean
  duration_ms: number
}

export type Ended = (context: RequestContext) => void

const requestId = /^[A-Za-z0-9._-]{1,64}$/

/** Node joins duplicate headers with a comma, which the pattern of an id refuses. */
export function newRequestContext(request: IncomingMessage | undefined, makeId: () => string): RequestContext {
  const given = request?.headers['x-request-id'] as string | undefined
  return {
    request_id: given !== undefined && requestId.test(given) ? given : makeId(),
    method: request?.method ?? '',
    operation: undefined,
    caller: undefined,
    remote_address: request?.socket.remoteAddress ?? '',
    started: false,
    status: 0,
    aborted: false,
    duration_ms: 0,
  }
}

/** One line per request, without path, query, headers and body, because these may contain secrets. */
export const logRequest = (
  logger: Logger,
  { request_id, method, operation, status, duration_ms, caller, remote_address, aborted }: RequestContext,
): void =>
  logger.info(
    {
      request_id,
      method,
      operation: operation ?? null,
      status,
      duration_ms: Math.round(duration_ms * 1_000) / 1_000,
      caller: caller?.id ?? null,
      remote_address,
      ...(aborted && { aborted }),
    },
    'request',
  )
