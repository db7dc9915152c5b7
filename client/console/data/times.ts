/** The time since then, never more than passed: `12 s`, `5 min`, `3 h`, `2 d`. */
export function age(timestamp: string, now = Date.now()): string {
  const s = Math.max(0, Math.floor((now - Date.parse(timestamp)) / 1_000))
  if (s < 60) return `${s} s`
  if (s < 3_600) return `${Math.floor(s / 60)} min`
  return s < 172_800 ? `${Math.floor(s / 3_600)} h` : `${Math.floor(s / 86_400)} d`
}

/** A time that something takes or lies between two steps, in one scale: `< 1 ms`, `540 ms`, `1.5 s`, `12 s`, `1 min 33 s`. */
export function duration(ms: number): string {
  if (ms < 1) return '< 1 ms'
  if (ms < 999.5) return `${Math.round(ms)} ms`
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)
}

/** A time beside an axis with steps of so much: all marks of an axis have the same unit. */
export function durationMark(ms: number, stepMs: number): string {
  if (stepMs >= 3_600_000) return `${ms / 3_600_000} h`
  if (stepMs >= 60_000) return `${ms / 60_000} min`
  return stepMs >= 500 ? `${ms / 1_000} s` : `${ms} ms`
}

/** In the two units that matter: `12 s`, `1 min 33 s`, `1 h 9 min`, `2 d`. */
export function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000))
  if (s < 60) return `${s} s`
  if (s < 3_600) return inTwo(s, 60, 'min', 's')
  return s < 172_800 ? inTwo(Math.round(s / 60), 60, 'h', 'min') : `${Math.round(s / 86_400)} d`
}

function inTwo(value: number, size: number, unit: string, small: string): string {
  const rest = value % size
  return `${Math.floor(value / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${small}`}`
}

/** Times are in the reader's zone, or in UTC. The console is in English, whatever the browser's language is. */
function formatsOf(isUtc: boolean) {
  const zone = isUtc ? { timeZone: 'UTC' } : {}
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { ...options, ...zone })
  return {
    isUtc,
    time: format({ dateStyle: 'medium', timeStyle: 'medium' }),
    seconds: format({ timeStyle: 'medium' }),
    hour: format({ timeStyle: 'short' }),
    day: format({ day: 'numeric', month: 'short' }),
    date: format({ dateStyle: 'medium' }),
    year: format({ year: 'numeric' }),
  }
}

const utc = formatsOf(true)
let formats = formatsOf(false)

const here = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The zone of the times that are shown: `UTC`, `Europe/Berlin`. */
export const zone = (): string => (formats.isUtc ? 'UTC' : here)

/** The same as it is written after a time: `UTC`, `UTC+1`, and `UTC+2` in summer. */
export const zoneShortly = (timestamp?: string): string => (formats.isUtc ? 'UTC' : hereShortly(timestamp))

/** The reader's zone as it is written after times. Names such as CET are known in Europe only. */
export function hereShortly(timestamp?: string): string {
  if (here === 'UTC') return here
  const aheadMin = -(timestamp === undefined ? new Date() : new Date(timestamp)).getTimezoneOffset()
  const min = Math.abs(aheadMin)
  const rest = min % 60 === 0 ? '' : `:${min % 60}`
  return `UTC${aheadMin < 0 ? '-' : '+'}${Math.floor(min / 60)}${rest}`
}

/** What the reader typed as a date and time of the zone that is shown, in UTC; undefined when it is none. */
export function momentOf(typed: string): string | undefined {
  const ms = Date.parse(formats.isUtc ? `${typed}Z` : typed)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

/** A time as `momentOf` reads it, to the minute. */
export function typedOf(timestamp: string): string {
  const at = new Date(timestamp)
  if (Number.isNaN(at.getTime())) return ''
  const offsetMin = formats.isUtc ? 0 : at.getTimezoneOffset()
  return new Date(at.getTime() - offsetMin * 60_000).toISOString().slice(0, 16)
}

export const isUtc = (): boolean => formats.isUtc

/** What is shown already stays as it is until it is shown again. */
export function showUtc(wanted: boolean): void {
  formats = formatsOf(wanted)
}

/** A time with the name of its zone. */
export const time = (timestamp: string | null): string =>
  timestamp === null ? '–' : `${formats.time.format(new Date(timestamp))} ${zoneShortly(timestamp)}`

/** The time of day, beside a time that has the day and the zone: `14:30:05`. */
export const clock = (timestamp: string): string => formats.seconds.format(new Date(timestamp))

/** With the year where it is another one: `25 Nov`, `25 Nov 2025`. */
const day = (at: Date): string =>
  (formats.year.format(at) === formats.year.format() ? formats.day : formats.date).format(at)

/** Without the zone: `25 Nov, 14:30`. */
export const dayAndHour = (timestamp: string): string =>
  `${day(new Date(timestamp))}, ${formats.hour.format(new Date(timestamp))}`

/** In a row, whose column names the zone of now: `25 Nov, 14:30:05`. A time of another offset, as in summer, has its own. */
export function rowTime(timestamp: string): string {
  const at = new Date(timestamp)
  const its = zoneShortly(timestamp)
  return `${day(at)}, ${formats.seconds.format(at)}${its === zoneShortly() ? '' : ` ${its}`}`
}

/** How long ago that was, and from a day on the date: `5 min ago`, `25 Nov, 14:30`, `25 Nov 2025`. */
export function ageOrDate(timestamp: string, now = Date.now()): string {
  const at = new Date(timestamp)
  if (now - at.getTime() < 86_400_000) return `${age(timestamp, now)} ago`
  return day(at) === formats.day.format(at) ? dayAndHour(timestamp) : day(at)
}

/** A time with the name of its zone, and the same in UTC where that is another. */
export function inBothZones(timestamp: string): string {
  const at = new Date(timestamp)
  const here = time(timestamp)
  if (zoneShortly(timestamp) === 'UTC') return here
  const [day, dayThere] = [formats.day.format(at), utc.day.format(at)]
  return `${here} (${day === dayThere ? '' : `${dayThere}, `}${utc.seconds.format(at)} UTC)`
}

/** The time of a point of a chart in words. Points of days begin and end in UTC. */
export const markExactly = (at: number, isDay: boolean): string =>
  isDay
    ? `${utc.day.format(at * 1_000)} (UTC)`
    : `${formats.day.format(at * 1_000)}, ${formats.hour.format(at * 1_000)} ${zoneShortly(new Date(at * 1_000).toISOString())}`

/** The hour and minute, and at midnight the day; of points of days the day in UTC. `at`: seconds since the Unix epoch. */
export function mark(at: number, isDay: boolean): string {
  if (isDay) return utc.day.format(at * 1_000)
  const hour = formats.hour.format(at * 1_000)
  return hour === '00:00' ? formats.day.format(at * 1_000) : hour
}
