import { Bell } from 'lucide-react'
import { useState } from 'react'
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryStatus,
  EventName,
  NotificationHealth,
  Notification as Resource,
  TransactionStatus,
} from '../../index.ts'
import { Action } from '../components/action.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { Callout, ClearFilters, EmptyState, Loaded } from '../components/feedback.tsx'
import { Field } from '../components/fields.tsx'
import { Filters, Segments } from '../components/filters.tsx'
import { Menu } from '../components/menu.tsx'
import { Crumbs, Heading, isMissing, Missing } from '../components/page.tsx'
import { ageColumn, type Column, Pages, Table, usePage } from '../components/table.tsx'
import {
  Ago,
  Badge,
  Copyable,
  Figures,
  Lasting,
  RelayerLink,
  RowTime,
  TransactionLink,
  Until,
} from '../components/values.tsx'
import { useAddressState } from '../data/address-state.ts'
import { useForm } from '../data/form.ts'
import { count, counted, words } from '../data/format.ts'
import { useAnswer, useGet } from '../data/get.ts'
import { type NotificationPage, paths } from '../data/paths.ts'
import { useHealth } from '../data/resources.ts'
import { momentOf, typedOf, zoneShortly } from '../data/times.ts'
import { filterText, useNotificationForm } from './notifications.tsx'

const pollMs = 3_000
const perPage = 50
const dayMs = 86_400_000
const statuses = ['all', 'pending', 'failed', 'delivered'] as const

/** A notification: its health, and its deliveries with the responses; each can be sent again. */
export function Notification({ notification_id, find }: NotificationPage) {
  const path = { notification_id }
  const here = paths.notification(notification_id)
  const [{ status }, choose] = useAddressState(here, find, { status: statuses })
  const notification = useGet('/api/v1/notifications/{notification_id}', { path })
  const health = useHealth(notification_id, pollMs)
  const [page, setPage] = usePage(`${notification_id} ${status}`)
  const query = { page, per_page: perPage, ...(status !== 'all' && { status: [status] }) }
  const deliveries = useAnswer(
    '/api/v1/notifications/{notification_id}/deliveries',
    { path, query },
    { pollMs, keepsPrevious: true },
  )
  if (isMissing(notification.error))
    return <Missing what={`Notification ${notification_id}`} to={paths.notifications} list="the notifications" />
  return (
    <>
      <Crumbs to={paths.notifications} list="Notifications">
        {notification_id}
      </Crumbs>
      <div className="bar">
        <Heading
          name={notification_id}
          opened={notification.data && { kind: 'notification', name: notification_id, to: here }}
        />
        <NotificationActions id={notification_id} resource={notification.data} health={health.data} />
      </div>
      <Loaded query={health} lines={2}>
        {(its) => <HealthCallouts id={notification_id} health={its} />}
      </Loaded>
      <Loaded query={notification} lines={1}>
        {({ url, filter }) => (
          <Figures
            of={{
              URL: <Copyable value={url} whole />,
              Receives: filterText(filter),
              ...(health.data && {
                Pending: count(health.data.pending_count),
                Failed: count(health.data.failed_count),
                'Last success': <Ago at={health.data.last_success_at} />,
              }),
            }}
          />
        )}
      </Loaded>
      <Filters>
        <h2>Deliveries</h2>
        <Segments label="Status" values={statuses} value={status} choose={(one) => choose({ status: one })} />
      </Filters>
      <Loaded query={deliveries} lines={6} as="rows">
        {({ data, pagination: { total_items } }) =>
          total_items === 0 ? (
            <NoDeliveries status={status} clear={() => choose({ status: 'all' })} />
          ) : (
            <>
              <Deliveries
                rows={data}
                notification_id={notification_id}
                isFailing={health.data?.failing_since != null}
              />
              <Pages of="deliveries" page={page} per_page={perPage} total={total_items} go={setPage} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

const NoDeliveries = ({ status, clear }: { status: string; clear(): void }) =>
  status === 'all' ? (
    <EmptyState icon={Bell} title="No deliveries yet" create="Send a test">
      The events of relayers with this notification appear here, each with the responses of your endpoint.
    </EmptyState>
  ) : (
    <EmptyState icon={Bell} title={`No delivery is ${status}`} action={<ClearFilters clear={clear} />}>
      No delivery has this status.
    </EmptyState>
  )

function HealthCallouts({ id, health }: { id: string; health: NotificationHealth }) {
  const isFailing = health.failing_since !== null && health.status !== 'disabled'
  return (
    <>
      {health.status === 'disabled' && (
        <Callout of="warning">
          This notification is disabled: {health.disabled_reason} Set its URL again to enable it.
        </Callout>
      )}
      {isFailing && <FailingCallout id={id} since={health.failing_since ?? ''} pending={health.pending_count} />}
    </>
  )
}

/** What the endpoint answers, how many deliveries wait for it, and when the next of them is tried. */
function FailingCallout({ id, since, pending }: { id: string; since: string; pending: number }) {
  const query = { status: ['pending' as const], per_page: perPage }
  const { data: waiting = [] } = useGet(
    '/api/v1/notifications/{notification_id}/deliveries',
    { path: { notification_id: id }, query },
    { pollMs },
  )
  const tried = waiting.filter(({ attempts }) => attempts.length > 0)
  const last = tried.flatMap(({ attempts }) => attempts).sort((a, b) => (a.attempted_at < b.attempted_at ? 1 : -1))[0]
  const [next] = tried.flatMap(({ next_attempt_at: at }) => at ?? []).sort()
  return (
    <Callout of="warning">
      {last?.http_status ? `${id} has answered HTTP ${last.http_status} for ` : `${id} has not answered for `}
      <Lasting since={since} />
      {last && last.http_status === null && `: ${last.error_message}`}.{' '}
      {counted(pending, 'delivery waits', 'deliveries wait')}
      {next !== undefined && pending <= perPage && (
        <>
          ; next attempt <Until at={next} />
        </>
      )}
      .
    </Callout>
  )
}

interface DeliveriesProps {
  rows: Delivery[]
  notification_id: string
  isFailing: boolean
}

/**
 * The deliveries of a notification with the responses; each can be sent again. `isFailing`: no attempt of it has succeeded since a time:
 * those that were never sent wait for the first success.
 */
function Deliveries({ rows, notification_id, isFailing }: DeliveriesProps) {
  const columns: Column<Delivery>[] = [
    {
      name: 'Event',
      isWhole: true,
      cell: ({ event, transaction_status }) =>
        transaction_status === null ? (
          words(event)
        ) : (
          <span title={words(event)}>{eventText(event, transaction_status)}</span>
        ),
    },
    { name: 'Number', isWhole: true, isPlain: true, cell: ({ sequence }) => `#${count(sequence)}` },
    { name: 'Status', isBeside: true, cell: ({ status }) => <Badge state={status} /> },
    { name: 'About', isWhole: true, isPlain: true, cell: (delivery) => <About {...delivery} /> },
    {
      name: 'Attempts',
      isWhole: true,
      isPlain: true,
      cell: (its) => <Attempts attempts={its.attempts} status={its.status} />,
    },
    {
      name: 'Next attempt',
      isWhole: true,
      isSpare: true,
      cell: ({ status, next_attempt_at: at, attempts }) =>
        at === null || status !== 'pending' ? null : isFailing && attempts.length === 0 ? (
          <span title="While the endpoint fails, one delivery is retried. The others follow its first success.">
            after a success
          </span>
        ) : (
          <Until at={at} />
        ),
    },
    { ...ageColumn<Delivery>('Created', ({ created_at }) => created_at), isPlain: true },
    { name: '', cell: (delivery) => <Resend delivery={delivery} notification_id={notification_id} /> },
  ]
  return <Table of="deliveries" rows={rows} columns={columns} idOf={({ id }) => id} isPart isShort />
}

/** What became of a transaction: `transaction confirmed`. */
const eventText = (event: EventName, status: TransactionStatus): string =>
  event === 'transaction_update' ? `transaction ${status}` : `${words(event)}, ${status}`

/** A deleted relayer has no page, and a removed transaction neither. */
function About({ relayer_id, transaction_id, nonce, reference }: Delivery) {
  if (relayer_id === null) return null
  if (transaction_id === null) return <RelayerLink id={relayer_id} />
  return <TransactionLink relayer_id={relayer_id} id={transaction_id} nonce={nonce} reference={reference} />
}

function Resend({ delivery, notification_id }: { delivery: Delivery; notification_id: string }) {
  const { id, status, sequence } = delivery
  const name = `#${count(sequence)}`
  // The delivery may end meanwhile: an open dialog stays as it is.
  const [openedWith, setOpenedWith] = useState<DeliveryStatus>()
  const whileOpen = { opened: () => setOpenedWith(status), closed: () => setOpenedWith(undefined) }
  const isPending = (openedWith ?? status) === 'pending'
  return (
    <div className="buttons again" title={isPending ? 'Redeliver now' : 'Redeliver'}>
      {isPending ? (
        <Action
          {...whileOpen}
          label="Redeliver now"
          title={`Redeliver ${name} now`}
          effect="Makes it due now, with every other delivery that waits: earlier events of the same transaction are sent first. The receiver gets the same ID and the same bytes."
          run={(client) => client.notifications.redeliverDeliveries(notification_id, { status: 'pending' })}
          message={`Delivery ${name} is redelivered now. Its next attempt is listed with the response.`}
        />
      ) : (
        <Action
          {...whileOpen}
          label="Redeliver"
          title={`Redeliver ${name}`}
          effect="Sends this event again and restarts its retry schedule. The receiver gets the same ID and the same bytes."
          run={(client) => client.notifications.redeliverDeliveries(notification_id, { delivery_id: id })}
          message={`Delivery ${name} is redelivered.`}
        />
      )}
    </div>
  )
}

const answerText = ({ http_status, error_message }: Pick<DeliveryAttempt, 'http_status' | 'error_message'>) =>
  error_message ?? `HTTP ${http_status}`

function Attempts({ attempts, status: state }: Pick<Delivery, 'attempts' | 'status'>) {
  const last = attempts.at(-1)
  if (!last) return <span className="hint">{state === 'pending' ? 'not sent yet' : 'no longer kept'}</span>
  return (
    <details>
      <summary title={counted(attempts.length, 'attempt')}>
        {answerText(last)}
        {attempts.length > 1 && ` (${count(attempts.length)})`}
      </summary>
      <ol>
        {attempts.map(({ number, attempted_at, duration_ms, http_status, error_message, response_body }) => (
          <li key={number}>
            <RowTime at={attempted_at} />, {count(duration_ms)} ms: {answerText({ http_status, error_message })}{' '}
            {response_body && <code>{response_body}</code>}
          </li>
        ))}
      </ol>
    </details>
  )
}

interface NotificationActionsProps {
  id: string
  resource: Resource | undefined
  health: NotificationHealth | undefined
}

/** What can be done with a notification. */
function NotificationActions({ id, resource, health }: NotificationActionsProps) {
  const { values, bind } = useForm({ since: typedOf(new Date(Date.now() - dayMs).toISOString()) })
  const since = momentOf(values.since)
  const { pending_count: pending = 0, failed_count: failed } = health ?? {}
  const deliveriesAre = (number: number, kind: string) =>
    `${counted(number, `${kind} delivery`, `${kind} deliveries`)} ${number === 1 ? 'is' : 'are'}`
  return (
    <div className="buttons actions">
      <Action
        label="Redeliver pending"
        disabled={health?.pending_count === 0 && 'No delivery is pending.'}
        tone={pending > 0 ? 'primary' : undefined}
        effect="Makes every delivery that waits for its next attempt due now, in the order of the events."
        run={(client) => client.notifications.redeliverDeliveries(id, { status: 'pending' })}
        message={({ redelivered_count }) => `${deliveriesAre(redelivered_count, 'pending')} redelivered now.`}
      />
      <Action
        label="Send a test"
        title={`Send a test to ${id}`}
        tone={pending > 0 ? undefined : 'primary'}
        effect="Sends one “test” event to the URL now, without retries."
        run={async (client) => {
          const test = await client.notifications.test(id)
          if (test.error_message !== null)
            throw new Error(`The test failed after ${count(test.duration_ms)} ms: ${test.error_message}`)
          return test
        }}
        message={({ http_status, duration_ms }) =>
          `${id} answered the test with ${http_status}, in ${count(duration_ms)} ms.`
        }
      />
      <Action
        label="Redeliver failed"
        disabled={failed === 0 && 'No delivery has failed.'}
        effect="Sends all failed deliveries of events since this time again, in the order of the events."
        run={(client) => client.notifications.redeliverDeliveries(id, { status: 'failed', since: since ?? '' })}
        message={({ redelivered_count }) => `${deliveriesAre(redelivered_count, 'failed')} redelivered.`}
      >
        <Field label={`Since (${zoneShortly(since)})`} type="datetime-local" required {...bind('since')} />
      </Action>
      {resource && <EditNotification resource={resource} />}
      <Menu of={id}>
        <Action
          label="Delete"
          thing={`notification ${id}`}
          tone="danger"
          effect={`Deletes ${id} with its pending deliveries. It is refused while a relayer reports to it.`}
          run={(client) => client.notifications.delete(id)}
          to={paths.notifications}
        />
      </Menu>
    </div>
  )
}

function EditNotification({ resource }: { resource: Resource }) {
  const { id } = resource
  const form = useNotificationForm(resource)
  const { opened, open, lack, difference } = useEdited(resource, form.reset)
  return (
    <Action
      label="Edit"
      thing={`notification ${id}`}
      opened={open}
      lack={lack}
      effect="Later attempts use this URL, and later events these filters. A disabled notification becomes enabled when its URL is set."
      run={(client) => {
        const before = { url: opened.url, filter: opened.filter ?? { events: null, statuses: null } }
        return client.notifications.update(id, changedIn(before, form.body()), { revision: opened.revision })
      }}
    >
      {difference}
      {form.fields}
      <Field
        label="New signing key (empty: it stays)"
        type="password"
        autoComplete="off"
        {...form.bind('signing_key')}
      />
    </Action>
  )
}
