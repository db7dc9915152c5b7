import { createHash } from 'node:crypto'
import { BoundedMap } from '../../lib/cache.ts'
import type { Id } from './context.ts'

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
/** The most calls of one caller that are remembered: more drop its oldest ones, and no other caller's. */
const maxRemembered = 1_000

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
  /** By caller, and by the hash of the content. */
  readonly #sentBy = new Map<string, BoundedMap<string, Sent[]>>()

  /** `elapsed`: a monotonic clock in milliseconds. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  /** Resolves to the result of `work`, or of an earlier call that this one repeats. `request`: the same for the calls of one request. */
  async once<T>(call: RepeatedCall, work: () => Promise<T>): Promise<T> {
    const key = createHash('sha256').update(JSON.stringify(call.content)).digest('hex')
    const id = JSON.stringify(call.id ?? null)
    const isRepeated = (sent: Sent) => sent.request === undefined || sent.request.hasLeft() || sent.id === id
    const known = this.#sentBy.get(call.caller) ?? new BoundedMap<string, Sent[]>(maxRemembered)
    const first = known
      .get(key)
      ?.find((sent) => this.#isFresh(sent) && sent.request !== call.request && isRepeated(sent))
    const sent: Sent = first ?? { id, request: call.request, result: work(), broken_at: undefined }
    if (!first) {
      this.#sentBy.set(call.caller, known.set(key, [...(known.get(key) ?? []), sent]))
      // A refused call may be repeated.
      sent.result.catch(() => this.#forget(call.caller, key, sent))
    }
    call.onClose(() => {
      if (!call.request.hasLeft()) this.#forget(call.caller, key, sent)
      else Object.assign(sent, { broken_at: sent.broken_at ?? this.#elapsed(), request: undefined })
    })
    return sent.result as Promise<T>
  }

  #forget(caller: string, key: string, sent: Sent) {
    const known = this.#sentBy.get(caller)
    const left = known?.get(key)?.filter((other) => other !== sent) ?? []
    if (left.length > 0) known?.set(key, left)
    else known?.delete(key)
    if (known?.size === 0) this.#sentBy.delete(caller)
  }

  #isFresh({ broken_at }: Sent) {
    return broken_at === undefined || this.#elapsed() - broken_at < rememberedMs
  }
}
