import type { Crowded, Room } from '../sending-rows.ts'
import type { Connection } from './connection.ts'

export interface Unfinished {
  count: number
  /** The bytes of data. */
  bytes: number
}

/** The number and size of a relayer's unfinished transactions, from the counts per block. */
export function createUnfinished({ db }: Pick<Connection, 'db'>): (relayer_row_id: number) => Unfinished {
  const select = db.prepare<[number], Unfinished>(`
    SELECT coalesce(sum(unfinished), 0) AS count, coalesce(sum(unfinished_bytes), 0) AS bytes
    FROM transaction_blocks WHERE relayer_row_id = ? AND level = 1`)
  return (relayer_row_id) => select.get(relayer_row_id) as Unfinished
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
