import { setTimeout as pause } from 'node:timers/promises'
import type { EventRow } from '../domain/rows.ts'
import type { Store } from '../store/store.ts'

const maxBatch = 100
const commentMs = 15_000
const pollMs = 500
/** The pace for events of transactions with much data: a stream reads at most about 12 MB of past events a second. */
const largeCharacters = 250_000
const largeRestMs = 20

interface EventStreamDependencies {
  store: Pick<Store, 'events' | 'eventsOfPool' | 'lastEvent'>
  waits: {
    /** Resolves when something may have changed, or after the time. */
    nextChange(ms: number): Promise<void>
  }
  isStopping(): boolean
}

/** What a stream reads. */
interface Source {
  /** The last event of each relayer that the client has; it follows what is written. */
  positions: Map<number, number>
  members(): Promise<number[] | undefined>
  idOf(event: EventRow): string
  read(relayerRowId: number, after: number): ReturnType<Store['eventsOfPool']>
}

/** A relayer's events, after `lastEventId` or from now on. */
export function eventStream(
  dependencies: EventStreamDependencies,
  relayerRowId: number,
  lastEventId: number | undefined,
): AsyncGenerator<string> {
  return stream(dependencies, {
    positions: new Map(lastEventId === undefined ? [] : [[relayerRowId, lastEventId]]),
    members: async () => [relayerRowId],
    idOf: ({ sequence }) => `${sequence}`,
    async read(rowId, after) {
      const events = await dependencies.store.events(rowId, after, maxBatch)
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
  poolRowId: number,
  lastEventId: string | undefined,
  members: () => Promise<number[] | undefined>,
): AsyncGenerator<string> {
  const pairs = (lastEventId?.split(',') ?? []).map((pair) => pair.split(':').map(Number) as [number, number])
  const positions = new Map(pairs)
  const position = () => [...positions].map((pair) => pair.join(':')).join()
  return stream(dependencies, {
    positions,
    members,
    idOf: position,
    read: (rowId, after) =>
      dependencies.store.eventsOfPool({ pool_row_id: poolRowId, relayer_row_id: rowId }, after, maxBatch),
  })
}

/**
 * Events as server-sent events (WHATWG HTML, section 9.2). Regular comments keep proxies from closing an idle connection. The empty text
 * in between lets the reader stop.
 */
async function* stream(
  { store, waits, isStopping }: EventStreamDependencies,
  { positions, members, idOf, read }: Source,
): AsyncGenerator<string> {
  let quietMs = 0
  for (const rowId of (await members()) ?? []) await positionOf(rowId)
  yield ': connected\n\n'
  while (!isStopping()) {
    const rowIds = await members()
    if (!rowIds) return
    for (const rowId of positions.keys()) if (!rowIds.includes(rowId)) positions.delete(rowId)
    let characters = 0
    let hasNew = false
    for (const rowId of rowIds) {
      const sent = yield* eventsOf(rowId)
      characters += sent.characters
      hasNew ||= sent.isNew
    }
    if (characters >= largeCharacters) await pause(largeRestMs)
    if (hasNew) {
      quietMs = 0
      continue
    }
    await waits.nextChange(pollMs)
    quietMs += pollMs
    const isQuiet = quietMs >= commentMs
    if (isQuiet) quietMs = 0
    yield isQuiet ? ': still here\n\n' : ''
  }

  /** The new events of a relayer, as long as it is a member; returns the characters of their bodies. */
  async function* eventsOf(rowId: number): AsyncGenerator<string, { characters: number; isNew: boolean }> {
    const before = await positionOf(rowId)
    const { events, seen } = await read(rowId, before)
    const sent = { characters: 0, isNew: seen > before }
    for (const event of events) {
      if (!(await members())?.includes(rowId)) return sent
      positions.set(rowId, event.sequence)
      yield `id: ${idOf(event)}\n${encode(event)}`
      sent.characters += event.body.length
    }
    positions.set(rowId, seen)
    return sent
  }

  async function positionOf(rowId: number): Promise<number> {
    const position = positions.get(rowId) ?? (await store.lastEvent(rowId))
    positions.set(rowId, position)
    return position
  }
}

/** The body is one line, because JSON.stringify escapes line breaks. */
const encode = ({ event, body }: EventRow): string => `event: ${event}\ndata: ${body}\n\n`
