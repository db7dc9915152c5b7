import { Radio } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Transaction, WebhookEvent } from '../../index.ts'
import { EmptyState, SendOne } from '../components/feedback.tsx'
import { type Column, Table, timeColumn } from '../components/table.tsx'
import { Badge, Pending, TransactionLink, TransactionState } from '../components/values.tsx'
import { followEvents } from '../data/events.ts'
import { amount, counted, reasonText, words } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { relayerState, useSymbolsOfRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { isFinal, stateOf } from '../data/statuses.ts'
import { clock, duration } from '../data/times.ts'
import { hasTokenAmounts, Reason } from '../transactions/reason.tsx'

const maxEvents = 200

/** The newest events, also of before the page was opened, newest first. */
export function Events({ relayer_id }: { relayer_id: string }) {
  const { token } = useSession()
  const [events, setEvents] = useState<WebhookEvent[]>([])
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const ended = new AbortController()
    // The former events come at once: they are shown together.
    const news: WebhookEvent[] = []
    const flush = setInterval(() => {
      if (news.length === 0) return
      const added = news.splice(0).reverse()
      setEvents((before) => [...added, ...before].slice(0, maxEvents))
    }, flushMs)
    void followEvents(token, relayer_id, ended.signal, {
      recent: maxEvents,
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
      <EmptyState
        icon={Radio}
        title={isOpen ? 'No events yet' : 'Connecting'}
        action={isOpen && <SendOne relayer_id={relayer_id} />}
      >
        Changes of transactions and of the relayer are listed here as they happen.
      </EmptyState>
    )
  const groups = groupsOf(events)
  return (
    <section aria-label="Events">
      <p className="hint">Latest {counted(events.length, 'event')}, grouped by transaction. Live.</p>
      <Table of="events" rows={groups} columns={columns} idOf={idOf} isPart />
    </section>
  )
}

const flushMs = 300

/** The events of one transaction, newest first; any other event alone. */
type Group = [newest: WebhookEvent, ...before: WebhookEvent[]]

const groupsOf = (events: WebhookEvent[]) => [...Map.groupBy(events, (event) => idOf([event])).values()] as Group[]

function transactionOf({ payload }: WebhookEvent): Omit<Transaction, 'warnings'> | undefined {
  if (payload.payload_type === 'transaction') return payload
  return payload.payload_type === 'transaction_waiting' ? payload.transaction : undefined
}

const idOf = ([event]: Group): string => transactionOf(event)?.id ?? event.id

const columns: Column<Group>[] = [
  {
    name: 'About',
    cell: ([event]) => {
      const its = transactionOf(event)
      return (
        <>
          {its ? <TransactionLink {...its} isOwn /> : wordOf(event)}
          <div className="hint">
            <Why event={event} />
          </div>
        </>
      )
    },
  },
  { name: 'Status', isBeside: true, cell: ([event]) => <Status event={event} /> },
  timeColumn('Time', ([{ timestamp }]) => timestamp, { isPlain: true }),
  {
    name: 'Took',
    isNumber: true,
    isPlain: true,
    cell: (group) => <Course of={group} />,
  },
]

/** The way of nearly every transaction, which says nothing more. */
const usual: ReadonlySet<string> = new Set(['pending', 'sent', 'submitted', 'mined', 'confirmed'])

/** How long a transaction took until it ended, and what else happened to it; each step with its time is in the title. */
function Course({ of: [newest, ...before] }: { of: Group }) {
  const its = transactionOf(newest)
  if (!its) return null
  const steps = [newest, ...before].reverse()
  const unusual = new Set(
    before
      .toReversed()
      .map(wordOf)
      .filter((word) => !usual.has(word)),
  )
  const took =
    isFinal(its.status) && duration(Date.parse(its.ended_at ?? newest.timestamp) - Date.parse(its.created_at))
  return (
    <span className="hint" title={steps.map((event) => `${wordOf(event)} ${clock(event.timestamp)}`).join(', ')}>
      {[took, ...unusual].filter(Boolean).join(', ')}
    </span>
  )
}

/** A relayer that is paused is no disabled one, although its event is the same. */
function wordOf({ payload }: WebhookEvent): string {
  switch (payload.payload_type) {
    case 'relayer_disabled':
    case 'relayer_enabled':
      return `relayer ${relayerState(payload.relayer)}`
    case 'transaction_waiting':
      return `waited (${words(payload.transaction.wait_reason ?? 'other')})`
    default:
      return payload.payload_type === 'transaction' ? stateOf(payload) : words(payload.payload_type)
  }
}

function Status({ event }: { event: WebhookEvent }) {
  const its = transactionOf(event)
  if (its) return <TransactionState transaction={its} />
  switch (event.payload.payload_type) {
    case 'relayer_disabled':
    case 'relayer_enabled':
      return <Badge state={relayerState(event.payload.relayer)} />
    case 'relayer_funding':
      return <Badge state={event.payload.status} />
    default:
      return null
  }
}

function Why({ event }: { event: WebhookEvent }) {
  const symbolOf = useSymbolsOfRelayers()
  const { payload } = event
  const its = transactionOf(event)
  if (its) return its.status_reason === null ? null : <ReasonOf text={its.status_reason} of={its} />
  switch (payload.payload_type) {
    case 'relayer_disabled':
      return reasonText(payload.disabled_reason, symbolOf(payload.relayer.id))
    case 'relayer_funding':
      return payload.status_reason === null ? null : reasonText(payload.status_reason, symbolOf(payload.relayer.id))
    case 'relayer_low_balance': {
      const [balance, least] = [payload.balance, payload.min_balance].map((wei) =>
        amount(wei, symbolOf(payload.relayer.id)),
      )
      return `The balance is ${balance}, below the minimum of ${least}.`
    }
    default:
      return null
  }
}

interface ReasonOfProps {
  text: string
  of: Pick<Transaction, 'id' | 'relayer_id' | 'to'> & { error?: Transaction['error'] }
}

/** An event does not have the call, which names the token of the amounts. */
function ReasonOf({ text, of: { id, relayer_id, to, error = null } }: ReasonOfProps) {
  const its = useGet(
    '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}',
    { path: { relayer_id, transaction_id: id } },
    { scope: 'read', isEnabled: hasTokenAmounts(text, error?.revert_data), freshMs: Number.POSITIVE_INFINITY },
  )
  return its.isLoading ? <Pending /> : <Reason text={text} of={its.data ?? { relayer_id, to, call: null, error }} />
}
