import type { EventName, Notification, NotificationFilter, TransactionStatus } from '../../index.ts'
import { words } from '../data/format.ts'
import { Checks } from './checks.tsx'

const events: string[] = ['transaction_update', 'transaction_waiting', 'relayer_state_update'] satisfies EventName[]
const statuses: string[] = [
  ...(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired'] as TransactionStatus[]),
]

interface Form {
  url: string
  events: string[]
  statuses: string[]
}

/** Nothing chosen is everything. */
export const formOf = (its: Notification | undefined): Form => ({
  url: its?.url ?? '',
  events: its?.filter?.events ?? [],
  statuses: its?.filter?.statuses ?? [],
})

export function filterOf(form: Form): NotificationFilter | null {
  const chosen = {
    ...(form.events.length > 0 && { events: form.events }),
    ...(form.statuses.length > 0 && { statuses: form.statuses }),
  }
  return Object.keys(chosen).length === 0 ? null : (chosen as NotificationFilter)
}

export function filterText(filter: NotificationFilter | undefined): string {
  const { events: named = [], statuses: only = [] } = filter ?? {}
  const of = named.length === 0 ? 'every event' : named.map(words).join(', ')
  return `${of}${only.length === 0 ? '' : `, of transactions that are ${only.join(', ')}`}`
}

/** The URL of a webhook and the events that it receives. */
export function WebhookForm({ form, set }: { form: Form; set(form: Form): void }) {
  const bind = (name: 'events' | 'statuses') => ({
    name,
    chosen: form[name],
    set: (chosen: string[]) => set({ ...form, [name]: chosen }),
  })
  return (
    <>
      <label>
        URL
        <input
          name="url"
          type="url"
          required
          value={form.url}
          onChange={(event) => set({ ...form, url: event.target.value })}
        />
      </label>
      <Checks legend="Only these events (none: all)" values={events} {...bind('events')} />
      <Checks legend="Only transactions with these statuses (none: all)" values={statuses} {...bind('statuses')} />
    </>
  )
}
