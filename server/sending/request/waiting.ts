import type { TransactionStatus } from '../../../generated/openapi.ts'
import { unfinished_statuses } from '../../core/statuses.ts'

const order: TransactionStatus[] = [...unfinished_statuses, 'confirmed']
/** Changes of this process wake a waiting request at once; changes of other processes are found by polling. */
const poll_ms = 250
/** A burst of changes wakes a waiting request once. */
const gather_ms = 10
const max_waiting = 5_000

export interface Waiting {
  /** Reports a change. */
  changed(): void
  /**
   * Resolves when the transaction has reached the status or has ended otherwise, on timeout, or at once when too many requests
   * wait.
   */
  until(read: () => Promise<{ status: TransactionStatus }>, state: TransactionStatus, wait_ms: number): Promise<void>
  /** Resolves at the next change by this process, or on timeout. */
  nextChange(ms: number): Promise<void>
  /** Ends all waits. */
  stop(): void
}

export function createWaiting(): Waiting {
  let listeners = new Set<() => void>()
  let waiting = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const tell = () => {
    timer = undefined
    const woken = listeners
    listeners = new Set()
    for (const listener of woken) listener()
  }

  const nextChange = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = setTimeout(wakeUp, ms)
      function wakeUp() {
        clearTimeout(end)
        listeners.delete(wakeUp)
        resolve()
      }
      listeners.add(wakeUp)
    })

  return {
    changed() {
      timer ??= setTimeout(tell, gather_ms)
    },
    async until(read, state, wait_ms) {
      if (waiting >= max_waiting) return
      waiting += 1
      try {
        const end = performance.now() + wait_ms
        for (;;) {
          const left = end - performance.now()
          if (stopped || left <= 0 || hasReached((await read()).status, state)) return
          await nextChange(Math.min(left, poll_ms))
        }
      } finally {
        waiting -= 1
      }
    },
    nextChange,
    stop() {
      stopped = true
      clearTimeout(timer)
      tell()
    },
  }
}

/** The order of statuses. `failed`, `canceled` and `expired` are not in it, because they are final. */
const hasReached = (status: TransactionStatus, state: TransactionStatus): boolean =>
  !order.includes(status) || order.indexOf(status) >= order.indexOf(state)
