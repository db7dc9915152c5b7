import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import type { Event } from '../../index.ts'
import { followEvents } from '../data/events.ts'
import { count, words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { transactionPath } from './links.tsx'
import { Moment } from './moment.tsx'
import { Nothing } from './nothing.tsx'

const max_events = 200

/** The newest events, also of before the page was opened, newest first. */
export function Events({ relayer_id }: { relayer_id: string }) {
  const { token } = useSession()
  const [events, setEvents] = useState<Event[]>([])
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const ended = new AbortController()
    // The former events come at once: they are shown together.
    const news: Event[] = []
    const flush = setInterval(() => {
      if (news.length === 0) return
      const added = news.splice(0).reverse()
      setEvents((before) => [...added, ...before].slice(0, max_events))
    }, flush_ms)
    void followEvents(token, relayer_id, ended.signal, {
      recent: max_events,
      opened: () => setOpen(true),
      tell: (event) => void news.push(event),
    })
    return () => {
      ended.abort()
      clearInterval(flush)
    }
  }, [token, relayer_id])
  if (events.length === 0)
    return (
      <Nothing icon={Radio} title={isOpen ? 'Waiting for events' : 'Connecting'}>
        Changes of transactions and of the relayer are listed here as they happen.
      </Nothing>
    )
  return (
    <section className="card" aria-label="Events">
      <p className="hint">The newest {count(events.length)} events, followed live.</p>
      <ol className="timeline">
        {events.map((event) => (
          <li key={event.id} className={toneOf(event)}>
            <strong>{words(event.payload.payload_type)}</strong> <Moment at={event.timestamp} />
            <div>
              <EventText event={event} />
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}

const flush_ms = 300

function toneOf({ payload }: Event): string | undefined {
  if (payload.payload_type === 'relayer_disabled') return 'bad'
  if (payload.payload_type === 'transaction_waiting') return 'warn'
  if (payload.payload_type !== 'transaction') return undefined
  return payload.status === 'failed' ? 'bad' : payload.status === 'confirmed' ? 'good' : undefined
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
