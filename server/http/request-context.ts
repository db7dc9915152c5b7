import type { IncomingMessage } from 'node:http'
import type { Caller, OperationId } from '../operation.ts'

/** A request and its answer, as they are logged and counted. Of what a caller wrote there is only an id whose shape was checked. */
export interface RequestContext {
  /** The caller's X-Request-Id, or one made here. */
  request_id: string
  method: string
  /** Undefined when it came to none: refused before, or no path of the contract's. */
  operation: OperationId | undefined
  /** Undefined before the token was checked. */
  caller: Caller | undefined
  remote_address: string
  /** Of the answer; 0 when none was begun. */
  status: number
  /** The answer was not taken to its end. */
  aborted: boolean
  duration_ms: number
}

export type Ended = (context: RequestContext) => void

const request_id = /^[A-Za-z0-9._-]{1,64}$/

/** A header that came twice arrives joined with a comma, and so is none. */
export function newRequestContext(request: IncomingMessage | undefined, makeId: () => string): RequestContext {
  const given = request?.headers['x-request-id'] as string | undefined
  return {
    request_id: given !== undefined && request_id.test(given) ? given : makeId(),
    method: request?.method ?? '',
    operation: undefined,
    caller: undefined,
    remote_address: request?.socket.remoteAddress ?? '',
    status: 0,
    aborted: false,
    duration_ms: 0,
  }
}
