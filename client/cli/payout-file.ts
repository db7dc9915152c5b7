import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { parse } from 'csv-parse/sync'
import { readUnits, readWei, type Unit } from './amounts.ts'
import { CommandError } from './exit-codes.ts'
import { inLine } from './terminal.ts'

export interface Payout {
  line: number
  /** Lower case. */
  to: string
  /** In wei, or in the smallest units of the token. */
  amount: bigint
  reference: string | undefined
  /** What makes it this payout and no other: its reference, or else its content and how often the file has had that before. */
  identity: string
}

/** How amounts are written. `decimals`: those of the token; absent: amounts are in wei, in `unit`, or have their own unit. */
interface AmountFormat {
  decimals?: number
  unit?: Unit
}

type Delimiter = ',' | ';' | '\t'
type Columns = Record<'to' | 'amount', number> & { reference: number | undefined; width: number }

interface Line {
  line: number
  cells: string[]
}

const delimiters: Delimiter[] = [',', ';', '\t']
/** More faults than a person mends at once are only counted. */
const maxFaults = 100

/**
 * The payouts of a CSV file: UTF-8 or UTF-16, with commas, semicolons or tabs. The whole file is read before anything is paid, and all
 * faults are reported together. Throws CommandError.
 */
export function readPayouts(bytes: Uint8Array, format: AmountFormat): Payout[] {
  const text = decode(bytes)
  const [delimiter, columns] = readHeader(text)
  const [, ...lines] = readLines(text, delimiter)
  if (lines.length === 0) throw new CommandError('The file has no payouts')
  const faults: string[] = []
  const commaLine = lines.find(({ cells }) => /^\d+,\d+/.test(cells[columns.amount] ?? ''))?.line
  const seen = new Map<string, number>()
  const payouts = lines.flatMap(({ line, cells }): Payout[] => {
    try {
      const payout = readPayout(line, cells, columns, (text) => readAmount(text, delimiter, commaLine, format))
      const content = payout.reference ? `reference ${payout.reference}` : `${payout.to} ${payout.amount}`
      const before = seen.get(content) ?? 0
      seen.set(content, before + 1)
      if (payout.reference && before > 0)
        throw new CommandError(`an earlier line has the reference ${inLine(payout.reference)} too`)
      return [{ ...payout, identity: `${content} ${before}` }]
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      faults.push(`Line ${line}: ${error.message}`)
      return []
    }
  })
  if (faults.length > 0) throw new CommandError(tell(faults))
  return payouts
}

function tell(faults: string[]): string {
  const more = faults.length > maxFaults ? [`and ${faults.length - maxFaults} more`] : []
  return [...faults.slice(0, maxFaults), ...more, 'Nothing was paid.'].join('\n')
}

/** UTF-16 is recognized by its byte order mark, or by the zero byte that it has beside each character of the header. */
function decode(bytes: Uint8Array): string {
  const starts = (...mark: number[]) => mark.every((byte, index) => bytes[index] === byte)
  const [first, second] = bytes
  const isLittle = starts(0xff, 0xfe) || second === 0
  const encoding = starts(0xfe, 0xff) || first === 0 ? 'utf-16be' : isLittle ? 'utf-16le' : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError('The file is not UTF-8 or UTF-16 text: save it as "CSV UTF-8"')
  }
}

function readLines(text: string, delimiter: Delimiter, to?: number): Line[] {
  try {
    const rows = parse(text, {
      ...{ delimiter, trim: true, info: true, relax_column_count: true },
      ...{ skip_empty_lines: true, skip_records_with_empty_values: true },
      ...(to !== undefined && { to }),
    }) as unknown as { info: { lines: number }; record: string[] }[]
    return rows.map(({ info, record }) => ({ line: info.lines, cells: record }))
  } catch (error) {
    throw new CommandError(`The file is not CSV: ${(error as Error).message}`)
  }
}

/** The delimiter with which the first line has the columns `to` and `amount`, and the places of the columns. */
function readHeader(text: string): [Delimiter, Columns] {
  for (const delimiter of delimiters) {
    const names = (readLines(text, delimiter, 1)[0]?.cells ?? []).map((name) => name.toLowerCase())
    const [to, amount, reference] = ['to', 'amount', 'reference'].map((name) => names.indexOf(name))
    if (to === undefined || amount === undefined || reference === undefined || to < 0 || amount < 0) continue
    const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index)
    if (twice !== undefined) throw new CommandError(`Line 1: two columns have the name ${inLine(twice)}`)
    return [delimiter, { to, amount, reference: reference < 0 ? undefined : reference, width: names.length }]
  }
  throw new CommandError(
    'Line 1 must name the columns to, amount and, optionally, reference, separated by commas, semicolons or tabs',
  )
}

function readPayout(
  line: number,
  cells: string[],
  columns: Columns,
  amountOf: (text: string) => bigint,
): Omit<Payout, 'identity'> {
  if (cells.slice(columns.width).some((cell) => cell !== ''))
    throw new CommandError(
      `has more values than the ${columns.width} columns: put a value that has the delimiter in quotes`,
    )
  const to = readAddress(cells[columns.to] ?? '')
  const reference = columns.reference === undefined ? undefined : cells[columns.reference] || undefined
  return { line, to, amount: amountOf(cells[columns.amount] ?? ''), reference }
}

/** Lower case. Mixed case must be the checksum (ERC-55). Throws CommandError. */
export function readAddress(text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text))
    throw new CommandError(text === '' ? 'needs a value for to' : `${inLine(text)} is not an address`)
  const digits = text.slice(2)
  const lower = digits.toLowerCase()
  if (/^0+$/.test(lower)) throw new CommandError('the zero address has no owner')
  const isMixed = digits !== lower && digits !== digits.toUpperCase()
  if (isMixed && digits !== checksummed(lower))
    throw new CommandError(`${text} has a wrong checksum (ERC-55): a character is wrong`)
  return `0x${lower}`
}

function checksummed(lower: string): string {
  const hash = bytesToHex(keccak_256(utf8ToBytes(lower)))
  return [...lower]
    .map((digit, index) => (Number.parseInt(hash[index] as string, 16) > 7 ? digit.toUpperCase() : digit))
    .join('')
}

/**
 * An amount, with a point or, where it cannot separate thousands, a comma before the decimals. `commaLine`: a line of the file that has
 * such a comma: the file then has no decimal points.
 */
function readAmount(
  text: string,
  delimiter: Delimiter,
  commaLine: number | undefined,
  { decimals, unit }: AmountFormat,
): bigint {
  if (text === '') throw new CommandError('needs a value for amount')
  const [, whole = '', separator, fraction = '', rest = ''] = /^(\d+)(?:([.,])(\d+))?(.*)$/.exec(text) ?? []
  const isGroup = /^[1-9]\d{0,2}$/.test(whole) && fraction.length === 3 && !/^[.,]/.test(rest)
  if (isGroup && (separator === ',' || (separator === '.' && delimiter !== ',')))
    throw new CommandError(
      `the amount ${inLine(text)} can be read in two ways: write ${whole}${fraction}${inLine(rest)} or ${whole}.${fraction}0${inLine(rest)}`,
    )
  if (separator === '.' && commaLine !== undefined)
    throw new CommandError(
      `the amount ${inLine(text)} has a decimal point, and that of line ${commaLine} a decimal comma`,
    )
  const plain = separator === undefined ? text : `${whole}.${fraction}${rest}`
  const amount = decimals === undefined ? readWei(plain, unit) : readUnits(plain, decimals)
  if (amount === 0n) throw new CommandError('the amount is zero')
  return amount
}
