import { type EventRow, max_event_characters } from '../../core/rows.ts'
import type { Store } from '../store.ts'
import { dataColumn, withData } from '../transaction-data.ts'
import type { Database } from './database.ts'
import { sql } from './statement.ts'

/** Events that are read at once: an event may contain 128 KB of data as hex. */
const step_rows = 20

const select = sql<EventRow & { data: Uint8Array | null }>(`
  SELECT sequence, event, body, ${dataColumn('events')} FROM events
  WHERE relayer_row_id = $relayer_row_id AND sequence > $after ORDER BY sequence LIMIT $limit`)
const last = sql<{ last: number }>(
  'SELECT coalesce(max(sequence), 0) AS last FROM events WHERE relayer_row_id = $relayer_row_id',
)

export function eventLog({ read }: Database): Pick<Store, 'events' | 'lastEvent'> {
  return {
    async events(relayer_row_id, after, limit) {
      const events: EventRow[] = []
      let characters = 0
      while (events.length < limit && characters < max_event_characters) {
        const size = Math.min(step_rows, limit - events.length)
        const from = events.at(-1)?.sequence ?? after
        const rows = await read.all(select, { relayer_row_id, after: from, limit: size })
        for (const { data, ...event } of rows) {
          if (characters >= max_event_characters) break
          const body = withData(event.body, data)
          events.push({ ...event, body })
          characters += body.length
        }
        if (rows.length < size) break
      }
      return events
    },
    lastEvent: async (relayer_row_id) => (await read.one(last, { relayer_row_id }))?.last ?? 0,
  }
}
