import type { AttemptResult } from './attempt.ts'

const seconds = 1_000
const minutes = 60 * seconds
const hours = 60 * minutes

/** The retry backoff after each failed attempt. After the last one the delivery has failed. */
const waitsMs = [
  5 * seconds,
  5 * minutes,
  30 * minutes,
  2 * hours,
  5 * hours,
  10 * hours,
  14 * hours,
  20 * hours,
  24 * hours,
]
const jitter = 0.2
const minRetryAfterMs = 1 * seconds
const maxRetryAfterMs = 24 * hours
const disableAfterMs = 120 * hours
/** After as long a time of failures, the first success makes the waiting deliveries due. */
const outageMs = 1 * minutes

export interface Verdict {
  status: 'pending' | 'delivered' | 'failed'
  failures: number
  next_at: number
  disable?: string
  /** The target answers again after an outage: the other waiting deliveries become due. */
  recovered?: boolean
}

/**
 * Decides what follows from an attempt. Pure. `failures`: failed attempts so far. `failing_since`: the start of the target's
 * unbroken failures. `now`: milliseconds since the epoch. `random`: from 0 to 1. `scale`: the multiplier of the schedule (1, less
 * in tests).
 */
export function judge(
  { status, error, retry_after_s }: AttemptResult,
  failures: number,
  failingSince: number | undefined,
  now: number,
  random: number,
  scale: number,
): Verdict {
  if (status !== null && status >= 200 && status < 300) {
    const recovered = failingSince !== undefined && now - failingSince >= outageMs * scale
    return { status: 'delivered', failures, next_at: now, recovered }
  }
  const failed = failures + 1
  if (status === 410) {
    return {
      status: 'failed',
      failures: failed,
      next_at: now,
      disable: 'The target responded 410 Gone; update the url or signing_key to enable the notification',
    }
  }
  if (failingSince !== undefined && now - failingSince >= disableAfterMs * scale) {
    const disable = `Every attempt has failed for ${disableAfterMs / hours} hours; the last failure: ${error}`
    return { status: 'failed', failures: failed, next_at: now, disable: disable.slice(0, 1_000) }
  }
  const waitMs = waitsMs[failures]
  if (waitMs === undefined) return { status: 'failed', failures: failed, next_at: now }
  const askedMs = retry_after_s === undefined ? undefined : retry_after_s * seconds
  const nextMs =
    askedMs === undefined
      ? waitMs * (1 - jitter + 2 * jitter * random)
      : Math.min(Math.max(askedMs, minRetryAfterMs), maxRetryAfterMs)
  return { status: 'pending', failures: failed, next_at: Math.ceil(now + nextMs * scale) }
}
