import { Bell } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { EventName, Notification, NotificationFilter, NotificationHealth, TransactionStatus } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Checks, Field } from '../components/fields.tsx'
import { TablePage } from '../components/page.tsx'
import type { Column } from '../components/table.tsx'
import { Age, about, Badge } from '../components/values.tsx'
import { given, useForm } from '../data/form.ts'
import { count, words } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useHealth, useNotifications } from '../data/resources.ts'

export const Notifications = () => (
  <TablePage
    name="Notifications"
    of="notifications"
    icon={Bell}
    create="Create a notification"
    button={<CreateNotification />}
    about="A notification sends the events of relayers to your webhook endpoint, signed, at least once."
    query={useNotifications()}
    columns={columns}
  />
)

function CreateNotification() {
  const webhook = useWebhookForm()
  const { values, bind, reset } = useForm({ id: '', signing_key: '' })
  return (
    <Action
      label="Create a notification"
      tone="primary"
      effect="Creates a webhook endpoint. Relayers with this notification send their events to it."
      opened={() => {
        webhook.reset()
        reset()
      }}
      run={(client) => {
        const filter = webhook.filter()
        return client.notifications.create({ url: webhook.url, ...given(values), ...(filter && { filter }) })
      }}
      message={({ id }) => about('Notification', <Link to={paths.notification(id)}>{id}</Link>, 'is created.')}
    >
      {webhook.fields}
      <Field
        label="Secret that signs deliveries (empty: they are not signed)"
        type="password"
        autoComplete="new-password"
        {...bind('signing_key')}
      />
      <Field label="ID (optional)" {...bind('id')} />
    </Action>
  )
}

const columns: Column<Notification>[] = [
  { name: 'Notification', by: ({ id }) => id, cell: ({ id }) => <Link to={paths.notification(id)}>{id}</Link> },
  { name: 'URL', by: ({ url }) => url, cell: ({ url }) => <code>{url}</code> },
  { name: 'Status', isBeside: true, cell: ({ id }) => <Health id={id} of={(its) => <Badge state={stateOf(its)} />} /> },
  { name: 'Pending', isNumber: true, cell: ({ id }) => <Health id={id} of={({ pending }) => count(pending)} /> },
  { name: 'Failed', isNumber: true, cell: ({ id }) => <Health id={id} of={({ failed }) => count(failed)} /> },
  { name: 'Last success', cell: ({ id }) => <Health id={id} of={(its) => <Age of={its.last_success_at} />} /> },
]

const stateOf = ({ status, failing_since }: NotificationHealth) =>
  status === 'disabled' ? 'disabled' : failing_since ? 'failing' : 'healthy'

function Health({ id, of }: { id: string; of(health: NotificationHealth): ReactNode }) {
  const health = useHealth(id)
  return health.data ? of(health.data) : health.error ? 'unknown' : '…'
}

const events: EventName[] = ['transaction_update', 'transaction_waiting', 'relayer_state_update']
const statuses: TransactionStatus[] = [
  ...(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired'] as const),
]

export function filterText(filter: NotificationFilter | undefined): string {
  const { events: named = [], statuses: only = [] } = filter ?? {}
  const of = named.length === 0 ? 'every event' : named.map(words).join(', ')
  return `${of}${only.length === 0 ? '' : `, of transactions that are ${only.join(', ')}`}`
}

/** The URL of a webhook and the events that it receives; nothing chosen is everything. */
export function useWebhookForm(notification?: Notification) {
  const url = useForm({ url: notification?.url ?? '' })
  const [chosen, setChosen] = useState(filterOf(notification))
  return {
    url: url.values.url,
    /** Null: it receives every event. */
    filter: (): NotificationFilter | null => {
      const set = Object.entries(chosen).filter(([, list]) => list.length > 0)
      return set.length === 0 ? null : (Object.fromEntries(set) as NotificationFilter)
    },
    reset() {
      url.reset()
      setChosen(filterOf(notification))
    },
    fields: (
      <>
        <Field label="URL" type="url" required {...url.bind('url')} />
        <Checks
          legend="Only these events (none: all)"
          name="events"
          values={events}
          chosen={chosen.events}
          set={(its) => setChosen({ ...chosen, events: its })}
        />
        <Checks
          legend="Only transactions with these statuses (none: all)"
          name="statuses"
          values={statuses}
          chosen={chosen.statuses}
          set={(its) => setChosen({ ...chosen, statuses: its })}
        />
      </>
    ),
  }
}

interface Filter {
  events: EventName[]
  statuses: TransactionStatus[]
}

const filterOf = (notification: Notification | undefined): Filter => ({
  events: notification?.filter?.events ?? [],
  statuses: notification?.filter?.statuses ?? [],
})
