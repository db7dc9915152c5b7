import { useState } from 'react'
import { useSymbols } from '../data/resources.ts'
import { Change } from './change.tsx'
import { Callout } from './feedback.tsx'
import { memberValue } from './members.ts'

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

/** Nobody has changed these. */
const unsaid = new Set(['revision', 'budget_usage', 'usage', 'last_used_at'])

function Difference({ opened, current, again }: { opened: object; current: object; again(): void }) {
  const symbol = useSymbols()((current as { network?: string }).network)
  const of = (its: object) => ({ symbol, asset: (its as { asset?: string }).asset })
  return (
    <Callout of="warning" isAlert>
      <p>Somebody has changed this since the dialog was opened. Nothing of yours is saved yet.</p>
      <ul className="plain">
        {differences(opened, current).map(({ member, before, after }) => (
          <li key={member}>
            <Change
              member={member}
              before={memberValue(member, before, of(opened))}
              after={memberValue(member, after, of(current))}
            />
          </li>
        ))}
      </ul>
      <button type="button" onClick={again}>
        Begin again with these
      </button>
    </Callout>
  )
}

interface Differing {
  member: string
  before: unknown
  after: unknown
}

/** The members that differ, and of members with members, such as policies, these. */
const differences = (before: object, after: object, within = ''): Differing[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const [one, other] = [before, after].map((its) => (its as Record<string, unknown>)[name])
    if (unsaid.has(name) || keyOf(one) === keyOf(other)) return []
    const member = `${within}${name}`
    return isObject(one) && isObject(other)
      ? differences(one, other, `${member}.`)
      : [{ member, before: one, after: other }]
  })

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is compared. Null is not an empty list: it may be all (`relayer_ids`). */
function keyOf(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The members of a body that differ from those of the body that the form had when it was opened. */
export const changedIn = <Body extends object>(before: Partial<NoInfer<Body>>, after: Body): Partial<Body> =>
  Object.fromEntries(
    Object.entries(after).filter(([name, value]) => keyOf(value) !== keyOf(before[name as keyof Body])),
  ) as Partial<Body>
