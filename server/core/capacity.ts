import type { AtCapacity, Capacity } from './new-transaction.ts'

export interface Unfinished {
  count: number
  /** The bytes of data. */
  bytes: number
}

/** The limit that is exceeded when `more` is added to the unfinished transactions; undefined: none. */
export function exceededBy(now: Unfinished, more: Unfinished, capacity: Capacity): AtCapacity | undefined {
  const { max_unfinished, max_unfinished_bytes } = capacity
  if (more.count > 0 && now.count + more.count > max_unfinished) {
    return { outcome: 'at_capacity', policy: 'max_unfinished', limit: max_unfinished }
  }
  if (more.bytes > 0 && now.bytes + more.bytes > max_unfinished_bytes) {
    return { outcome: 'at_capacity', policy: 'max_unfinished_bytes', limit: max_unfinished_bytes }
  }
  return undefined
}
