import { createHash } from 'node:crypto'
import type { Id } from './context.ts'

interface RepeatedCall {
  /** Identifies the caller, the relayer and the content of the call. */
  content: unknown
  id: Id | undefined
  request: { hasLeft(): boolean }
  /** Calls back at the end of the request. */
  onClose(callback: () => void): void
}

interface Sent {
  id: string
  request: RepeatedCall['request']
  result: Promise<unknown>
  /** When the request ended without an answer, by the monotonic clock. */
  broken_at: number | undefined
}

const rememberedMs = 60_000
const maxRemembered = 10_000

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
  readonly #sentBy = new Map<string, Sent[]>()

  /** `elapsed`: a monotonic clock in milliseconds. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  /** Resolves to the result of `work`, or of an earlier call that this one repeats. `request`: the same for the calls of one request. */
  async once<T>(call: RepeatedCall, work: () => Promise<T>): Promise<T> {
    const key = createHash('sha256').update(JSON.stringify(call.content)).digest('hex')
    const id = JSON.stringify(call.id ?? null)
    const isRepeated = (sent: Sent) => sent.request.hasLeft() || sent.broken_at !== undefined || sent.id === id
    const first = this.#sentBy
      .get(key)
      ?.find((sent) => this.#isFresh(sent) && sent.request !== call.request && isRepeated(sent))
    const sent: Sent = first ?? { id, request: call.request, result: work(), broken_at: undefined }
    if (!first) {
      this.#sweep()
      this.#sentBy.set(key, [...(this.#sentBy.get(key) ?? []), sent])
      // A refused call may be repeated.
      sent.result.catch(() => this.#forget(key, sent))
    }
    call.onClose(() => {
      if (!call.request.hasLeft()) this.#forget(key, sent)
      else sent.broken_at ??= this.#elapsed()
    })
    return sent.result as Promise<T>
  }

  #forget(key: string, sent: Sent) {
    const left = (this.#sentBy.get(key) ?? []).filter((other) => other !== sent)
    if (left.length > 0) this.#sentBy.set(key, left)
    else this.#sentBy.delete(key)
  }

  #isFresh({ broken_at }: Sent) {
    return broken_at === undefined || this.#elapsed() - broken_at < rememberedMs
  }

  #sweep() {
    if (this.#sentBy.size < maxRemembered) return
    for (const [key, all] of this.#sentBy) for (const sent of all) if (!this.#isFresh(sent)) this.#forget(key, sent)
  }
}
