import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import type { Event } from '../../index.ts'
import { followEvents } from '../data/events.ts'
import { count, words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Badge } from './badge.tsx'
import { transactionPath } from './links.tsx'
import { Moment } from './moment.tsx'
import { Nothing } from './nothing.tsx'
import { type Column, Table } from './table.tsx'

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
    <section aria-label="Events">
      <p className="hint">The newest {count(events.length)} events, followed live.</p>
      <Table of="events" rows={events} columns={columns} idOf={({ id }) => id} isPart />
    </section>
  )
}

const flush_ms = 300

const columns: Column<Event>[] = [
  { name: 'Event', isWhole: true, cell: ({ payload }) => words(payload.payload_type) },
  { name: 'State', isBeside: true, cell: (event) => <State event={event} /> },
  {
    name: 'Transaction',
    isWhole: true,
    cell: ({ payload }) =>
      'nonce' in payload && 'id' in payload ? (
        <Link to={transactionPath(payload)}>nonce {payload.nonce ?? '–'}</Link>
      ) : null,
  },
  {
    name: 'Reason',
    cell: ({ payload }) => {
      const reason =
        'status_reason' in payload ? payload.status_reason : 'disable_reason' in payload ? payload.disable_reason : null
      return reason && <div className="long">{reason}</div>
    },
  },
  { name: 'Time', isWhole: true, cell: ({ timestamp }) => <Moment at={timestamp} /> },
]

function State({ event: { payload } }: { event: Event }) {
  if ('status' in payload && typeof payload.status === 'string') return <Badge state={payload.status} />
  return payload.payload_type === 'relayer_disabled' ? <Badge state="disabled" /> : null
}
