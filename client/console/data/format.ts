const wei_per_gwei = 10n ** 9n
const wei_per_ether = 10n ** 18n

/** An amount in wei as ether, truncated to six digits after the decimal point. */
export const ether = (wei: string | null): string => (wei === null ? 'unknown' : decimal(BigInt(wei), wei_per_ether, 6))

/** An amount in wei with the unit of its network: `1.5 POL`. */
export const amount = (wei: string | null, symbol: string): string =>
  wei === null ? 'unknown' : `${ether(wei)} ${symbol}`

/**
 * An amount with so many digits after the point, so that those of a column stand below each other: `0.1500 POL`. Millions are short: `1.2M POL`;
 * nothing is `0 POL`.
 * The unit has ten to the power of `digits` of the smallest units.
 */
export function fixed(units: string, symbol: string, places = 4, digits = 18): string {
  const [all, unit] = [BigInt(units), 10n ** BigInt(digits)]
  if (all / unit >= 1_000_000n) return `${large.format(all / unit)} ${symbol}`
  if (all === 0n) return `0 ${symbol}`
  const shown = (all * 10n ** BigInt(places)) / unit
  if (shown === 0n) return `< 0.${'1'.padStart(places, '0')} ${symbol}`
  const text = shown.toString().padStart(places + 1, '0')
  return `${count(BigInt(text.slice(0, -places)))}.${text.slice(-places)} ${symbol}`
}

/** As `fixed`, where there is room: up to 15 digits before the point, and none after it from a million on. */
export function wide(units: string, symbol: string, places: number, digits = 18): string {
  const whole = BigInt(units) / 10n ** BigInt(digits)
  const isLong = whole >= 1_000_000n && whole < 10n ** 15n
  return isLong ? `${count(whole)} ${symbol}` : fixed(units, symbol, places, digits)
}

/** About so many coins: three digits that say something. */
export const coins = (value: number, symbol: string): string => `${rounded.format(value)} ${symbol}`
const rounded = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** A price in wei as gwei, with four significant digits or more before the point: `3,543`, `1.234`, `0.001234`. */
export function gwei(wei: string | null): string {
  if (wei === null) return 'unknown'
  const digits = Math.max(0, 13 - wei.length)
  return decimal(BigInt(wei), wei_per_gwei, Math.min(digits, 9))
}

function decimal(value: bigint, unit: bigint, digits: number): string {
  const whole = (value / unit).toString().replaceAll(/\B(?=(\d{3})+$)/g, ',')
  const rest = (value % unit).toString().padStart(unit.toString().length - 1, '0')
  const shown = rest.slice(0, digits).replace(/0+$/, '')
  if (shown === '' && value > 0n && value < unit) return `< 0.${'0'.repeat(digits - 1)}1`
  return shown === '' ? whole : `${whole}.${shown}`
}

/** Ether as typed, in wei; undefined when it is no amount. */
export function weiOf(text: string, digits = 18): string | undefined {
  const found = /^(\d{1,78})(?:\.(\d+))?$/.exec(text.trim())
  if (!found || (found[2]?.length ?? 0) > digits) return undefined
  return BigInt(`${found[1]}${(found[2] ?? '').padEnd(digits, '0')}`).toString()
}

/** An amount in wei in a unit of this many digits, exactly, as `weiOf` reads it. */
export function exactly(wei: string, digits = 18): string {
  const text = wei.padStart(digits + 1, '0')
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '')
}

/** All digits of an amount that is given in its smallest units, of which the unit has ten to the power of `digits`. */
export function exactAmount(units: string, symbol: string, digits = 18): string {
  const text = units.padStart(digits + 1, '0')
  const whole = count(BigInt(text.slice(0, text.length - digits)))
  const rest = text.slice(text.length - digits).replace(/0+$/, '')
  return `${whole}${rest === '' ? '' : `.${rest}`} ${symbol}`
}

/** The time since then, never more than passed: `12 s`, `5 min`, `3 h`, `2 d`. */
export function age(timestamp: string, now = Date.now()): string {
  const s = Math.max(0, Math.floor((now - Date.parse(timestamp)) / 1_000))
  if (s < 60) return `${s} s`
  if (s < 3_600) return `${Math.floor(s / 60)} min`
  return s < 172_800 ? `${Math.floor(s / 3_600)} h` : `${Math.floor(s / 86_400)} d`
}

/** The time between two steps: `12 ms`, `0.2 s`, `15 s`. */
export const gap = (ms: number): string =>
  ms < 100 ? `${ms} ms` : ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)

/** A time that something takes, from milliseconds on. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)
}

/** A time beside an axis with steps of so much: all marks of an axis have the same unit. */
export function durationMark(ms: number, step_ms: number): string {
  if (step_ms >= 3_600_000) return `${ms / 3_600_000} h`
  if (step_ms >= 60_000) return `${ms / 60_000} min`
  return step_ms >= 500 ? `${ms / 1_000} s` : `${ms} ms`
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
  const format = (its: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { ...its, ...zone })
  return {
    isUtc,
    time: format({ dateStyle: 'medium', timeStyle: 'long' }),
    clock: format({ timeStyle: 'long' }),
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

/** The same as it is written after a time: `UTC`, `CET`, and `CEST` in summer. */
export const zoneShortly = (timestamp?: string): string => (formats.isUtc ? 'UTC' : hereShortly(timestamp))

/** The reader's zone as it is written after times: `CET`. */
export const hereShortly = (timestamp?: string): string =>
  new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' })
    .formatToParts(timestamp === undefined ? new Date() : new Date(timestamp))
    .find(({ type }) => type === 'timeZoneName')?.value ?? here

/** What the reader typed as a date and time of the zone that is shown, in UTC; undefined when it is none. */
export function momentOf(typed: string): string | undefined {
  const ms = Date.parse(formats.isUtc ? `${typed}Z` : typed)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

/** A time as `momentOf` reads it, to the minute. */
export function typedOf(timestamp: string): string {
  const at = new Date(timestamp)
  if (Number.isNaN(at.getTime())) return ''
  const offset_min = formats.isUtc ? 0 : at.getTimezoneOffset()
  return new Date(at.getTime() - offset_min * 60_000).toISOString().slice(0, 16)
}

export const isUtc = (): boolean => formats.isUtc

/** What is shown already stays as it is until it is shown again. */
export function showUtc(wanted: boolean): void {
  formats = formatsOf(wanted)
}

/** A time with the name of its zone. */
export const time = (timestamp: string | null): string =>
  timestamp === null ? '–' : formats.time.format(new Date(timestamp))

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
  const isOther = !formats.isUtc && at.getTimezoneOffset() !== new Date().getTimezoneOffset()
  return `${day(at)}, ${(isOther ? formats.clock : formats.seconds).format(at)}`
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
  const [here, there] = [formats.time.format(at), utc.clock.format(at)]
  if (here.endsWith(there)) return here
  const [day, day_there] = [formats.day.format(at), utc.day.format(at)]
  return `${here} (${day === day_there ? '' : `${day_there}, `}${there})`
}

/** The time of a point of a chart in words. Points of days begin and end in UTC. */
export const markExactly = (at: number, isDay: boolean): string =>
  isDay
    ? `${utc.day.format(at * 1_000)} (UTC)`
    : `${formats.day.format(at * 1_000)}, ${formats.hour.format(at * 1_000)} ${isUtc() ? 'UTC' : hereShortly()}`

/** The hour and minute, and at midnight the day; of points of days the day in UTC. `at`: seconds since the Unix epoch. */
export function mark(at: number, isDay: boolean): string {
  if (isDay) return utc.day.format(at * 1_000)
  const hour = formats.hour.format(at * 1_000)
  return hour === '00:00' ? formats.day.format(at * 1_000) : hour
}

const counts = new Intl.NumberFormat('en')
export const count = (value: number | bigint): string => counts.format(value)

/** Never more than there is. */
const large = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 3, roundingMode: 'trunc' })

/** `1,234,567`; from a billion on `1.234B`. */
export const shortCount = (value: bigint): string => (value < 1_000_000_000n ? count(value) : large.format(value))

/** The start and the end of a long hex value. */
export const short = (hex: string): string => (hex.length > 18 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex)

/** `price_cap` is `price cap`. */
export const words = (code: string): string => code.replaceAll('_', ' ')

/** Replaces amounts in wei in a sentence by ones with the unit of the network. */
export const inCoins = (text: string, symbol: string): string =>
  text.replaceAll(/(\d{10,}) wei/g, (_, wei: string) => amount(wei, symbol))

/** Groups the digits of the arguments and the block in a sentence: `Denied(needed: 1,000,000)`, `in block 1,110`. */
export const withGroups = (text: string): string =>
  text.replaceAll(/(?<=[(,:] ?)\d{4,}(?=[,)])|(?<=\bblock )\d{4,}/g, (digits) => count(BigInt(digits)))

/** With a capital letter, and a point at its end. */
export const sentence = (text: string): string =>
  text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
