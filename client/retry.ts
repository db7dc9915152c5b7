import { retryAfterS } from './error.ts'
import { pause } from './pause.ts'

const maxWaitS = 60

/**
 * A fetch that retries a request after a 429 with a Retry-After of at most a minute. A 429 means that nothing was done, so a retry
 * is safe. The request's signal ends the wait.
 */
export function obeyRetryAfter(
  fetch: (request: Request) => Promise<Response>,
  maxRetries: number,
): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let retry = 0; ; retry += 1) {
      const response = await fetch(retry < maxRetries ? request.clone() : request)
      const waitS = response.status === 429 ? retryAfterS(response) : undefined
      if (retry >= maxRetries || waitS === undefined || waitS > maxWaitS) return response
      await response.body?.cancel()
      await pause(waitS * 1_000, request.signal)
    }
  }
}
