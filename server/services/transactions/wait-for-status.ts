import type { Transaction, TransactionStatus } from '../../../generated/openapi.ts'
import { transactionNotFound } from '../../domain/errors.ts'
import type { OperationRequest, Share } from '../../domain/operation.ts'
import { shownTransaction } from '../../domain/show.ts'
import { unfinishedStatuses } from '../../domain/statuses.ts'
import type { Keyring } from '../../keys/keyring.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { TransactionState } from '../../store/queries/transaction-reads.ts'
import type { Store } from '../../store/store.ts'

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

interface StatusWait {
  transaction_id: string
  /** The status that it must reach. */
  until: TransactionStatus
  /** It must also have nothing left to sign: what replaced it counts. */
  isSigned?: boolean
  wait_ms: number
}

interface Listener {
  hasReached(state: TransactionState): boolean
  end(): void
}

/** Requests that wait for a status. One watcher per transaction, however many wait for it. One statement looks at many transactions. */
export class StatusWaits {
  readonly #store: Pick<Store, 'transactionStates'>
  readonly #watched = new Map<string, Set<Listener>>()
  /** The transactions to look at next. */
  readonly #due = new Set<string>()
  #isLooking = false
  #sleepers = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  #polling: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(store: Pick<Store, 'transactionStates'>) {
    this.#store = store
  }

  /** Reports a change. */
  changed(): void {
    this.#timer ??= setTimeout(() => this.#tell(), gatherMs + this.#watched.size * gatherMsEach)
  }

  /** Resolves when the transaction has reached the status or has ended otherwise, on timeout, or when the request has ended. */
  until({ transaction_id, until, isSigned = false, wait_ms }: StatusWait, place: WaitPlace): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isStopped) return resolve()
      let forget: (() => void) | undefined
      const end = () => {
        clearTimeout(timeout)
        forget?.()
        this.#unwatch(transaction_id, listener)
        resolve()
      }
      const timeout = setTimeout(end, wait_ms)
      const listener: Listener = {
        hasReached: ({ status, resign }) => hasReached(status, until) && !(isSigned && resign),
        end,
      }
      this.#watch(transaction_id, listener)
      forget = place.onLeave(end)
    })
  }

  /** Resolves at the next change by this process, or on timeout. */
  nextChange(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wakeUp = () => {
        clearTimeout(end)
        this.#sleepers.delete(wakeUp)
        resolve()
      }
      const end = setTimeout(wakeUp, ms)
      this.#sleepers.add(wakeUp)
    })
  }

  /** Ends all waits. */
  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    for (const listeners of this.#watched.values()) for (const { end } of listeners) end()
    this.#tell()
  }

  #tell(): void {
    this.#timer = undefined
    const woken = this.#sleepers
    this.#sleepers = new Set()
    for (const wakeUp of woken) wakeUp()
    for (const id of this.#watched.keys()) this.#due.add(id)
    void this.#look()
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    // Requests of one turn of the event loop are looked at together.
    while (this.#due.size > 0) {
      await yieldToEventLoop()
      const ids = [...this.#due.values().take(lookedAtOnce)]
      for (const id of ids) this.#due.delete(id)
      // When the database does not answer, they are looked at again at the next poll.
      const states = await this.#store.transactionStates(ids).catch(() => undefined)
      if (states) for (const id of ids) this.#tellOf(id, states.get(id))
    }
    this.#isLooking = false
  }

  /** `state`: undefined when the transaction was deleted. */
  #tellOf(id: string, state: TransactionState | undefined): void {
    for (const listener of this.#watched.get(id) ?? []) if (!state || listener.hasReached(state)) listener.end()
  }

  #watch(id: string, listener: Listener): void {
    const listeners = this.#watched.get(id) ?? new Set()
    this.#watched.set(id, listeners.add(listener))
    this.#polling ??= setInterval(() => this.changed(), pollMs)
    this.#due.add(id)
    void this.#look()
  }

  #unwatch(id: string, listener: Listener): void {
    const listeners = this.#watched.get(id)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#watched.delete(id)
    if (this.#watched.size > 0) return
    clearInterval(this.#polling)
    this.#polling = undefined
  }
}

/** The order of statuses. `failed`, `canceled` and `expired` are not in it, because they are final. */
const hasReached = (status: TransactionStatus, state: TransactionStatus): boolean =>
  !order.includes(status) || order.indexOf(status) >= order.indexOf(state)

/** What a request that waits needs. */
export interface WaitContext {
  store: Store
  keyring: Pick<Keyring, 'findRelayer'>
  waits: StatusWaits
  shares: {
    /** Requests that wait for a status of a transaction. */
    waits: Share
  }
  /** Logs an error that does not change the answer. */
  unexpected(error: unknown): void
}

type WaitRequest = Pick<OperationRequest<'sendTransaction'>, 'query' | 'caller' | 'onClose'>

/**
 * Takes the place of a request among those that wait, before anything is accepted. Throws DomainError (429, 503). The result waits until
 * the accepted transaction has the state that the request names, has ended, or the time is over. It is accepted: whatever fails from then
 * on, the answer shows what is known of it.
 */
export function placeToWait(
  { store, keyring, waits, shares, unexpected }: WaitContext,
  asking: WaitRequest,
): (accepted: Transaction) => Promise<Transaction> {
  const { wait, wait_seconds } = asking.query
  if (wait === 'none') return async (accepted) => accepted
  const place = new WaitPlace(asking, shares.waits)
  return async (accepted) => {
    const { id, relayer_id, warnings } = accepted
    try {
      const { row_id } = await keyring.findRelayer(relayer_id)
      await waits.until({ transaction_id: id, until: wait, wait_ms: wait_seconds * 1_000 }, place)
      const row = await store.getTransaction(row_id, id)
      if (!row) throw transactionNotFound(id)
      return { ...shownTransaction(row), ...(warnings && { warnings }) }
    } catch (error) {
      unexpected(error)
      return accepted
    }
  }
}
