import { Bell } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type {
  EventName,
  Notification,
  NotificationFilter,
  NotificationFilterInput,
  NotificationHealth,
  TransactionStatus,
} from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Checks, Field } from '../components/fields.tsx'
import { TablePage } from '../components/page.tsx'
import type { Column } from '../components/table.tsx'
import { about, Badge, Copyable, Old, Pending } from '../components/values.tsx'
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
    about="A notification sends the events of relayers to a URL of yours, signed, at least once."
    query={useNotifications()}
    columns={columns}
  />
)

function CreateNotification() {
  const form = useNotificationForm()
  return (
    <Action
      label="Create a notification"
      tone="primary"
      effect="Relayers with this notification send their events to its URL."
      opened={form.reset}
      run={(client) => {
        const { filter, ...body } = form.body()
        const set = Object.entries(filter).filter(([, list]) => list !== null)
        const its = set.length > 0 && { filter: Object.fromEntries(set) as NotificationFilterInput }
        return client.notifications.create({ ...body, ...given({ id: form.values.id }), ...its })
      }}
      message={({ id }) => about('Notification', <Link to={paths.notification(id)}>{id}</Link>, 'is created.')}
    >
      {form.fields}
      <Field
        label="Secret that signs deliveries (empty: they are not signed)"
        type="password"
        autoComplete="new-password"
        {...form.bind('signing_key')}
      />
      <Field label="ID (optional)" {...form.bind('id')} />
    </Action>
  )
}

const columns: Column<Notification>[] = [
  { name: 'Notification', by: ({ id }) => id, cell: ({ id }) => <Link to={paths.notification(id)}>{id}</Link> },
  { name: 'URL', by: ({ url }) => url, cell: ({ url }) => <Copyable value={url} whole /> },
  { name: 'Status', isBeside: true, cell: ({ id }) => <Health id={id} of={(its) => <Badge state={stateOf(its)} />} /> },
  {
    name: 'Pending',
    isNumber: true,
    cell: ({ id }) => <Health id={id} of={({ pending_count }) => count(pending_count)} />,
  },
  {
    name: 'Failed',
    isNumber: true,
    cell: ({ id }) => <Health id={id} of={({ failed_count }) => count(failed_count)} />,
  },
  {
    name: 'Last success',
    isNumber: true,
    cell: ({ id }) => <Health id={id} of={(its) => <Old of={its.last_success_at} />} />,
  },
]

const stateOf = ({ status, failing_since }: NotificationHealth) =>
  status === 'disabled' ? 'disabled' : failing_since ? 'failing' : 'healthy'

function Health({ id, of }: { id: string; of(health: NotificationHealth): ReactNode }) {
  const health = useHealth(id)
  return health.data ? of(health.data) : health.error ? 'unknown' : <Pending />
}

const events: EventName[] = [
  'transaction_update',
  'transaction_waiting',
  'relayer_disabled',
  'relayer_enabled',
  'relayer_low_balance',
  'relayer_funding',
  'payment_settled',
  'payment_failed',
]
const statuses: TransactionStatus[] = [
  ...(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired'] as const),
]

export function filterText(filter: NotificationFilter | null): string {
  const of = filter?.events?.map(words).join(', ') ?? 'every event'
  return `${of}${filter?.statuses ? `, of transactions that are ${filter.statuses.join(', ')}` : ''}`
}

const orNull = <T,>(list: T[]): T[] | null => (list.length === 0 ? null : list)

/** The URL of a notification and the events that it receives; nothing chosen is everything. */
export function useNotificationForm(notification?: Notification) {
  const { url = '', filter } = notification ?? {}
  const chosen = { events: filter?.events ?? [], statuses: filter?.statuses ?? [] }
  const form = useForm({ id: '', signing_key: '', url, ...chosen })
  return {
    ...form,
    /** The members of `filter` are null where nothing is chosen. */
    body() {
      const { url, signing_key, events: named, statuses: only } = form.values
      const filter = { events: orNull(named), statuses: orNull(only) }
      return { url, filter, ...given({ signing_key }) }
    },
    fields: (
      <>
        <Field label="URL" type="url" required {...form.bind('url')} />
        <Checks legend="Only these events (none: all)" values={events} {...form.pick('events')} />
        <Checks
          legend="Only transactions with these statuses (none: all)"
          values={statuses}
          {...form.pick('statuses')}
        />
      </>
    ),
  }
}
