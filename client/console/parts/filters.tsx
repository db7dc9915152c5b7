import { type ReactNode, useEffect, useRef, useState } from 'react'
import { count } from '../data/format.ts'

/**
 * The row above a list that narrows it, the same for every list. Fields with a name count when the reader leaves them, or by Enter: then
 * `apply` gets the form. `more`: fields that are used less often, behind a button that shows how many of them are `set`.
 */
export function Filters({
  children,
  apply,
  more,
  set = 0,
}: {
  children: ReactNode
  apply?(form: HTMLFormElement): void
  more?: ReactNode
  set?: number
}) {
  const [isOpen, open] = useState(false)
  /** What the fields had when they counted last. */
  const counted = useRef('')
  return (
    <form
      className="bar filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        counted.current = textsOf(event.currentTarget)
        apply?.(event.currentTarget)
      }}
      onFocus={({ currentTarget }) => {
        counted.current = textsOf(currentTarget)
      }}
      onBlur={({ currentTarget }) => {
        // Another page that loads hides this one, which ends the focus too.
        if (currentTarget.checkVisibility() && textsOf(currentTarget) !== counted.current) currentTarget.requestSubmit()
      }}
      onChange={({ target, currentTarget }) =>
        (target as Element).matches('select[name]') && currentTarget.requestSubmit()
      }
    >
      {children}
      {more && (
        <button type="button" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          More filters{set > 0 && ` (${set})`}
        </button>
      )}
      {more && (
        <div className="more-filters" hidden={!isOpen}>
          {more}
        </div>
      )}
      {/* Enter in a field sends the form only where it has a button. */}
      <button type="submit" hidden aria-hidden tabIndex={-1} />
    </form>
  )
}

const textsOf = (form: HTMLFormElement) => JSON.stringify([...new FormData(form)])

/** The text that is searched in a list. `kinds`: what of a row is searched, in words. */
export const SearchField = ({
  kinds,
  hint = kinds,
  value,
  change,
}: {
  kinds: string
  hint?: string
  value: string
  change(text: string): void
}) => (
  <input
    type="search"
    className="filter"
    aria-label={`Filter by ${kinds}`}
    placeholder={`${hint[0]?.toUpperCase()}${hint.slice(1)}`}
    value={value}
    onChange={(event) => change(event.target.value)}
  />
)

/** A text that counts when the reader leaves the field, or by Enter. `value`: the one that counts now. `isInRow`: its title is for screen readers. */
export function LateField({
  title,
  value,
  isInRow = false,
  ...its
}: {
  title: string
  name: string
  value: string
  placeholder: string
  isInRow?: boolean
}) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <label className={isInRow ? 'in-row' : undefined}>
      <span className={isInRow ? 'hidden' : undefined}>{title}</span>
      <input
        {...its}
        maxLength={128}
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  )
}

/** How many rows match, and beside it what can be done with all of them. */
export const Matches = ({
  total,
  of,
  children,
}: {
  total: number
  of: [one: string, all: string]
  children: ReactNode
}) => (
  <div className="bar">
    <p className="hint" role="status">
      {count(total)} {total === 1 ? of[0] : `${of[1]}, newest first`}
    </p>
    <div className="buttons">{children}</div>
  </div>
)
