import { useSyncExternalStore } from 'react'
import { age, inBothZones, span, time } from '../data/format.ts'

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

/** The time since then, which goes on; the pointer on it shows the exact time with its zone. Null: it never was. */
export function Age({ of, ago = true }: { of: string | null; ago?: boolean }) {
  useTicks()
  if (of === null) return 'never'
  return (
    <time dateTime={of} title={inBothZones(of)}>
      {age(of)}
      {ago && <span className="ago"> ago</span>}
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
export const Moment = ({ at }: { at: string | null }) =>
  at === null ? (
    '–'
  ) : (
    <time className="moment" dateTime={at} title={`${inBothZones(at)}, ${age(at)} ago`}>
      {time(at)}
    </time>
  )
