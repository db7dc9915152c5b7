import { RelayerError } from './error.ts'
import { pause } from './pause.ts'

const firstPauseMs = 500
const longestRetryAfterS = 60
/** A timer takes no longer time. */
const longestTimeoutMs = 2 ** 31 - 1

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, which rejects with the reason of the signal. */
  signal?: AbortSignal
  /** The deadline of the call, with its retries and the pauses between them. Default: that of the client. */
  timeoutMs?: number
  /** The deadline of each attempt. Default: that of the client. */
  attemptTimeoutMs?: number
}

/** The result of a call with its HTTP response, whose body is read already: `response.status`, `response.headers`. */
export interface WithResponse<T> {
  data: T
  response: Response
  /** The X-Request-Id header, which the service's log shows too. */
  requestId: string | undefined
}

/** The promise of a call. */
export interface ApiPromise<T> extends Promise<T> {
  /** The result with status, headers and request id of its response. */
  withResponse(): Promise<WithResponse<T>>
}

export function apiPromise<T>(answered: Promise<WithResponse<T>>): ApiPromise<T> {
  const data = answered.then((answer) => answer.data)
  // Through `data`, so that a failure has exactly one unhandled promise when nobody waits for it.
  return Object.assign(data, { withResponse: () => data.then(() => answered) })
}

/**
 * Runs with a signal that aborts when the given one does, and with a TimeoutError after the time. Rejects at that moment, also when the
 * run ignores its signal. Throws RangeError for a time that is no number of milliseconds; Infinity is no deadline.
 */
export async function withDeadline<T>(
  subject: 'call' | 'attempt',
  timeoutMs: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!(timeoutMs > 0) || (timeoutMs > longestTimeoutMs && timeoutMs !== Number.POSITIVE_INFINITY))
    throw new RangeError(`The timeout of the ${subject} must be 1 to ${longestTimeoutMs} ms; it is ${timeoutMs}`)
  signal?.throwIfAborted()
  const controller = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true })
  })
  const abort = () => controller.abort(signal?.reason)
  const expire = () => controller.abort(new DOMException(`The ${subject} took over ${timeoutMs} ms`, 'TimeoutError'))
  const timer = timeoutMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(expire, timeoutMs)
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([run(controller.signal), aborted])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * Repeats a run after a 429, which means that nothing was done. With an Idempotency-Key also while it is unknown whether the run took
 * effect, or the service could not take it: after a lost connection, a timeout, 408, 503 and the response of a proxy.
 */
export async function withRetries<T>(
  maxRetries: number,
  hasKey: boolean,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  for (let retry = 0; ; retry += 1) {
    try {
      return await run()
    } catch (error) {
      const pauseMs = retry < maxRetries && !signal.aborted ? pauseBeforeRetry(error, retry, hasKey) : undefined
      if (pauseMs === undefined) throw error
      await pause(pauseMs, signal)
    }
  }
}

/** In milliseconds. Undefined: the call is not repeated. */
function pauseBeforeRetry(error: unknown, retry: number, hasKey: boolean): number | undefined {
  const { status, retryAfter } = error instanceof RelayerError ? error : {}
  if ((retryAfter ?? 0) > longestRetryAfterS) return undefined
  if (status === 429) return retryAfter === undefined ? undefined : retryAfter * 1_000
  if (!hasKey || !(isUnknown(error) || status === 408 || status === 503)) return undefined
  return Math.max((retryAfter ?? 0) * 1_000, firstPauseMs * 2 ** retry)
}

/** Whether the service may have carried out the request although it did not answer. */
export const isUnknown = (error: unknown): boolean =>
  error instanceof RelayerError
    ? error.code === undefined && error.status >= 502
    : error instanceof TypeError || isTimeout(error)

/** A deadline has passed. */
export const isTimeout = (error: unknown): error is DOMException =>
  error instanceof DOMException && error.name === 'TimeoutError'
