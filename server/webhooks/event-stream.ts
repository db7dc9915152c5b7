import { setTimeout as pause } from 'node:timers/promises'
import type { EventRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'

const max_batch = 100
const comment_ms = 15_000
const look_ms = 500
/** Events of transactions with much data: a stream that reads the past has at most about 25 MB of them a second. */
const large_characters = 250_000
const large_rest_ms = 20

export interface EventStreamDependencies {
  store: Pick<Store, 'events' | 'lastEvent'>
  /** Resolves when something may have changed, or the time is up. */
  nextChange(ms: number): Promise<void>
  isStopping(): boolean
}

/**
 * A relayer's events as server-sent ones (WHATWG HTML, section 9.2), from the one after `last_event_id`, or from now on. A comment
 * now and then keeps proxies from closing the connection; the empty text, in between, lets whoever reads give up.
 */
export async function* eventStream(
  { store, nextChange, isStopping }: EventStreamDependencies,
  relayer_key: number,
  last_event_id: number | undefined,
): AsyncGenerator<string> {
  let after = last_event_id ?? (await store.lastEvent(relayer_key))
  let quiet_ms = 0
  yield ': connected\n\n'
  while (!isStopping()) {
    const events = await store.events(relayer_key, after, max_batch)
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
    await nextChange(look_ms)
    quiet_ms += look_ms
    const isQuiet = quiet_ms >= comment_ms
    if (isQuiet) quiet_ms = 0
    yield isQuiet ? ': still here\n\n' : ''
  }
}

/** The body is one line: JSON has no raw line breaks. */
const encode = ({ sequence, event, body }: EventRow): string => `id: ${sequence}\nevent: ${event}\ndata: ${body}\n\n`
