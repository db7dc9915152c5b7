import { setTimeout as pause } from 'node:timers/promises'
import type { EventRow } from '../core/rows.ts'
import type { Store } from '../store/store.ts'

const max_batch = 100
const comment_ms = 15_000
const poll_ms = 500
/** The pace for events of transactions with much data: a stream reads at most about 12 MB of past events a second. */
const large_characters = 250_000
const large_rest_ms = 20

export interface EventStreamDependencies {
  store: Pick<Store, 'events' | 'lastEvent'>
  /** Resolves when something may have changed, or after the time. */
  nextChange(ms: number): Promise<void>
  isStopping(): boolean
}

/**
 * A relayer's events as server-sent events (WHATWG HTML, section 9.2), after `last_event_id` or from now on. Regular comments keep
 * proxies from closing an idle connection. The empty text in between lets the reader stop.
 */
export async function* eventStream(
  { store, nextChange, isStopping }: EventStreamDependencies,
  relayer_row_id: number,
  last_event_id: number | undefined,
): AsyncGenerator<string> {
  let after = last_event_id ?? (await store.lastEvent(relayer_row_id))
  let quiet_ms = 0
  yield ': connected\n\n'
  while (!isStopping()) {
    const events = await store.events(relayer_row_id, after, max_batch)
    let characters = 0
    for (const event of events) {
      yield encode(event)
      after = event.sequence
      characters += event.body.length
    }
    if (characters >= large_characters) await pause(large_rest_ms)
    if (events.length > 0) {
      quiet_ms = 0
      continue
    }
    await nextChange(poll_ms)
    quiet_ms += poll_ms
    const isQuiet = quiet_ms >= comment_ms
    if (isQuiet) quiet_ms = 0
    yield isQuiet ? ': still here\n\n' : ''
  }
}

/** The body is one line, because JSON.stringify escapes line breaks. */
const encode = ({ sequence, event, body }: EventRow): string => `id: ${sequence}\nevent: ${event}\ndata: ${body}\n\n`
