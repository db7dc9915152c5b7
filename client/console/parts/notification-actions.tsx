import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Notification as Its } from '../../index.ts'
import { count } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { momentOf, typedOf, zoneShortly } from '../data/times.ts'
import { Action } from './action.tsx'
import { filterOf, formOf, WebhookForm } from './webhook-form.tsx'

const day_ms = 86_400_000
const one = '/api/v1/notifications/{notification_id}'

/** What can be done with a notification. */
export function NotificationActions({
  path,
  its,
  pending,
}: {
  path: { notification_id: string }
  its: Its | undefined
  /** How many deliveries wait for their next attempt. */
  pending: number
}) {
  const { client } = useSession()
  const { notification_id: id } = path
  const [since, setSince] = useState(() => typedOf(new Date(Date.now() - day_ms).toISOString()))
  return (
    <div className="buttons actions">
      <Action
        label="Retry pending"
        tone={pending > 0 ? 'primary' : undefined}
        effect={<p>Makes every delivery that waits for its next attempt due now, in the order of the events.</p>}
        run={async () => (await client.post(`${one}/deliveries/retry`, { path })).data.retried}
        told={(retried) => `${count(retried)} pending ${retried === 1 ? 'delivery is' : 'deliveries are'} retried now.`}
      />
      <Action
        label="Send a test"
        title={`Send a test to ${id}`}
        tone={pending > 0 ? undefined : 'primary'}
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
            Deletes {path.notification_id} with its pending deliveries. It is refused while a relayer reports to it.
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
