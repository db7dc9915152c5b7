import { useQuery } from '@tanstack/react-query'
import { Bell } from 'lucide-react'
import { Link } from 'wouter'
import type { Delivery, DeliveryStatus, NotificationHealth } from '../../index.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { count } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { age } from '../data/times.ts'
import { Callout } from '../parts/callout.tsx'
import { answerText, Deliveries } from '../parts/deliveries.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { Filters } from '../parts/filters.tsx'
import { Heading } from '../parts/heading.tsx'
import { isMissing, Missing } from '../parts/missing.tsx'
import { Moment } from '../parts/moment.tsx'
import { ClearFilters, Nothing } from '../parts/nothing.tsx'
import { NotificationActions } from '../parts/notification-actions.tsx'
import { Pages, usePage } from '../parts/pages.tsx'
import { Segments } from '../parts/segments.tsx'
import { filterText } from '../parts/webhook-form.tsx'

const poll_ms = 3_000
const per_page = 50
const one = '/api/v1/notifications/{notification_id}'
const statuses = ['all', 'pending', 'failed', 'delivered'] as const

/** A webhook endpoint: its health, and its deliveries with the responses; each can be sent again. */
export function Notification({ notification_id, find }: { notification_id: string; find?: string | undefined }) {
  const { client } = useSession()
  const id = notification_id
  const path = { notification_id }
  const [chosen, choose] = useChoices(`/notifications/${encodeURIComponent(id)}`, find, { status: 'all' })
  const status = oneOf(statuses, chosen.status)
  const notification = useQuery({
    queryKey: ['notification', id],
    queryFn: async ({ signal }) => (await client.get(one, { path, signal })).data,
  })
  const health = useQuery({
    queryKey: ['health', id],
    queryFn: async ({ signal }) => (await client.get(`${one}/health`, { path, signal })).data,
    refetchInterval: poll_ms,
  })
  const [page, setPage] = usePage(`${id} ${status}`)
  const query = { page, per_page, ...(status !== 'all' && { status: [status] as DeliveryStatus[] }) }
  const deliveries = useQuery({
    queryKey: ['deliveries', id, status, page],
    queryFn: ({ signal }) => client.get(`${one}/deliveries`, { path, query, signal }),
    refetchInterval: poll_ms,
    placeholderData: (before) => before,
  })
  if (isMissing(notification.error))
    return <Missing what={`Notification ${id}`} to="/notifications" list="the notifications" />
  return (
    <>
      <p className="crumbs">
        <Link to="/notifications">Notifications</Link> / {id}
      </p>
      <div className="bar">
        <Heading
          name={id}
          opened={
            notification.data && { kind: 'notification', name: id, to: `/notifications/${encodeURIComponent(id)}` }
          }
        />
        <NotificationActions path={path} its={notification.data} pending={health.data?.pending ?? 0} />
      </div>
      <Loaded query={health} lines={2}>
        {(its) => <Health its={its} newest={page === 1 ? (deliveries.data?.data ?? []) : []} />}
      </Loaded>
      <Loaded query={notification} lines={1}>
        {({ url, filter }) => (
          <dl className="figures">
            <Figure name="URL">
              <code>{url}</code>
            </Figure>
            <Figure name="Receives">{filterText(filter)}</Figure>
            {health.data && <Counts its={health.data} />}
          </dl>
        )}
      </Loaded>
      <Filters>
        <h2>Deliveries</h2>
        <Segments label="Status" values={statuses} value={status} choose={(one) => choose({ status: one })} />
      </Filters>
      <Loaded query={deliveries} lines={6} as="rows">
        {({ data, pagination: { total_items } }) =>
          total_items === 0 ? (
            <Nothing
              icon={Bell}
              title={status === 'all' ? 'No deliveries yet' : `No delivery is ${status}`}
              {...(status === 'all'
                ? { create: 'Send a test' }
                : { action: <ClearFilters clear={() => choose({ status: 'all' })} /> })}
            >
              {status === 'all'
                ? 'Each event of a relayer that has this notification is listed here with the answers of your endpoint.'
                : 'Choose another status, or show all.'}
            </Nothing>
          ) : (
            <>
              <Deliveries rows={data} path={path} isFailing={health.data?.failing_since != null} />
              <Pages
                of="deliveries"
                page={page}
                last={Math.ceil(total_items / per_page)}
                total={total_items}
                go={setPage}
              />
            </>
          )
        }
      </Loaded>
    </>
  )
}

function Health({ its, newest }: { its: NotificationHealth; newest: Delivery[] }) {
  const refused = newest.find(({ status, attempts }) => status !== 'delivered' && attempts.length > 0)
  const answer = refused?.attempts.at(-1)
  return (
    <>
      {its.status === 'disabled' && (
        <Callout of="warning">
          This notification is disabled: {its.disabled_reason} Set its URL again to enable it.
        </Callout>
      )}
      {its.failing_since !== null && its.status !== 'disabled' && (
        <Callout of="warning">
          No attempt has succeeded for {age(its.failing_since)}.{' '}
          {refused && answer && `The last response, to #${count(refused.sequence)}: ${answerText(answer)}. `}
          Deliveries are retried; one counts as failed when no attempt is left.
        </Callout>
      )}
    </>
  )
}

const Counts = ({ its }: { its: NotificationHealth }) => (
  <>
    <Figure name="Pending">{count(its.pending)}</Figure>
    <Figure name="Failed">{count(its.failed)}</Figure>
    <Figure name="Last success">{its.last_success_at === null ? 'never' : <Moment at={its.last_success_at} />}</Figure>
  </>
)
