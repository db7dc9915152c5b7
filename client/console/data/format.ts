const weiPerGwei = 10n ** 9n
const weiPerEther = 10n ** 18n

/** An amount in wei as ether, truncated to six digits after the decimal point. */
const ether = (wei: string | null): string => (wei === null ? 'unknown' : decimal(BigInt(wei), weiPerEther, 6))

/** An amount in wei with the unit of its network: `1.5 POL`. */
export const amount = (wei: string | null, symbol: string): string =>
  wei === null ? 'unknown' : `${ether(wei)} ${symbol}`

/**
 * An amount with so many digits after the point, so that those of a column stand below each other: `0.150000 POL`. Millions are short: `1.2M POL`;
 * nothing is `0 POL`.
 * The unit has ten to the power of `digits` of the smallest units.
 */
export function fixed(units: string, symbol: string, places = 6, digits = 18): string {
  const [all, unit] = [BigInt(units), 10n ** BigInt(digits)]
  if (all / unit >= 1_000_000n) return `${large.format(all / unit)} ${symbol}`
  if (all === 0n) return `0 ${symbol}`
  const shown = (all * 10n ** BigInt(places)) / unit
  if (shown === 0n) return `< 0.${'1'.padStart(places, '0')} ${symbol}`
  const text = shown.toString().padStart(places + 1, '0')
  return `${count(BigInt(text.slice(0, -places)))}.${text.slice(-places)} ${symbol}`
}

/** As `fixed`, where there is room: up to 13 digits before the point, and none after it from a million on. */
export function wide(units: string, symbol: string, places: number, digits = 18): string {
  const whole = BigInt(units) / 10n ** BigInt(digits)
  const isLong = whole >= 1_000_000n && whole < 10n ** 13n
  return isLong ? `${count(whole)} ${symbol}` : fixed(units, symbol, places, digits)
}

/** About so many coins: three digits that say something. */
export const coins = (value: number, symbol: string): string => `${rounded.format(value)} ${symbol}`
const rounded = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** A price in wei as gwei, with four significant digits or more before the point: `3,543`, `1.234`, `0.001234`. */
export function gwei(wei: string | null): string {
  if (wei === null) return 'unknown'
  const digits = Math.max(0, 13 - wei.length)
  return decimal(BigInt(wei), weiPerGwei, Math.min(digits, 9))
}

/** Less is read better in wei. */
const minGweiWei = 10_000n

/** A price of gas with its unit. */
export function gasPrice(wei: string | null): string {
  if (wei === null) return 'unknown'
  return BigInt(wei) < minGweiWei ? `${count(BigInt(wei))} wei` : `${gwei(wei)} gwei`
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

/** What is wrong with an amount that was typed in this unit; undefined: nothing. */
export function faultOfAmount(text: string, unit: string, digits = 18): string | undefined {
  if (weiOf(text, digits) !== undefined) return undefined
  if (digits === 0) return `Enter a whole number of ${unit}, such as 5.`
  return /^\d+\.\d+$/.test(text.trim())
    ? `Enter at most ${digits} digits after the point: ${unit} has no more.`
    : `Enter an amount in ${unit}, such as 0.05.`
}

/** An amount in wei in a unit of this many digits, exactly, as `weiOf` reads it. */
export function exactly(wei: string, digits = 18): string {
  if (digits === 0) return wei
  const text = wei.padStart(digits + 1, '0')
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '')
}

/** All digits of an amount that is given in its smallest units, of which the unit has ten to the power of `digits`. */
export function exactAmount(units: string, symbol: string, digits = 18): string {
  const [whole = '', rest] = exactly(units, digits).split('.')
  return `${count(BigInt(whole))}${rest === undefined ? '' : `.${rest}`} ${symbol}`
}

const counts = new Intl.NumberFormat('en')
export const count = (value: number | bigint): string => counts.format(value)

/** Never more than there is. */
const large = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 3, roundingMode: 'trunc' })

/** `1,234,567`; from a billion on `1.234B`. */
export const shortCount = (value: bigint): string => (value < 1_000_000_000n ? count(value) : large.format(value))

const maxShortened = 20_000
/** What each shortened text stands for on this page. */
const shortened = new Map<string, string>()

/**
 * The start and the end of a long hex value. A value whose text would be that of another one has more digits: somebody may have made an address
 * that looks the same.
 */
export function short(hex: string): string {
  if (shortened.size > maxShortened) shortened.clear()
  for (let digits = 4; 2 * digits + 4 < hex.length; digits += 2) {
    const text = `${hex.slice(0, digits + 2)}…${hex.slice(-digits)}`
    const other = shortened.get(text.toLowerCase())
    if (other !== undefined && other !== hex.toLowerCase()) continue
    shortened.set(text.toLowerCase(), hex.toLowerCase())
    return text
  }
  return hex
}

/** `price_cap` is `price cap`. */
export const words = (code: string): string => code.replaceAll('_', ' ')

/** What the service says, with amounts in wei in the unit of the network, and with groups of digits. */
export const reasonText = (text: string, symbol: string): string => withGroups(inCoins(text, symbol))

/** Replaces amounts in wei in a sentence by ones with the unit of the network. */
export const inCoins = (text: string, symbol: string): string =>
  text.replaceAll(/(\d{10,}) wei/g, (_, wei: string) => amount(wei, symbol))

/**
 * Groups the digits of arguments, blocks and what a node counts in a sentence: `Denied(needed: 1,000,000)`, `in block 1,110`, `have 1,000,000 want`.
 * Other digits are parts of a text, as the port of an address is.
 */
export const withGroups = (text: string): string =>
  text.replaceAll(/(?<=[(,] ?(?:\w+: )?)\d{4,}(?=[,)])|(?<=\bblock )\d{4,}|(?<=\b(?:have|want) )\d{4,}/g, (digits) =>
    count(BigInt(digits)),
  )

/** With a capital letter, and a point at its end. Only a word of prose gets the letter: a URL, a code or an ID is written as it is. */
export const sentence = (text: string): string =>
  text === ''
    ? ''
    : `${/^[a-z]+(?=[ ,;.!?]|: |$)/.test(text) ? `${text[0]?.toUpperCase()}${text.slice(1)}` : text}${/[.!?]$/.test(text) ? '' : '.'}`

/** Characters that turn a text around or are not seen: a name with them would look like another one. */
const unseen = /[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/g

/** The text with those characters made visible: `[U+202E]`. */
export const visible = (text: string): string =>
  text.replaceAll(unseen, (one) => `[U+${one.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`)

/** `1 attempt`, `2,000 attempts`. */
export const counted = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`

/** Where a spreadsheet with another separator would begin a cell, and read it as a formula. */
const formula = /((?:^|[,;|\t\r\n])["' ]*)(?=[=+\-@＝＋－＠\t\r])/g

/** Every text is quoted (RFC 4180), and gets an apostrophe where it would be a formula. */
export const csvCell = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  return `"${value.replaceAll(formula, "$1'").replaceAll('"', '""')}"`
}
