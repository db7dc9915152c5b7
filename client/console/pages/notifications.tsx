import { useState } from 'react'
import { Link } from 'wouter'
import { useHealths, useNotifications } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { filterOf, formOf, WebhookForm } from '../parts/webhook-form.tsx'

const max_examined = 50

export function Notifications() {
  const { client } = useSession()
  const notifications = useNotifications()
  const healths = useHealths((notifications.data ?? []).slice(0, max_examined).map(({ id }) => id))
  const [form, setForm] = useState(formOf(undefined))
  const [id, setId] = useState('')
  const [secret, setSecret] = useState('')
  return (
    <>
      <div className="bar">
        <Heading name="Notifications" />
        <Action
          label="Create"
          tone="primary"
          effect={<p>Creates a webhook endpoint. Relayers with this notification send their events to it.</p>}
          opened={() => setForm(formOf(undefined))}
          run={async () => {
            const filter = filterOf(form)
            const its = { url: form.url, ...(id !== '' && { id }), ...(filter && { filter }) }
            await client.post('/api/v1/notifications', {
              body: { ...its, ...(secret !== '' && { signing_key: secret }) },
            })
            setSecret('')
          }}
        >
          <WebhookForm form={form} set={setForm} />
          <label>
            Secret that signs deliveries (empty: they are not signed)
            <input
              type="password"
              autoComplete="new-password"
              value={secret}
              onChange={(event) => setSecret(event.target.value)}
            />
          </label>
          <label>
            Id (optional)
            <input value={id} onChange={(event) => setId(event.target.value)} />
          </label>
        </Action>
      </div>
      <Loaded query={notifications}>
        {(all) =>
          all.length === 0 ? (
            <p>No notifications yet. A notification sends the events of relayers to your webhook endpoint.</p>
          ) : (
            <div className="scroll">
              <table>
                <thead>
                  <tr>
                    <th>ID</th>
                    <th>URL</th>
                    <th>Health</th>
                    <th className="number">Due</th>
                    <th className="number">Failed</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map((notification, index) => {
                    const health = healths[index]?.data
                    const state =
                      health?.status === 'disabled' ? 'disabled' : health?.failing_since ? 'failing' : 'healthy'
                    return (
                      <tr key={notification.id}>
                        <td>
                          <Link to={`/notifications/${encodeURIComponent(notification.id)}`}>{notification.id}</Link>
                        </td>
                        <td>
                          <code>{notification.url}</code>
                        </td>
                        <td>{health ? <Badge state={state} /> : '…'}</td>
                        <td className="number">{health?.pending ?? '…'}</td>
                        <td className="number">{health?.failed ?? '…'}</td>
                      </tr>
                    )
                  })}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </>
  )
}
