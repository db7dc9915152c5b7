import { badRequest, type Field } from '../../domain/errors.ts'
import type { AmountPlaces } from './document.ts'
import { redactName } from './violation.ts'

/** More than any operation needs. Validating a megabyte of tiny values would take 0.4 s. */
const maxValues = 10_000
/** JSON.stringify and other functions recurse. */
const maxDepth = 64

interface Reader {
  text: string
  /** The position of the next character. */
  at: number
  values: number
  /** The path of the current value: names and indexes. */
  trail: (string | number)[]
}

// No library does this: JSON.parse's reviver sees the text of a number, and neither duplicate keys nor the path. lossless-json accepts a
// key that is repeated with the same value, and gives a number's text without its place. jsonc-parser and momoa accept duplicates and
// need a second pass over their tree. None limits depth or values (20,000 brackets overflow the stack), and a body of 700 bytes takes
// 6 to 12 us with them, 3.4 here.

/**
 * Parses JSON (RFC 8259) without loss. JSON.parse keeps only the last of duplicate keys and rounds numbers.
 * - A duplicate key in an object is refused.
 * - A number where the contract declares an amount must be an integer of digits only. It is returned as text.
 * - Any other number must be representable exactly: 1e3 and 0.1 pass, 9007199254740993 and 255.00000000000000000001 do not.
 * - Text must be well-formed Unicode: a lone surrogate has no UTF-8 form to sign or store.
 * `amounts`: the places of amounts. Throws DomainError (400) with the path.
 */
export function parseJson(text: string, amounts: AmountPlaces | undefined): unknown {
  const reader: Reader = { text, at: 0, values: 0, trail: [] }
  const value = readValue(reader, amounts)
  if (nextCharacter(reader) !== undefined) throw notJson(reader)
  return value
}

function readValue(reader: Reader, amounts: AmountPlaces | undefined): unknown {
  reader.values += 1
  if (reader.values > maxValues) throw badRequest([], `must have at most ${maxValues} values`)
  switch (nextCharacter(reader)) {
    case '{':
      return readObject(reader, amounts)
    case '[':
      return readArray(reader, amounts)
    case '"':
      return readString(reader)
    case 't':
      return readWord(reader, 'true', true)
    case 'f':
      return readWord(reader, 'false', false)
    case 'n':
      return readWord(reader, 'null', null)
    default:
      return readNumber(reader, amounts?.isAmount === true)
  }
}

function readObject(reader: Reader, amounts: AmountPlaces | undefined): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  enter(reader)
  if (isNext(reader, '}')) return object
  do {
    if (nextCharacter(reader) !== '"') throw notJson(reader)
    const name = readString(reader)
    if (!isNext(reader, ':')) throw notJson(reader)
    reader.trail.push(redactName(name))
    if (Object.hasOwn(object, name)) throw badRequest(placeOf(reader), 'is a duplicate key; each key must occur once')
    const value = readValue(reader, amounts?.properties.get(name))
    // An assignment to __proto__ would set the prototype.
    if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true })
    else object[name] = value
    reader.trail.pop()
  } while (isNext(reader, ','))
  if (!isNext(reader, '}')) throw notJson(reader)
  return object
}

function readArray(reader: Reader, amounts: AmountPlaces | undefined): unknown[] {
  const array: unknown[] = []
  enter(reader)
  if (isNext(reader, ']')) return array
  do {
    reader.trail.push(array.length)
    array.push(readValue(reader, amounts?.items))
    reader.trail.pop()
  } while (isNext(reader, ','))
  if (!isNext(reader, ']')) throw notJson(reader)
  return array
}

/** Skips the opening bracket of an object or an array. */
function enter(reader: Reader): void {
  if (reader.trail.length >= maxDepth) throw badRequest([], `must be nested at most ${maxDepth} levels deep`)
  reader.at += 1
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must be escaped in a string (RFC 8259, section 7).
const plainString = /"[^"\\\u0000-\u001f]*"/y

function readString(reader: Reader): string {
  const { text, at } = reader
  plainString.lastIndex = at
  if (plainString.test(text)) {
    reader.at = plainString.lastIndex
    return text.slice(at + 1, reader.at - 1)
  }
  reader.at = endOfString(reader)
  let value: string
  try {
    value = JSON.parse(text.slice(at, reader.at))
  } catch {
    throw notJson({ ...reader, at })
  }
  if (!value.isWellFormed()) throw badRequest(placeOf(reader), 'must be well-formed Unicode')
  return value
}

/** The position behind the closing quote: the first quote that is not escaped by a backslash. */
function endOfString({ text, at, ...reader }: Reader): number {
  for (let end = at + 1; end < text.length; end += 1) {
    const code = text.charCodeAt(end)
    if (code === quote) return end + 1
    if (code === backslash) end += 1
  }
  throw notJson({ ...reader, text, at: text.length })
}

const [quote, backslash] = ['"', '\\'].map((character) => character.charCodeAt(0))

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

function readNumber(reader: Reader, isAmount: boolean): number | string {
  number.lastIndex = reader.at
  const [source] = number.exec(reader.text) ?? []
  if (source === undefined) throw notJson(reader)
  reader.at = number.lastIndex
  if (isAmount) {
    if (/^\d+$/.test(source)) return source
    throw badRequest(
      placeOf(reader),
      'must be a whole number, in wei or the smallest unit of a token, as a decimal string or in digits only, for example "1000000000000000"',
    )
  }
  const value = Number(source)
  if (isExact(source, value)) return value
  throw badRequest(
    placeOf(reader),
    'must be a number that double precision represents exactly, for example 9007199254740992',
  )
}

/**
 * The first two checks are fast: an integer of 15 digits is always exact, and most numbers are spelled as JavaScript spells them.
 */
const isExact = (source: string, value: number): boolean =>
  /^-?\d{1,15}$/.test(source) || source === String(value) || decimalOf(source) === decimalOf(String(value))

/** A canonical text of a decimal number: its digits without leading and trailing zeros, and its exponent of ten. */
function decimalOf(source: string): string | undefined {
  const [, sign = '', whole, fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? []
  if (whole === undefined) return undefined
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

function readWord<T>(reader: Reader, word: string, value: T): T {
  if (!reader.text.startsWith(word, reader.at)) throw notJson(reader)
  reader.at += word.length
  return value
}

const space = /[ \t\n\r]*/y

/** Skips white space and returns the next character without consuming it; undefined at the end. */
function nextCharacter(reader: Reader): string | undefined {
  const { text } = reader
  const code = text.charCodeAt(reader.at)
  if (code <= 0x20) {
    space.lastIndex = reader.at
    space.test(text)
    reader.at = space.lastIndex
  }
  return text[reader.at]
}

/** Consumes the character if it is the next one. */
function isNext(reader: Reader, character: string): boolean {
  if (nextCharacter(reader) !== character) return false
  reader.at += 1
  return true
}

const placeOf = ({ trail }: Reader): Field => [...trail]

const notJson = ({ text, at }: Reader) =>
  badRequest(
    [],
    `must be valid JSON; ${at < text.length ? 'unexpected character' : 'unexpected end'} at position ${at}`,
  )
