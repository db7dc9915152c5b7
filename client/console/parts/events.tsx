import { Link } from 'wouter'
import type { Event } from '../../index.ts'
import { words } from '../data/format.ts'
import { transactionPath } from './links.tsx'
import { Moment } from './moment.tsx'

/** The events since the page was opened, newest first. */
export function Events({ events }: { events: Event[] }) {
  if (events.length === 0)
    return <p role="status">Waiting for events. There have been none since you opened this page.</p>
  return (
    <ol className="timeline" aria-live="polite">
      {events.map((event) => (
        <li key={event.id}>
          <Moment at={event.timestamp} /> <strong>{words(event.payload.payload_type)}</strong>{' '}
          <EventText event={event} />
        </li>
      ))}
    </ol>
  )
}

function EventText({ event: { payload } }: { event: Event }) {
  switch (payload.payload_type) {
    case 'transaction':
    case 'transaction_waiting':
      return (
        <Link to={transactionPath(payload)}>
          nonce {payload.nonce ?? '–'} is {payload.status}
          {payload.status_reason !== null && `: ${payload.status_reason}`}
        </Link>
      )
    case 'relayer_disabled':
      return payload.disable_reason
    default:
      return null
  }
}
