import { type ReactNode, useState } from 'react'
import { count } from '../data/format.ts'
import { Action } from './action.tsx'
import { Problem } from './callout.tsx'
import type { Choice } from './choice.tsx'
import { errorText } from './feedback.tsx'

const shown_failures = 20

/** An action on several of the chosen items, one after the other. It goes on when one is refused: those stay chosen, and are named. */
export function Bulk<Item>({
  label,
  title,
  dismiss,
  tone,
  effect,
  children,
  lack,
  choice,
  items = choice.items,
  disabled = items.length === 0,
  opened,
  nameOf,
  run,
  did,
}: {
  label: string
  title?: string
  dismiss?: string
  tone?: 'primary' | 'danger'
  effect: ReactNode
  /** What is known of each item, in the place of their names. */
  children?: ReactNode
  lack?: string | undefined
  choice: Choice<Item>
  items?: Item[]
  disabled?: boolean
  opened?: () => void
  nameOf(item: NoInfer<Item>): string
  run(item: Item): Promise<unknown>
  /** What is done to each, such as "paused". */
  did: string
}) {
  const [ended, setEnded] = useState(0)
  const isRunning = ended > 0 && ended < items.length
  return (
    <Action
      label={label}
      title={title ?? label}
      {...(dismiss !== undefined && { dismiss })}
      tone={tone}
      disabled={disabled}
      lack={lack}
      opened={() => {
        setEnded(0)
        opened?.()
      }}
      effect={
        <>
          {effect}
          {children === undefined && (
            <p className="hint">
              For {count(items.length)}: {items.slice(0, 5).map(nameOf).join(', ')}
              {items.length > 5 && ', …'}
            </p>
          )}
          {isRunning && (
            <p className="hint" aria-live="polite">
              {count(ended)} of {count(items.length)} done
            </p>
          )}
        </>
      }
      run={async () => {
        const refused: { item: Item; why: string }[] = []
        for (const [index, item] of items.entries()) {
          await run(item).catch((error) => refused.push({ item, why: `${nameOf(item)}: ${errorText(error)}` }))
          setEnded(index + 1)
        }
        choice.set(refused.map(({ item }) => item))
        return { good: items.length - refused.length, refused }
      }}
      told={({ good }) => `${count(good)} ${did}.`}
      done={({ good, refused }) =>
        refused.length > 0 && (
          <>
            <p>
              {count(good)} {did}, {count(refused.length)} refused:
            </p>
            {refused.slice(0, shown_failures).map(({ why }) => (
              <Problem key={why}>{why}</Problem>
            ))}
            {refused.length > shown_failures && <p>and {count(refused.length - shown_failures)} more</p>}
          </>
        )
      }
    >
      {children}
    </Action>
  )
}
