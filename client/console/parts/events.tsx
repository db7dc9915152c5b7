import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import type { Event } from '../../index.ts'
import { followEvents } from '../data/events.ts'
import { count, time, withGroups, words } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Badge } from './badge.tsx'
import { transactionPath } from './links.tsx'
import { RowTime } from './moment.tsx'
import { Nothing, SendOne } from './nothing.tsx'
import { Reason } from './reason.tsx'
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
      <Nothing
        icon={Radio}
        title={isOpen ? 'No events yet' : 'Connecting'}
        action={isOpen && <SendOne relayer_id={relayer_id} />}
      >
        Changes of transactions and of the relayer are listed here as they happen.
      </Nothing>
    )
  const groups = groupsOf(events)
  return (
    <section aria-label="Events">
      <p className="hint">
        {count(groups.length)} {groups.length === 1 ? 'row' : 'rows'} of {count(events.length)}{' '}
        {events.length === 1 ? 'event' : 'events'}, the newest first: those of a transaction are one row. Followed live.
      </p>
      <Table of="events" rows={groups} columns={columns} idOf={idOf} isPart />
    </section>
  )
}

const flush_ms = 300

/** The events of one transaction, newest first; any other event alone. */
type Group = [newest: Event, ...before: Event[]]

const groupsOf = (events: Event[]) => [...Map.groupBy(events, (event) => idOf([event])).values()] as Group[]

const idOf = ([{ id, payload }]: Group): string => ('nonce' in payload && 'id' in payload ? payload.id : id)

const columns: Column<Group>[] = [
  {
    name: 'Event',
    isWhole: true,
    cell: ([{ payload }]) =>
      'nonce' in payload && 'id' in payload ? (
        <Link to={transactionPath(payload)}>nonce {payload.nonce ?? '–'}</Link>
      ) : (
        words(payload.payload_type)
      ),
  },
  { name: 'State', isBeside: true, cell: ([event]) => <State event={event} /> },
  { name: 'Time', isTime: true, isPlain: true, cell: ([{ timestamp }]) => <RowTime at={timestamp} /> },
  {
    name: 'Before',
    isWhole: true,
    isPlain: true,
    cell: ([, ...before]) =>
      before.length > 0 && (
        <span className="hint">
          {before.map((event, index) => (
            <span key={event.id} title={time(event.timestamp)}>
              {index > 0 && ', '}
              {stateOf(event) ?? words(event.payload.payload_type)}
            </span>
          ))}
        </span>
      ),
  },
  {
    name: 'Reason',
    isPlain: true,
    cell: ([{ payload }]) => {
      if ('status_reason' in payload && payload.status_reason !== null)
        return (
          <div className="clamped" title={payload.status_reason}>
            <Reason text={payload.status_reason} of={payload} />
          </div>
        )
      return 'disable_reason' in payload && payload.disable_reason && <div>{withGroups(payload.disable_reason)}</div>
    },
  },
]

const stateOf = ({ payload }: Event): string | undefined =>
  'is_canceling' in payload && payload.is_canceling
    ? 'canceling'
    : 'status' in payload && typeof payload.status === 'string'
      ? payload.status
      : undefined

function State({ event }: { event: Event }) {
  const state = stateOf(event) ?? (event.payload.payload_type === 'relayer_disabled' ? 'disabled' : undefined)
  return state && <Badge state={state} />
}
