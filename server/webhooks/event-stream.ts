import { setTimeout as pause } from 'node:timers/promises'
import type { EventRow } from '../domain/rows.ts'
import type { Store } from '../store/store.ts'

const max_batch = 100
const comment_ms = 15_000
const poll_ms = 500
/** The pace for events of transactions with much data: a stream reads at most about 12 MB of past events a second. */
const large_characters = 250_000
const large_rest_ms = 20

export interface EventStreamDependencies {
  store: Pick<Store, 'events' | 'eventsOfPool' | 'lastEvent'>
  /** Resolves when something may have changed, or after the time. */
  nextChange(ms: number): Promise<void>
  isStopping(): boolean
}

/** What a stream reads. */
interface Source {
  /** The last event of each relayer that the client has; it follows what is written. */
  positions: Map<number, number>
  members(): Promise<number[] | undefined>
  idOf(event: EventRow): string
  read(relayer_row_id: number, after: number): ReturnType<Store['eventsOfPool']>
}

/** A relayer's events, after `last_event_id` or from now on. */
export function eventStream(
  dependencies: EventStreamDependencies,
  relayer_row_id: number,
  last_event_id: number | undefined,
): AsyncGenerator<string> {
  return stream(dependencies, {
    positions: new Map(last_event_id === undefined ? [] : [[relayer_row_id, last_event_id]]),
    members: async () => [relayer_row_id],
    idOf: ({ sequence }) => `${sequence}`,
    async read(row_id, after) {
      const events = await dependencies.store.events(row_id, after, max_batch)
      return { events, seen: events.at(-1)?.sequence ?? after }
    },
  })
}

/**
 * The events of what was sent through a pool, by its relayers, whose row ids `members` returns anew before each event; undefined ends the
 * stream. The id of an event is the position in all of them, as `row id:sequence` of each.
 */
export function poolEventStream(
  dependencies: EventStreamDependencies,
  pool_row_id: number,
  last_event_id: string | undefined,
  members: () => Promise<number[] | undefined>,
): AsyncGenerator<string> {
  const pairs = (last_event_id?.split(',') ?? []).map((pair) => pair.split(':').map(Number) as [number, number])
  const positions = new Map(pairs)
  const position = () => [...positions].map((pair) => pair.join(':')).join()
  return stream(dependencies, {
    positions,
    members,
    idOf: position,
    read: (row_id, after) => dependencies.store.eventsOfPool(pool_row_id, row_id, after, max_batch),
  })
}

/**
 * Events as server-sent events (WHATWG HTML, section 9.2). Regular comments keep proxies from closing an idle connection. The empty text
 * in between lets the reader stop.
 */
async function* stream(
  { store, nextChange, isStopping }: EventStreamDependencies,
  { positions, members, idOf, read }: Source,
): AsyncGenerator<string> {
  let quiet_ms = 0
  for (const row_id of (await members()) ?? []) await positionOf(row_id)
  yield ': connected\n\n'
  while (!isStopping()) {
    const row_ids = await members()
    if (!row_ids) return
    for (const row_id of positions.keys()) if (!row_ids.includes(row_id)) positions.delete(row_id)
    let characters = 0
    let count = 0
    for (const row_id of row_ids) {
      const before = await positionOf(row_id)
      const { events, seen } = await read(row_id, before)
      let isMember = true
      for (const event of events) {
        isMember = (await members())?.includes(row_id) ?? false
        if (!isMember) break
        positions.set(row_id, event.sequence)
        yield `id: ${idOf(event)}\n${encode(event)}`
        characters += event.body.length
      }
      if (isMember) positions.set(row_id, seen)
      if (seen > before) count += 1
    }
    if (characters >= large_characters) await pause(large_rest_ms)
    if (count > 0) {
      quiet_ms = 0
      continue
    }
    await nextChange(poll_ms)
    quiet_ms += poll_ms
    const isQuiet = quiet_ms >= comment_ms
    if (isQuiet) quiet_ms = 0
    yield isQuiet ? ': still here\n\n' : ''
  }

  async function positionOf(row_id: number): Promise<number> {
    const position = positions.get(row_id) ?? (await store.lastEvent(row_id))
    positions.set(row_id, position)
    return position
  }
}

/** The body is one line, because JSON.stringify escapes line breaks. */
const encode = ({ event, body }: EventRow): string => `event: ${event}\ndata: ${body}\n\n`
