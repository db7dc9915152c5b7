import { crc32 } from 'node:zlib'
import { randomFrom } from '../support/random.ts'

/** What a receiver does with one delivery. */
export type Answer =
  | { kind: 'status'; status: number; headers: Record<string, string>; delay_ms: number }
  /** Nothing, until the other side gives up. */
  | { kind: 'hang' }
  /** The connection is reset before any byte. */
  | { kind: 'reset' }
  /** The connection ends in the middle of a 200. */
  | { kind: 'truncated' }

export interface AnswerOptions {
  seed: number
  /** Of one event; then it is taken. Below the ten attempts after which an event is given up. */
  max_faults: number
  hangs: boolean
}

/** Of all answers: 30 %. */
const faultShares = { error: 0.07, unavailable: 0.06, limited: 0.05, redirect: 0.03, reset: 0.04, truncated: 0.03 }
const hangShare = 0.02
const successes = [200, 201, 202, 204]
const slowShare = 0.2
const maxDelayMs = 50
/** Asked for in seconds of the schedule, which are a thousandth as long in a run. */
const maxRetryAfterS = 900

/** The same for the same event and the same count of its arrivals, in whatever order events come. */
export function drawAnswer(
  { seed, max_faults, hangs }: AnswerOptions,
  event: string,
  arrivals: number,
  faults: number,
  elsewhere: string,
): Answer {
  const random = randomFrom(crc32(`${seed} ${event} ${arrivals}`))
  const status = (code: number, headers: Record<string, string> = {}, delayMs = 0): Answer => ({
    kind: 'status',
    status: code,
    headers,
    delay_ms: delayMs,
  })
  const shares = { ...faultShares, ...(hangs ? { hang: hangShare } : { error: faultShares.error + hangShare }) }
  const retryAfter = { 'Retry-After': `${Math.floor(random() * maxRetryAfterS)}` }
  let left = faults < max_faults ? random() : 1
  for (const [fault, share] of Object.entries(shares)) {
    left -= share
    if (left >= 0) continue
    if (fault === 'error') return status(500)
    if (fault === 'unavailable') return status(503, retryAfter)
    if (fault === 'limited') return status(429, random() < 0.5 ? retryAfter : {})
    if (fault === 'redirect') return status(random() < 0.5 ? 302 : 307, { Location: elsewhere })
    return { kind: fault as 'hang' | 'reset' | 'truncated' }
  }
  const code = successes[Math.floor(random() * successes.length)] as number
  return status(code, {}, random() < slowShare ? Math.floor(random() * maxDelayMs) : 0)
}

export const isSuccess = (answer: Answer): boolean => answer.kind === 'status' && answer.status < 300
