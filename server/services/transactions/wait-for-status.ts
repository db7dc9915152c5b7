import type { TransactionStatus } from '../../../generated/openapi.ts'
import type { OperationRequest, Share } from '../../domain/operation.ts'
import { unfinishedStatuses } from '../../domain/statuses.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import type { Store } from '../../store/store.ts'
import type { TransactionState } from '../../store/transaction-store.ts'

const order: TransactionStatus[] = [...unfinishedStatuses, 'confirmed']
/** Changes of this process wake a waiting request at once; changes of other processes are found by polling. */
const pollMs = 250
/** A burst of changes wakes the waiting requests once: after so long, and longer when many transactions are watched. */
const gatherMs = 10
const gatherMsEach = 0.025
/** The transactions that one statement looks at: about a millisecond. */
const lookedAtOnce = 250

/**
 * The place of one request among those that wait: a part of its caller's share, until the response is written or the connection has
 * closed. Nothing waits without one.
 */
export class WaitPlace {
  #isLeft = false
  readonly #waits = new Set<() => void>()

  /** Throws DomainError (429, 503). */
  constructor({ caller, onClose }: Pick<OperationRequest<'sendTransaction'>, 'caller' | 'onClose'>, share: Share) {
    const held = share.hold(caller, 1)
    onClose(() => {
      this.#isLeft = true
      held.release()
      for (const end of this.#waits) end()
    })
  }

  /** Calls back when the request has ended. Returns the function that takes this back. */
  onLeave(end: () => void): () => void {
    if (this.#isLeft) end()
    else this.#waits.add(end)
    return () => this.#waits.delete(end)
  }
}

export interface Wait {
  transaction_id: string
  /** The status that it must reach. */
  until: TransactionStatus
  /** It must also have nothing left to sign: what replaced it counts. */
  isSigned?: boolean
  wait_ms: number
}

export interface Waiting {
  /** Reports a change. */
  changed(): void
  /** Resolves when the transaction has reached the status or has ended otherwise, on timeout, or when the request has ended. */
  until(wait: Wait, place: WaitPlace): Promise<void>
  /** Resolves at the next change by this process, or on timeout. */
  nextChange(ms: number): Promise<void>
  /** Ends all waits. */
  stop(): void
}

interface Listener {
  hasReached(state: TransactionState): boolean
  end(): void
}

/** One watcher per transaction, however many requests wait for it. One statement looks at many transactions. */
export function createWaiting({ transactionStates }: Pick<Store, 'transactionStates'>): Waiting {
  const watched = new Map<string, Set<Listener>>()
  /** The transactions to look at next. */
  const due = new Set<string>()
  let isLooking = false
  let sleepers = new Set<() => void>()
  let timer: NodeJS.Timeout | undefined
  let polling: NodeJS.Timeout | undefined
  let stopped = false

  const tell = () => {
    timer = undefined
    const woken = sleepers
    sleepers = new Set()
    for (const wakeUp of woken) wakeUp()
    for (const id of watched.keys()) due.add(id)
    void look()
  }
  const changed = () => {
    timer ??= setTimeout(tell, gatherMs + watched.size * gatherMsEach)
  }

  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    // Requests of one turn of the event loop are looked at together.
    while (due.size > 0) {
      await yieldToEventLoop()
      const ids = [...due.values().take(lookedAtOnce)]
      for (const id of ids) due.delete(id)
      // When the database does not answer, they are looked at again at the next poll.
      const states = await transactionStates(ids).catch(() => undefined)
      if (states) for (const id of ids) tellOf(id, states.get(id))
    }
    isLooking = false
  }

  /** `state`: undefined when the transaction was deleted. */
  function tellOf(id: string, state: TransactionState | undefined): void {
    for (const listener of watched.get(id) ?? []) if (!state || listener.hasReached(state)) listener.end()
  }

  function watch(id: string, listener: Listener): void {
    const listeners = watched.get(id) ?? new Set()
    watched.set(id, listeners.add(listener))
    polling ??= setInterval(changed, pollMs)
    due.add(id)
    void look()
  }

  function unwatch(id: string, listener: Listener): void {
    const listeners = watched.get(id)
    listeners?.delete(listener)
    if (listeners?.size === 0) watched.delete(id)
    if (watched.size > 0) return
    clearInterval(polling)
    polling = undefined
  }

  return {
    changed,
    until: ({ transaction_id, until, isSigned = false, wait_ms }, place) =>
      new Promise((resolve) => {
        if (stopped) return resolve()
        let forget: (() => void) | undefined
        const timeout = setTimeout(end, wait_ms)
        const listener = {
          hasReached: ({ status, resign }: TransactionState) => hasReached(status, until) && !(isSigned && resign),
          end,
        }
        watch(transaction_id, listener)
        forget = place.onLeave(end)
        function end() {
          clearTimeout(timeout)
          forget?.()
          unwatch(transaction_id, listener)
          resolve()
        }
      }),
    nextChange: (ms) =>
      new Promise((resolve) => {
        const end = setTimeout(wakeUp, ms)
        function wakeUp() {
          clearTimeout(end)
          sleepers.delete(wakeUp)
          resolve()
        }
        sleepers.add(wakeUp)
      }),
    stop() {
      stopped = true
      clearTimeout(timer)
      for (const listeners of watched.values()) for (const { end } of listeners) end()
      tell()
    },
  }
}

/** The order of statuses. `failed`, `canceled` and `expired` are not in it, because they are final. */
const hasReached = (status: TransactionStatus, state: TransactionStatus): boolean =>
  !order.includes(status) || order.indexOf(status) >= order.indexOf(state)
