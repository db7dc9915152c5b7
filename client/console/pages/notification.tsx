import { useQuery } from '@tanstack/react-query'
import { Bell } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Delivery, DeliveryStatus, Notification as Its, NotificationHealth } from '../../index.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { age, count, momentOf, typedOf, zoneShortly } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { answerText, Deliveries } from '../parts/deliveries.tsx'
import { Loaded, Problem } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { Filters } from '../parts/filters.tsx'
import { Heading } from '../parts/heading.tsx'
import { isMissing, Missing } from '../parts/missing.tsx'
import { Moment } from '../parts/moment.tsx'
import { ClearFilters, Nothing } from '../parts/nothing.tsx'
import { Segments } from '../parts/segments.tsx'
import { filterOf, filterText, formOf, WebhookForm } from '../parts/webhook-form.tsx'

const poll_ms = 3_000
const per_page = 50
const day_ms = 86_400_000
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
  const query = { per_page, ...(status !== 'all' && { status: [status] as DeliveryStatus[] }) }
  const deliveries = useQuery({
    queryKey: ['deliveries', id, status],
    queryFn: async ({ signal }) => (await client.get(`${one}/deliveries`, { path, query, signal })).data,
    refetchInterval: poll_ms,
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
        <Actions path={path} its={notification.data} waiting={health.data?.pending ?? 0} />
      </div>
      <Loaded query={notification} lines={1}>
        {({ url, filter }) => (
          <p>
            <code>{url}</code> <span className="hint">{filterText(filter)}</span>
          </p>
        )}
      </Loaded>
      <Loaded query={health} lines={2}>
        {(its) => <Health its={its} deliveries={deliveries.data ?? []} />}
      </Loaded>
      <Filters>
        <h2>Deliveries</h2>
        <Segments label="Status" values={statuses} value={status} choose={(one) => choose({ status: one })} />
      </Filters>
      <Loaded query={deliveries} lines={6} as="rows">
        {(all) =>
          all.length === 0 ? (
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
            <div className="deliveries">
              <Deliveries rows={all} path={path} isFailing={health.data?.failing_since != null} />
              {all.length === per_page && <p className="hint">The newest {per_page} are shown.</p>}
            </div>
          )
        }
      </Loaded>
    </>
  )
}

function Health({ its, deliveries }: { its: NotificationHealth; deliveries: Delivery[] }) {
  const refused = deliveries.find(({ status, attempts }) => status !== 'delivered' && attempts.length > 0)
  const answer = refused?.attempts.at(-1)
  return (
    <>
      {its.status === 'disabled' && (
        <Problem>This notification is disabled: {its.disabled_reason} Set its URL again to enable it.</Problem>
      )}
      {its.failing_since !== null && its.status !== 'disabled' && (
        <Problem>
          No attempt has succeeded for {age(its.failing_since)}.{' '}
          {refused && answer && `The last response, to #${count(refused.sequence)}: ${answerText(answer)}. `}
          Deliveries are retried; one counts as failed when no attempt is left.
        </Problem>
      )}
      <dl className="figures">
        <Figure name="Waiting">{count(its.pending)}</Figure>
        <Figure name="Failed">{count(its.failed)}</Figure>
        <Figure name="Last success">
          <Moment at={its.last_success_at} />
        </Figure>
      </dl>
    </>
  )
}

function Actions({
  path,
  its,
  waiting,
}: {
  path: { notification_id: string }
  its: Its | undefined
  /** How many deliveries wait for their next attempt. */
  waiting: number
}) {
  const { client } = useSession()
  const { notification_id: id } = path
  const [since, setSince] = useState(() => typedOf(new Date(Date.now() - day_ms).toISOString()))
  return (
    <div className="buttons actions">
      <Action
        label="Retry waiting"
        tone={waiting > 0 ? 'primary' : undefined}
        effect={<p>Makes every delivery that waits for its next attempt due now, in the order of the events.</p>}
        run={async () => (await client.post(`${one}/deliveries/retry`, { path })).data.retried}
        told={(retried) => `${count(retried)} waiting ${retried === 1 ? 'delivery is' : 'deliveries are'} retried now.`}
      />
      <Action
        label="Send a test"
        title={`Send a test to ${id}`}
        tone={waiting > 0 ? undefined : 'primary'}
        effect={<p>Sends one “test” event to the URL now, without retries.</p>}
        run={async () => {
          const { data } = await client.post(`${one}/test`, { path })
          if (data.error !== null) throw new Error(`The test failed after ${count(data.duration_ms)} ms: ${data.error}`)
          return data
        }}
        told={({ status, duration_ms }) => `${id} answered the test with ${status}, in ${count(duration_ms)} ms.`}
      />
      <Action
        label="Redeliver failed"
        effect={<p>Sends all failed deliveries of events since this time again, in the order of the events.</p>}
        run={async () => {
          const body = { since: momentOf(since) ?? '' }
          return (await client.post(`${one}/redeliver`, { path, body })).data.redelivered
        }}
        told={(redelivered) =>
          `${count(redelivered)} failed ${redelivered === 1 ? 'delivery is' : 'deliveries are'} redelivered.`
        }
      >
        <label>
          Since ({zoneShortly(momentOf(since))})
          <input
            name="since"
            type="datetime-local"
            required
            value={since}
            onChange={(event) => setSince(event.target.value)}
          />
        </label>
      </Action>
      <Edit path={path} its={its} />
    </div>
  )
}

function Edit({ path, its }: { path: { notification_id: string }; its: Its | undefined }) {
  const { client } = useSession()
  const [, go] = useLocation()
  const [changed, setChanged] = useState(formOf(its))
  const [key, setKey] = useState('')
  return (
    <>
      <Action
        label="Edit"
        title={`Edit notification ${path.notification_id}`}
        told={`Notification ${path.notification_id} is edited.`}
        disabled={its === undefined}
        opened={() => {
          setChanged(formOf(its))
          setKey('')
        }}
        effect={
          <p>
            Later attempts use this URL, and later events these filters. A disabled notification becomes enabled when
            its URL is set.
          </p>
        }
        run={() =>
          client.patch(one, {
            path,
            body: { url: changed.url, filter: filterOf(changed), ...(key !== '' && { signing_key: key }) },
          })
        }
      >
        <WebhookForm form={changed} set={setChanged} />
        <label>
          New signing key (empty: it stays)
          <input
            name="signing_key"
            type="password"
            autoComplete="off"
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
      </Action>
      <Action
        label="Delete"
        title={`Delete notification ${path.notification_id}`}
        tone="danger"
        told={`Notification ${path.notification_id} is deleted.`}
        effect={
          <p>
            Deletes {path.notification_id} with its waiting deliveries. It is refused while a relayer reports to it.
          </p>
        }
        run={async () => {
          await client.delete(one, { path })
          go('/notifications')
        }}
      />
    </>
  )
}
