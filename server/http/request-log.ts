import type { Logger } from 'pino'
import type { Ended } from './request-context.ts'

/** One line per request, without path, query, headers and body, because these may contain secrets. */
export const createRequestLog =
  (logger: Logger): Ended =>
  ({ request_id, method, operation = null, status, duration_ms, caller, remote_address, aborted }) =>
    logger.info(
      {
        request_id,
        method,
        operation,
        status,
        duration_ms: Math.round(duration_ms * 1_000) / 1_000,
        caller: caller?.id ?? null,
        remote_address,
        ...(aborted && { aborted }),
      },
      'request',
    )
