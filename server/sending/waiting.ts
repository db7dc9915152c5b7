import type { TransactionStatus } from '../../generated/openapi.ts'

const order: TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined', 'confirmed']
/** Changes of this process are heard at once, those of another one by looking. */
const look_ms = 250
/** A burst of changes is heard once. */
const gather_ms = 10
const max_waiting = 5_000

export interface Waiting {
  /** Something has changed. */
  changed(): void
  /** Until the transaction has reached the state or has ended otherwise, or the time is up; at once when too many wait. */
  until(read: () => Promise<{ status: TransactionStatus }>, state: TransactionStatus, wait_ms: number): Promise<void>
  /** Until something has changed in this process, or the time is up. */
  nextChange(ms: number): Promise<void>
  /** Lets all go that wait. */
  stop(): void
}

export function createWaiting(): Waiting {
  let listeners = new Set<() => void>()
  let waiting = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const tell = () => {
    timer = undefined
    const heard = listeners
    listeners = new Set()
    for (const listener of heard) listener()
  }

  const nextChange = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = setTimeout(heard, ms)
      function heard() {
        clearTimeout(end)
        listeners.delete(heard)
        resolve()
      }
      listeners.add(heard)
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
          await nextChange(Math.min(left, look_ms))
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

/** `failed`, `canceled` and `expired` stand in no order: nothing more is to come. */
const hasReached = (status: TransactionStatus, state: TransactionStatus): boolean =>
  !order.includes(status) || order.indexOf(status) >= order.indexOf(state)
