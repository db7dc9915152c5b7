import { Bell } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { Notification, NotificationHealth } from '../../index.ts'
import { count } from '../data/format.ts'
import { useHealth, useNotifications } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Age } from '../parts/moment.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { filterOf, formOf, WebhookForm } from '../parts/webhook-form.tsx'

export function Notifications() {
  const { client } = useSession()
  const notifications = useNotifications()
  const [form, setForm] = useState(formOf(undefined))
  const [id, setId] = useState('')
  const [secret, setSecret] = useState('')
  return (
    <>
      <div className="bar">
        <Heading name="Notifications" />
        <Action
          label="Create a notification"
          tone="primary"
          effect={<p>Creates a webhook endpoint. Relayers with this notification send their events to it.</p>}
          opened={() => {
            setForm(formOf(undefined))
            setId('')
            setSecret('')
          }}
          run={async () => {
            const filter = filterOf(form)
            const its = { url: form.url, ...(id !== '' && { id }), ...(filter && { filter }) }
            const body = { ...its, ...(secret !== '' && { signing_key: secret }) }
            const { data } = await client.post('/api/v1/notifications', { body })
            return data.id
          }}
          told={(made) => (
            <>
              Notification <Link to={`/notifications/${encodeURIComponent(made)}`}>{made}</Link> is created.
            </>
          )}
        >
          <WebhookForm form={form} set={setForm} />
          <label>
            Secret that signs deliveries (empty: they are not signed)
            <input
              name="signing_key"
              type="password"
              autoComplete="new-password"
              value={secret}
              onChange={(event) => setSecret(event.target.value)}
            />
          </label>
          <label>
            ID (optional)
            <input name="id" value={id} onChange={(event) => setId(event.target.value)} />
          </label>
        </Action>
      </div>
      <Loaded query={notifications} as="rows">
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={Bell} title="No notifications yet" create="Create a notification">
              A notification sends the events of relayers to your webhook endpoint, signed, at least once.
            </Nothing>
          ) : (
            <Table of="notifications" rows={all} columns={columns} idOf={(its) => its.id} />
          )
        }
      </Loaded>
    </>
  )
}

const columns: Column<Notification>[] = [
  {
    name: 'Notification',
    by: ({ id }) => id,
    cell: ({ id }) => <Link to={`/notifications/${encodeURIComponent(id)}`}>{id}</Link>,
  },
  { name: 'URL', by: ({ url }) => url, cell: ({ url }) => <code>{url}</code> },
  { name: 'Status', isBeside: true, cell: ({ id }) => <Health id={id} of={(its) => <Badge state={stateOf(its)} />} /> },
  { name: 'Pending', isNumber: true, cell: ({ id }) => <Health id={id} of={({ pending }) => count(pending)} /> },
  { name: 'Failed', isNumber: true, cell: ({ id }) => <Health id={id} of={({ failed }) => count(failed)} /> },
  {
    name: 'Last success',
    cell: ({ id }) => <Health id={id} of={({ last_success_at }) => <Age of={last_success_at} />} />,
  },
]

const stateOf = ({ status, failing_since }: NotificationHealth) =>
  status === 'disabled' ? 'disabled' : failing_since ? 'failing' : 'healthy'

function Health({ id, of }: { id: string; of(its: NotificationHealth): ReactNode }) {
  const health = useHealth(id)
  return health.data ? of(health.data) : health.error ? 'unknown' : '…'
}
