import { words } from '../data/format.ts'
import { useNotifications } from '../data/overview.ts'

/** Any of some values, as boxes to tick. `name`: the contract's. */
export function Checks<Value extends string>({
  legend,
  name,
  values,
  chosen,
  set,
  text = words,
}: {
  legend: string
  name: string
  values: readonly Value[]
  chosen: Value[]
  set(chosen: Value[]): void
  text?(value: Value): string
}) {
  const toggle = (value: Value) =>
    set(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])
  return (
    <fieldset>
      <legend>{legend}</legend>
      {values.map((value) => (
        <label key={value} className="inline">
          <input type="checkbox" name={name} checked={chosen.includes(value)} onChange={() => toggle(value)} />{' '}
          {text(value)}
        </label>
      ))}
    </fieldset>
  )
}

/** The notifications of a relayer. Those that it has are shown to a key, too, that may not list them. */
export function NotificationChecks({ chosen, set }: { chosen: string[]; set(chosen: string[]): void }) {
  const known = useNotifications().data?.map(({ id }) => id) ?? []
  const all = [...new Set([...known, ...chosen])]
  if (all.length === 0) return null
  const its = { name: 'notification_ids', values: all, chosen, set, text: (id: string) => id }
  return <Checks legend="Notifications that receive its events" {...its} />
}
