import { useSyncExternalStore } from 'react'
import { age, ageOrDate, inBothZones, rowTime, span, time } from '../data/times.ts'

const tick_ms = 5_000

let now = Date.now()
const readers = new Set<() => void>()
let clock: ReturnType<typeof setInterval> | undefined

function subscribe(read: () => void): () => void {
  readers.add(read)
  clock ??= setInterval(() => {
    now = Date.now()
    for (const one of readers) one()
  }, tick_ms)
  return () => {
    readers.delete(read)
    if (readers.size > 0) return
    clearInterval(clock)
    clock = undefined
  }
}

/** Renders again as time goes on. */
export const useTicks = () => useSyncExternalStore(subscribe, () => now)

/**
 * How long ago it was, which goes on, and from a day on its date; the pointer on it shows the exact time with its zone. Null: it never was.
 */
export function Age({ of }: { of: string | null }) {
  useTicks()
  if (of === null) return 'never'
  const [text, ago] = ageOrDate(of).split(/(?= ago$)/)
  return (
    <time dateTime={of} title={inBothZones(of)}>
      {text}
      {ago && <span className="ago">{ago}</span>}
    </time>
  )
}

/** The time since then as a duration, which goes on. */
export function Lasting({ since }: { since: string }) {
  useTicks()
  return (
    <time dateTime={since} title={inBothZones(since)}>
      {age(since)}
    </time>
  )
}

/** What a column of ages is sorted by: the youngest first. Null has no age yet. */
export const byAge = (of: string | null): number => (of === null ? Number.POSITIVE_INFINITY : -Date.parse(of))

/** How long it is until then. */
export function Until({ at }: { at: string }) {
  useTicks()
  const ms = Date.parse(at) - Date.now()
  return (
    <time dateTime={at} title={inBothZones(at)}>
      {ms <= 0 ? 'due now' : `in ${span(ms)}`}
    </time>
  )
}

/** A time with its zone; the pointer on it shows how long ago it was, and the time in UTC. */
export const Moment = ({ at }: { at: string | null }) => (at === null ? '–' : <Exact at={at} text={time(at)} />)

/** The same in a row: the zone stands once above the rows. */
export const RowTime = ({ at }: { at: string | null }) => (at === null ? '–' : <Exact at={at} text={rowTime(at)} />)

const Exact = ({ at, text }: { at: string; text: string }) => (
  <time
    className="moment"
    dateTime={at}
    title={Date.parse(at) > Date.now() ? inBothZones(at) : `${inBothZones(at)}, ${age(at)} ago`}
  >
    {text}
  </time>
)
