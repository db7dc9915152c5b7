import { useState } from 'react'
import { words } from '../data/format.ts'
import { Callout } from './feedback.tsx'

/**
 * A form about a resource that others may change while it is open. What it sends is compared with the resource that it was opened with
 * (`opened`), and has the revision of that one. `difference`: what others have changed since; until the reader begins again with it,
 * nothing can be confirmed. `reset`: fills the form with the present values.
 */
export function useEdited<Resource extends { revision: string }>(current: Resource, reset: () => void) {
  const [opened, setOpened] = useState(current)
  const open = () => {
    setOpened(current)
    reset()
  }
  const isStale = opened.revision !== current.revision
  return {
    opened,
    open,
    lack: isStale ? 'Look at what was changed first.' : undefined,
    difference: isStale && <Difference opened={opened} current={current} again={open} />,
  }
}

/** What null means. */
export const withoutLimit: Record<string, string> = { relayer_ids: 'all', allowed_cidrs: 'any', expires_at: 'never' }

/** Nobody has changed these. */
const unsaid = new Set(['revision', 'budget_usage', 'usage', 'last_used_at'])

function Difference({ opened, current, again }: { opened: object; current: object; again(): void }) {
  const before = opened as Record<string, unknown>
  const changed = Object.entries(current).filter(
    ([name, value]) => !unsaid.has(name) && keyOf(value) !== keyOf(before[name]),
  )
  return (
    <Callout of="warning" isAlert>
      <p>Somebody has changed this since the dialog was opened. Nothing of yours is saved yet.</p>
      <ul className="plain">
        {changed.map(([name, value]) => (
          <li key={name}>
            {words(name)}: <del>{valueText(before[name] ?? withoutLimit[name])}</del>{' '}
            <ins>{valueText(value ?? withoutLimit[name])}</ins>
          </li>
        ))}
      </ul>
      <button type="button" onClick={again}>
        Begin again with these
      </button>
    </Callout>
  )
}

/** What is compared. Null is not an empty list: it may be all (`relayer_ids`). */
function keyOf(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What is shown: `asset coin, max amount none; asset 0x12…, max amount 5`. */
export function valueText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value !== 'object' || value === null) return `${value ?? 'none'}`
  const isOfObjects = Array.isArray(value) && typeof value[0] === 'object'
  const parts = Array.isArray(value)
    ? value.map(valueText)
    : Object.entries(value).map(([name, one]) => `${words(name)} ${valueText(one)}`)
  return parts.join(isOfObjects ? '; ' : ', ') || 'none'
}

/** The members of a body that differ from those of the body that the form had when it was opened. */
export const changedIn = <Body extends object>(before: Partial<NoInfer<Body>>, after: Body): Partial<Body> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => keyOf(value) !== keyOf(before[name as keyof Body])),
  ) as Partial<Body>
