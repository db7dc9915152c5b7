import type { Crowded, Room } from '../core/sending-rows.ts'

export interface Unfinished {
  count: number
  /** The bytes of data. */
  bytes: number
}

/** The limit that is exceeded when `more` is added to the unfinished transactions; undefined: none. */
export function crowdedBy(now: Unfinished, more: Unfinished, room: Room): Crowded | undefined {
  const { max_unfinished, max_unfinished_bytes } = room
  if (more.count > 0 && now.count + more.count > max_unfinished) {
    return { outcome: 'crowded', policy: 'max_unfinished', limit: max_unfinished }
  }
  if (more.bytes > 0 && now.bytes + more.bytes > max_unfinished_bytes) {
    return { outcome: 'crowded', policy: 'max_unfinished_bytes', limit: max_unfinished_bytes }
  }
  return undefined
}
