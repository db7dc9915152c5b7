import type { EventRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'

const max_batch = 100
const comment_ms = 15_000
const look_ms = 500

export interface EventStreamParts {
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
  { store, nextChange, isStopping }: EventStreamParts,
  relayer_key: number,
  last_event_id: number | undefined,
): AsyncGenerator<string> {
  let after = last_event_id ?? (await store.lastEvent(relayer_key))
  let quiet_ms = 0
  yield ': connected\n\n'
  while (!isStopping()) {
    const events = await store.events(relayer_key, after, max_batch)
    for (const event of events) {
      yield encode(event)
      after = event.sequence
    }
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
