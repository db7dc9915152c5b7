import { printable } from '../../lib/printable.ts'
import {
  type FaultKind,
  KeyServiceFault,
  KeyServicesStopped,
  KeyServiceUnavailable,
  type RemoteKey,
} from '../key-service.ts'
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

export interface RemoteSignerEffects {
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  /** Aborts when the service stops. */
  stopped: AbortSignal
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
export class RemoteSigner implements Signer {
  readonly address: string
  readonly #key: RemoteKey
  readonly #effects: RemoteSignerEffects
  readonly #waiting: Job[] = []
  #inFlight = 0
  #allowed = maxInFlight
  #backoffMs = firstBackoffMs
  /** No call starts before this time. */
  #startsAt = 0
  #answeredAt = Number.NEGATIVE_INFINITY
  #lastNumber = 0
  #rest: { until: number; ms: number; reason: string } | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(key: RemoteKey, address: string, effects: RemoteSignerEffects) {
    this.#key = key
    this.address = address
    this.#effects = effects
  }

  // What waits longer here than its time limit would be signed for nothing.
  get at_once(): number {
    return Math.max(2, Math.floor(this.#allowed))
  }

  sign(
    digest: Uint8Array,
    preimage: () => Uint8Array,
    signal?: AbortSignal,
    check?: () => Promise<unknown>,
  ): Promise<Signature> {
    const { elapsed, stopped, report } = this.#effects
    return new Promise((resolve, reject) => {
      if (stopped.aborted) return reject(new KeyServicesStopped())
      const now = elapsed()
      const rest = this.#rest
      if (rest && now < rest.until) return reject(new KeyServiceUnavailable(rest.reason, rest.until - now))
      if (this.#waiting.length >= maxWaiting) {
        return reject(new KeyServiceUnavailable('too many signatures wait for the key service', 1_000))
      }
      report.waits?.(1)
      this.#lastNumber += 1
      this.#waiting.push({
        ...{ number: this.#lastNumber, digest, preimage, signal, check },
        ...{ due: now + deadlineMs, began: now, attempts: 0, fault: undefined },
        resolve(signature) {
          report.waits?.(-1)
          resolve(signature)
        },
        reject(error) {
          report.waits?.(-1)
          reject(error)
        },
      })
      this.#start()
    })
  }

  /** Rejects what waits when the service stops; calls in flight end by their signal. */
  stop(): void {
    clearTimeout(this.#timer)
    for (const job of this.#waiting.splice(0)) job.reject(new KeyServicesStopped(job.fault))
  }

  #start(): void {
    if (this.#waiting.length === 0) return
    const waitMs = Math.max(this.#startsAt, this.#rest?.until ?? 0) - this.#effects.elapsed()
    if (waitMs > 0) {
      this.#later(waitMs)
      return
    }
    while (this.#inFlight < (this.#rest ? 1 : Math.floor(this.#allowed)) && this.#waiting.length > 0) {
      const job = this.#waiting.shift() as Job
      if (job.signal?.aborted) {
        this.#give(job)
        continue
      }
      this.#inFlight += 1
      void this.#attempt(job).finally(() => {
        this.#inFlight -= 1
        this.#start()
      })
    }
    if (this.#waiting.length > 0) this.#later(Math.max(1, (this.#waiting[0] as Job).due - this.#effects.elapsed()))
  }

  /** Ends the requests whose time has passed, and starts calls. */
  #later(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const now = this.#effects.elapsed()
      while (this.#waiting[0] && this.#waiting[0].due <= now) this.#give(this.#waiting.shift() as Job)
      this.#start()
    }, ms).unref()
  }

  #give(job: Job): void {
    this.#refuse(job, this.#rest?.reason ?? 'the key service is too slow: no signature arrived in time', 1_000)
  }

  #refuse(job: Job, reason: string, retryAfterMs: number): void {
    job.reject(new KeyServiceUnavailable(reason, retryAfterMs, job.fault))
  }

  async #attempt(job: Job): Promise<void> {
    const leftMs = job.due - this.#effects.elapsed()
    if (leftMs <= 0) return this.#give(job)
    const began = this.#effects.elapsed()
    if (job.attempts === 0) job.began = began
    job.attempts += 1
    try {
      await job.check?.()
      const { rs, request_id } = await this.#effects.limited(Math.min(callMs, leftMs), (signal) =>
        this.#key.sign(job.digest, signal, job.preimage),
      )
      const signature = {
        ...checked(rs, job.digest, this.address),
        ...(request_id !== undefined && { request_id: printable(request_id.slice(0, 80)) }),
      }
      this.#effects.report.called?.('signed', this.#effects.elapsed() - began)
      this.#answered()
      job.resolve(signature)
    } catch (error) {
      if (!(error instanceof KeyServiceFault)) return job.reject(error)
      if (job.fault?.kind !== 'wrong') job.fault = error
      if (this.#effects.stopped.aborted) return job.reject(new KeyServicesStopped(job.fault))
      this.#effects.report.called?.(error.kind, this.#effects.elapsed() - began)
      if (error.kind === 'unavailable' && this.#effects.elapsed() >= job.due - timerMs) this.#late(job, error)
      else this.#failed(job, error)
    }
  }

  /** The deadline cut the call short. Alone, that does not show that the key service is down. */
  #late(job: Job, fault: KeyServiceFault): void {
    if (job.attempts > 1 && this.#answeredAt <= job.began) this.#openCircuit(fault, this.#effects.elapsed())
    this.#give(job)
  }

  #answered(): void {
    this.#answeredAt = this.#effects.elapsed()
    if (this.#rest) this.#effects.report.changed?.(null)
    this.#rest = undefined
    this.#backoffMs = firstBackoffMs
    this.#allowed = Math.min(maxInFlight, this.#allowed + 1 / Math.max(1, Math.floor(this.#allowed)))
  }

  #failed(job: Job, fault: KeyServiceFault): void {
    const now = this.#effects.elapsed()
    const isThrottled = fault.kind === 'throttled' || (fault.kind === 'unavailable' && this.#answeredAt > job.began)
    const isRepeated = isThrottled || (fault.kind === 'unavailable' && !this.#rest && job.attempts < maxAttempts)
    if (isThrottled) this.#slowDown(now)
    else if (isRepeated) this.#startsAt = Math.max(this.#startsAt, now + jittered(firstBackoffMs * job.attempts))
    else this.#openCircuit(fault, now)
    if (isRepeated && job.due > this.#startsAt) this.#waitAgain(job)
    else this.#refuse(job, fault.message, Math.max(this.#startsAt, this.#rest?.until ?? 0) - now)
  }

  /** Before later requests: the sender needs signatures in the order of its requests. */
  #waitAgain(job: Job): void {
    const next = this.#waiting.findIndex(({ number }) => number > job.number)
    this.#waiting.splice(next === -1 ? this.#waiting.length : next, 0, job)
  }

  #slowDown(now: number): void {
    // The other calls that were in flight do not lengthen the backoff.
    if (now < this.#startsAt) return
    this.#allowed = Math.max(1, Math.floor(this.#allowed / 2))
    this.#startsAt = now + jittered(this.#backoffMs)
    this.#backoffMs = Math.min(this.#backoffMs * 2, maxBackoffMs)
  }

  /** Opens the circuit, and rejects the requests that wait for the key service. */
  #openCircuit(fault: KeyServiceFault, now: number): void {
    const { message } = fault
    // Calls that were in flight when the rest began do not lengthen it.
    if (this.#rest && now < this.#rest.until) return
    if (!this.#rest) this.#effects.report.changed?.(fault)
    const ms = this.#rest ? Math.min(this.#rest.ms * 2, maxRestMs) : firstRestMs
    this.#rest = { until: now + ms, ms, reason: message }
    for (const job of this.#waiting.splice(0)) this.#refuse(job, message, ms)
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
