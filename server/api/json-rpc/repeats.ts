import { createHash } from 'node:crypto'
import type { Id } from './context.ts'
import { codes, JsonRpcError } from './errors.ts'

interface RepeatedCall {
  /** The id of the caller. */
  caller: string
  /** Identifies the relayer and the content of the call. */
  content: unknown
  id: Id | undefined
  request: { hasLeft(): boolean }
  /** Calls back at the end of the request. */
  onClose(callback: () => void): void
}

interface Sent {
  id: string
  /** Undefined: it ended without an answer. */
  request: RepeatedCall['request'] | undefined
  result: Promise<unknown>
  /** When the request ended without an answer, by the monotonic clock. */
  broken_at: number | undefined
}

const rememberedMs = 60_000
/** The most calls of one caller that are remembered. One that must still be recognized is never forgotten: more calls are refused. */
const maxRemembered = 10_000
const sweepMs = 1_000

interface CallerCalls {
  by_content: Map<string, Sent[]>
  count: number
  swept_at: number
}

/**
 * Recognizes repeated calls of eth_sendTransaction without an Idempotency-Key.
 *
 * A duplicate payment and a lost one are both errors, so a repetition needs evidence that the caller has not seen the first answer:
 * - The first call is not answered yet, and one with the same id arrives in another request. Libraries number their calls, so two
 *   different payments at the same time have different ids, except from two processes of the same key that pay the same at the same
 *   moment.
 * - The connection of the first call broke before its answer was written. Libraries repeat such a call under a new id, so the id does
 *   not count.
 * After a complete answer the caller has the hash, and the same call is a new payment.
 */
export class Repeats {
  readonly #elapsed: () => number
  readonly #byCaller = new Map<string, CallerCalls>()

  /** `elapsed`: a monotonic clock in milliseconds. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  /**
   * Resolves to the result of `work`, or of an earlier call that this one repeats. `request`: the same for the calls of one request. Throws
   * JsonRpcError (-32005) when too many calls of the caller wait for their answer, or have lost it.
   */
  async once<T>(call: RepeatedCall, work: () => Promise<T>): Promise<T> {
    const key = createHash('sha256').update(JSON.stringify(call.content)).digest('hex')
    const id = JSON.stringify(call.id ?? null)
    const isRepeated = (sent: Sent) => sent.request === undefined || sent.request.hasLeft() || sent.id === id
    const calls = this.#callsOf(call.caller)
    const first = calls.by_content
      .get(key)
      ?.find((sent) => this.#isFresh(sent) && sent.request !== call.request && isRepeated(sent))
    if (!first) this.#makeRoom(calls)
    const sent: Sent = first ?? { id, request: call.request, result: work(), broken_at: undefined }
    if (!first) {
      calls.by_content.set(key, [...(calls.by_content.get(key) ?? []), sent])
      calls.count += 1
      // A refused call may be repeated.
      sent.result.catch(() => this.#keep(calls, key, (other) => other !== sent))
    }
    call.onClose(() => {
      if (!call.request.hasLeft()) this.#keep(calls, key, (other) => other !== sent)
      else Object.assign(sent, { broken_at: sent.broken_at ?? this.#elapsed(), request: undefined })
    })
    return sent.result as Promise<T>
  }

  #callsOf(caller: string): CallerCalls {
    const known = this.#byCaller.get(caller)
    if (known) return known
    const calls = { by_content: new Map(), count: 0, swept_at: Number.NEGATIVE_INFINITY }
    this.#byCaller.set(caller, calls)
    return calls
  }

  #makeRoom(calls: CallerCalls): void {
    if (calls.count >= maxRemembered && this.#elapsed() - calls.swept_at >= sweepMs) {
      calls.swept_at = this.#elapsed()
      for (const key of calls.by_content.keys()) this.#keep(calls, key, (sent) => this.#isFresh(sent))
    }
    if (calls.count >= maxRemembered) throw tooManyOpen()
  }

  #keep(calls: CallerCalls, key: string, isKept: (sent: Sent) => boolean): void {
    const all = calls.by_content.get(key) ?? []
    const kept = all.filter(isKept)
    calls.count -= all.length - kept.length
    if (kept.length > 0) calls.by_content.set(key, kept)
    else calls.by_content.delete(key)
  }

  #isFresh({ broken_at }: Sent): boolean {
    return broken_at === undefined || this.#elapsed() - broken_at < rememberedMs
  }
}

const tooManyOpen = () =>
  new JsonRpcError(
    codes.limit_exceeded,
    `${maxRemembered} calls of this API key wait for their answer, or lost it within ${rememberedMs / 1_000} s; give an Idempotency-Key`,
    undefined,
    429,
  )
