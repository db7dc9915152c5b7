import type { Notification, NotificationFilter, TransactionStatus } from '../../index.ts'
import { words } from '../data/format.ts'

const events = ['transaction_update', 'transaction_waiting', 'relayer_state_update'] as const
const statuses: TransactionStatus[] = [
  ...(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired'] as const),
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
  if (named.length === 0 && only.length === 0) return 'Receives every event.'
  const of = named.length === 0 ? 'every event' : named.map(words).join(', ')
  return `Receives ${of}${only.length === 0 ? '' : `, of transactions that are ${only.join(', ')}`}.`
}

/** The URL of a webhook and the events that it receives. */
export function WebhookForm({ form, set }: { form: Form; set(form: Form): void }) {
  const toggle = (name: 'events' | 'statuses', value: string) =>
    set({
      ...form,
      [name]: form[name].includes(value) ? form[name].filter((one) => one !== value) : [...form[name], value],
    })
  const choices = (name: 'events' | 'statuses', legend: string, values: readonly string[]) => (
    <fieldset>
      <legend>{legend}</legend>
      {values.map((value) => (
        <label key={value} className="inline">
          <input type="checkbox" checked={form[name].includes(value)} onChange={() => toggle(name, value)} />{' '}
          {words(value)}
        </label>
      ))}
    </fieldset>
  )
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
      {choices('events', 'Only these events (none: all)', events)}
      {choices('statuses', 'Only transactions in these states (none: all)', statuses)}
    </>
  )
}
