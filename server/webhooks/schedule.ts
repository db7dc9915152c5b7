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

/** The time and the history that a verdict depends on. */
export interface Circumstances {
  /** Failed attempts so far. */
  failures: number
  /** The start of the target's unbroken failures. Undefined: the last attempt succeeded. */
  failing_since: number | undefined
  /** Milliseconds since the epoch. */
  now: number
  /** From 0 to 1. */
  random: number
  /** The multiplier of the schedule: 1, less in tests. */
  scale: number
}

/** Decides what follows from an attempt. Pure. */
export function verdictOf(
  { status, error, retry_after_s }: AttemptResult,
  { failures, failing_since, now, random, scale }: Circumstances,
): Verdict {
  if (status !== null && status >= 200 && status < 300) {
    const recovered = failing_since !== undefined && now - failing_since >= outageMs * scale
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
  if (failing_since !== undefined && now - failing_since >= disableAfterMs * scale) {
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
