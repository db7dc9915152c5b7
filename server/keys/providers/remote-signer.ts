import { printable } from '../../lib/printable.ts'
import { type FaultKind, KeyServiceFault, KeyServiceUnavailable, type RemoteKey } from '../key-service.ts'
import { addressOf, curve } from '../secp256k1.ts'
import { lowered, type Signature, type Signer } from '../signer.ts'

/** The most calls in flight per key. At 50 ms a call, 64 of them give 1,280 signatures/s. */
export const maxInFlight = 64
const maxWaiting = 1_000
/** From the request until the signature, with all waits and retries. */
const deadlineMs = 10_000
const callMs = 5_000
/** Timers may be early by so much. */
const timerMs = 5
/** A throttled call is repeated until the deadline, any other failure twice. */
const maxAttempts = 3
const firstBackoffMs = 100
const maxBackoffMs = 2_000
const firstRestMs = 500
const maxRestMs = 5_000

export interface RemoteSignerDependencies {
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  /** Runs a call with a signal that aborts after `ms`, and when the service stops. */
  limited<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T>
  report: RemoteReport
}

export interface RemoteReport {
  /** A call ended. */
  called?(outcome: FaultKind | 'signed', durationMs: number): void
  /** How many more requests wait, or fewer. */
  waits?(change: number): void
  /** The key service does not sign, or (null) signs again. Once per change. */
  changed?(fault: KeyServiceFault | null): void
}

interface Job {
  /** Counts the requests. */
  number: number
  digest: Uint8Array
  preimage(): Uint8Array
  signal: AbortSignal | undefined
  check: (() => Promise<unknown>) | undefined
  due: number
  /** Of the first call. */
  began: number
  attempts: number
  /** Of its last call; a wrong answer stays, because something was signed. */
  fault: KeyServiceFault | undefined
  resolve(signature: Signature): void
  reject(error: unknown): void
}

/**
 * Signs with a key in a key service. Every signature is checked against the address before it is returned.
 *
 * Calls in flight, waiting requests and time are limited. Requests are served in their order. A throttled call halves the calls in
 * flight and is repeated after a backoff; each success allows more again. When others were answered since its first call, a request
 * that fails counts as throttled: a key service that queues its requests lets some of them time out. Any other failure opens the
 * circuit ("rest"): for a growing time every request rejects at once, and then one call tests whether the key service answers again.
 * Repeating a call is safe: bytes with a signature leave this process only after they are stored, and a signature that was lost on
 * the way is in no stored bytes.
 */
export function createRemoteSigner(
  key: RemoteKey,
  address: string,
  { elapsed, limited, report }: RemoteSignerDependencies,
): Signer {
  const waiting: Job[] = []
  let inFlight = 0
  let allowed = maxInFlight
  let backoffMs = firstBackoffMs
  /** No call starts before this time. */
  let startsAt = 0
  let answeredAt = Number.NEGATIVE_INFINITY
  let lastNumber = 0
  let rest: { until: number; ms: number; reason: string } | undefined
  let timer: NodeJS.Timeout | undefined

  function start(): void {
    if (waiting.length === 0) return
    const waitMs = Math.max(startsAt, rest?.until ?? 0) - elapsed()
    if (waitMs > 0) {
      later(waitMs)
      return
    }
    while (inFlight < (rest ? 1 : Math.floor(allowed)) && waiting.length > 0) {
      const job = waiting.shift() as Job
      if (job.signal?.aborted) {
        give(job)
        continue
      }
      inFlight += 1
      void attempt(job).finally(() => {
        inFlight -= 1
        start()
      })
    }
    if (waiting.length > 0) later(Math.max(1, (waiting[0] as Job).due - elapsed()))
  }

  /** Ends the requests whose time has passed, and starts calls. */
  function later(ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      const now = elapsed()
      while (waiting[0] && waiting[0].due <= now) give(waiting.shift() as Job)
      start()
    }, ms).unref()
  }

  const give = (job: Job) =>
    refuse(job, rest?.reason ?? 'the key service is too slow: no signature arrived in time', 1_000)

  const refuse = (job: Job, reason: string, retryAfterMs: number) =>
    job.reject(new KeyServiceUnavailable(reason, retryAfterMs, job.fault))

  async function attempt(job: Job): Promise<void> {
    const leftMs = job.due - elapsed()
    if (leftMs <= 0) return give(job)
    const began = elapsed()
    if (job.attempts === 0) job.began = began
    job.attempts += 1
    try {
      await job.check?.()
      const { rs, request_id } = await limited(Math.min(callMs, leftMs), (signal) =>
        key.sign(job.digest, signal, job.preimage),
      )
      const signature = {
        ...checked(rs, job.digest, address),
        ...(request_id !== undefined && { request_id: printable(request_id.slice(0, 80)) }),
      }
      report.called?.('signed', elapsed() - began)
      answered()
      job.resolve(signature)
    } catch (error) {
      if (!(error instanceof KeyServiceFault)) return job.reject(error)
      report.called?.(error.kind, elapsed() - began)
      if (job.fault?.kind !== 'wrong') job.fault = error
      if (error.kind === 'unavailable' && elapsed() >= job.due - timerMs) late(job, error)
      else failed(job, error)
    }
  }

  /** The deadline cut the call short. Alone, that does not show that the key service is down. */
  function late(job: Job, fault: KeyServiceFault): void {
    if (job.attempts > 1 && answeredAt <= job.began) begin(fault, elapsed())
    give(job)
  }

  function answered(): void {
    answeredAt = elapsed()
    if (rest) report.changed?.(null)
    rest = undefined
    backoffMs = firstBackoffMs
    allowed = Math.min(maxInFlight, allowed + 1 / Math.max(1, Math.floor(allowed)))
  }

  function failed(job: Job, fault: KeyServiceFault): void {
    const now = elapsed()
    const isThrottled = fault.kind === 'throttled' || (fault.kind === 'unavailable' && answeredAt > job.began)
    const isRepeated = isThrottled || (fault.kind === 'unavailable' && !rest && job.attempts < maxAttempts)
    if (isThrottled) slowDown(now)
    else if (isRepeated) startsAt = Math.max(startsAt, now + jittered(firstBackoffMs * job.attempts))
    else begin(fault, now)
    if (isRepeated && job.due > startsAt) waitAgain(job)
    else refuse(job, fault.message, Math.max(startsAt, rest?.until ?? 0) - now)
  }

  /** Before later requests: the sender needs signatures in the order of its requests. */
  function waitAgain(job: Job): void {
    const later = waiting.findIndex(({ number }) => number > job.number)
    waiting.splice(later === -1 ? waiting.length : later, 0, job)
  }

  function slowDown(now: number): void {
    // The other calls that were in flight do not lengthen the backoff.
    if (now < startsAt) return
    allowed = Math.max(1, Math.floor(allowed / 2))
    startsAt = now + jittered(backoffMs)
    backoffMs = Math.min(backoffMs * 2, maxBackoffMs)
  }

  /** Opens the circuit, and rejects the requests that wait for the key service. */
  function begin(fault: KeyServiceFault, now: number): void {
    const { message } = fault
    // Calls that were in flight when the rest began do not lengthen it.
    if (rest && now < rest.until) return
    if (!rest) report.changed?.(fault)
    const ms = rest ? Math.min(rest.ms * 2, maxRestMs) : firstRestMs
    rest = { until: now + ms, ms, reason: message }
    for (const job of waiting.splice(0)) refuse(job, message, ms)
  }

  return {
    address,
    // What waits longer here than its time limit would be signed for nothing.
    get at_once() {
      return Math.max(2, Math.floor(allowed))
    },
    sign: (digest, preimage, signal, check) =>
      new Promise<Signature>((resolve, reject) => {
        const now = elapsed()
        if (rest && now < rest.until) return reject(new KeyServiceUnavailable(rest.reason, rest.until - now))
        if (waiting.length >= maxWaiting) {
          return reject(new KeyServiceUnavailable('too many signatures wait for the key service', 1_000))
        }
        report.waits?.(1)
        lastNumber += 1
        waiting.push({
          ...{
            number: lastNumber,
            digest,
            preimage,
            signal,
            check,
            due: now + deadlineMs,
            began: now,
            attempts: 0,
            fault: undefined,
          },
          resolve(signature) {
            report.waits?.(-1)
            resolve(signature)
          },
          reject(error) {
            report.waits?.(-1)
            reject(error)
          },
        })
        start()
      }),
  }
}

const jittered = (ms: number) => ms * (0.75 + Math.random() / 2)

/** The signature with a low s and its recovery id. Throws KeyServiceFault when it is not a signature by the key of the address. */
export function checked(rs: Uint8Array, digest: Uint8Array, address: string): Signature {
  if (rs.length === 64) {
    const low = lowered(rs)
    for (const recovery of [0, 1]) {
      const publicKey = curve.recover(digest, { rs: low, recovery })
      if (publicKey && addressOf(publicKey) === address) return { rs: low, recovery }
    }
  }
  throw new KeyServiceFault('wrong', 'the answer of the key service is not a signature by the key of the address')
}
