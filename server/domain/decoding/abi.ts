import { ErrorFragment, Fragment, FunctionFragment, type ParamType } from 'ethers/abi'
import { badRequest, type Field } from '../errors.ts'

// The contract ABI specification, in linear time: the library takes seconds for bytes that pointers share, and for nested values. Values
// are those of a request: integers as decimal strings (or bigint), tuples and arrays as arrays, addresses and bytes as hex.

const wordDigits = 64

/** Hex without 0x. The values must have been checked (contract-call.ts). */
export function encodeAbi(types: readonly ParamType[], values: readonly unknown[]): string {
  const parts = types.map((type, index) => ({ isDynamic: isDynamic(type), hex: encodeValue(type, values[index]) }))
  const headDigits = parts.reduce((sum, { isDynamic, hex }) => sum + (isDynamic ? wordDigits : hex.length), 0)
  let [head, tail] = ['', '']
  for (const { isDynamic, hex } of parts) {
    if (isDynamic) {
      head += word((headDigits + tail.length) / 2)
      tail += hex
    } else head += hex
  }
  return head + tail
}

function encodeValue(type: ParamType, value: unknown): string {
  const { baseType, arrayChildren, arrayLength, components } = type
  if (arrayChildren) {
    const members = value as unknown[]
    const hex = encodeAbi(Array(members.length).fill(arrayChildren), members)
    return arrayLength === -1 ? word(members.length) + hex : hex
  }
  if (components) return encodeAbi(components, value as unknown[])
  if (baseType === 'bool') return word(value === true ? 1 : 0)
  if (baseType === 'address') return (value as string).slice(2).toLowerCase().padStart(wordDigits, '0')
  if (baseType === 'string') return encodeBytes(Buffer.from(value as string, 'utf8').toString('hex'))
  if (baseType === 'bytes') return encodeBytes((value as string).slice(2).toLowerCase())
  if (baseType.startsWith('bytes')) return padded((value as string).slice(2).toLowerCase())
  return word(BigInt(value as string | number | bigint))
}

const encodeBytes = (hex: string): string => word(hex.length / 2) + padded(hex)

const padded = (hex: string): string => hex.padEnd(Math.ceil(hex.length / wordDigits) * wordDigits, '0')

const word = (number: number | bigint): string =>
  BigInt.asUintN(256, BigInt(number)).toString(16).padStart(wordDigits, '0')

/** The part of the data that is not read yet: pointers that share bytes would read it more than once. */
interface Reader {
  hex: string
  left: number
}

/** The values of lower case hex without 0x. Throws for malformed data, and for pointers to bytes that another value has. */
export function decodeAbi(types: readonly ParamType[], hex: string): unknown[] {
  return decodeTuple({ hex, left: hex.length }, types, 0)
}

function decodeTuple(reader: Reader, types: readonly ParamType[], start: number): unknown[] {
  let at = start
  return types.map((type) => {
    if (!isDynamic(type)) {
      const value = decodeValue(reader, type, at)
      at += digitsOf(type)
      return value
    }
    const value = decodeValue(reader, type, start + 2 * readLength(reader, at))
    at += wordDigits
    return value
  })
}

function decodeValue(reader: Reader, type: ParamType, at: number): unknown {
  const { baseType, arrayChildren, arrayLength, components } = type
  if (arrayChildren) {
    const hasLength = arrayLength === -1
    const length = hasLength ? readLength(reader, at) : (arrayLength as number)
    // Every member takes a word or more.
    if (length * wordDigits > reader.left) throw malformed()
    return decodeTuple(reader, Array(length).fill(arrayChildren), hasLength ? at + wordDigits : at)
  }
  if (components) return decodeTuple(reader, components, at)
  if (baseType === 'bytes' || baseType === 'string') {
    const hex = read(reader, at + wordDigits, 2 * readLength(reader, at))
    return baseType === 'bytes' ? `0x${hex}` : utf8.decode(Buffer.from(hex, 'hex'))
  }
  return decodeWord(baseType, read(reader, at, wordDigits))
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeWord(name: string, hex: string): unknown {
  if (name === 'address') {
    if (!/^0{24}/.test(hex)) throw malformed()
    return `0x${hex.slice(24)}`
  }
  const number = BigInt(`0x${hex}`)
  if (name === 'bool') {
    if (number > 1n) throw malformed()
    return number === 1n
  }
  const size = /^bytes(\d+)$/.exec(name)?.[1]
  if (size !== undefined) {
    const digits = 2 * Number(size)
    if (!/^0*$/.test(hex.slice(digits))) throw malformed()
    return `0x${hex.slice(0, digits)}`
  }
  const bits = Number(name.replace(/^u?int/, '') || 256)
  const value = name.startsWith('int') ? BigInt.asIntN(bits, number) : BigInt.asUintN(bits, number)
  if (BigInt.asUintN(256, value) !== number) throw malformed()
  return value.toString()
}

/** A length or an offset in bytes. */
function readLength(reader: Reader, at: number): number {
  const number = Number(`0x${read(reader, at, wordDigits)}`)
  if (number > reader.hex.length) throw malformed()
  return number
}

function read(reader: Reader, at: number, digits: number): string {
  reader.left -= digits
  if (reader.left < 0 || at + digits > reader.hex.length) throw malformed()
  return reader.hex.slice(at, at + digits)
}

const dynamic = new WeakMap<ParamType, boolean>()

function isDynamic(type: ParamType): boolean {
  const { baseType, arrayChildren, arrayLength, components } = type
  if (!arrayChildren && !components) return baseType === 'bytes' || baseType === 'string'
  const known = dynamic.get(type)
  if (known !== undefined) return known
  const is = arrayChildren ? arrayLength === -1 || isDynamic(arrayChildren) : (components ?? []).some(isDynamic)
  dynamic.set(type, is)
  return is
}

/** Of a type whose values have all the same length. */
function digitsOf({ arrayChildren, arrayLength, components }: ParamType): number {
  if (arrayChildren) return (arrayLength ?? 0) * digitsOf(arrayChildren)
  return components ? components.reduce((sum, part) => sum + digitsOf(part), 0) : wordDigits
}

const malformed = () => new Error('The data is malformed')

/** An entry of an ABI: human-readable, or the object that compilers write. */
export type AbiEntry = string | Record<string, unknown>

/** The library takes milliseconds for an entry of this size, and seconds for one of a few kilobytes of nested tuples. */
const maxEntry = { characters: 2_000, member_characters: 256, types: 256, depth: 8 }
/** The product of all fixed lengths of arrays in one entry. */
const maxFixedMembers = 4_096
/** They are stored with the transaction. */
const maxFragmentsLength = 4_096

interface Size {
  /** Of the longest text. */
  characters: number
  types: number
  /** Of tuples in tuples. */
  depth: number
}

/** How large an entry is, by one pass over its characters and values. */
export function sizeOf(entry: AbiEntry): Size {
  const size = { characters: 0, types: 0, depth: 0 }
  measure(entry, 0, size)
  return size
}

function measure(value: unknown, depth: number, size: Size): void {
  if (typeof value === 'string') measureText(value, depth, size)
  if (typeof value !== 'object' || value === null) return
  const isList = Array.isArray(value)
  if (!isList) size.types += 1
  size.depth = Math.max(size.depth, depth)
  for (const member of isList ? value : Object.values(value)) measure(member, isList ? depth : depth + 1, size)
}

function measureText(text: string, around: number, size: Size): void {
  size.characters = Math.max(size.characters, text.length)
  let depth = around
  for (const character of text) {
    if (character === '(' || character === ',' || character === '[') size.types += 1
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    size.depth = Math.max(size.depth, depth)
  }
}

/** `field`: its path in the value. Throws DomainError. */
export function readAbiEntry(entry: AbiEntry, field: Field): Fragment {
  checkSize(entry, field)
  let read: Fragment
  try {
    read = Fragment.from(entry)
  } catch {
    throw badRequest(field, 'must be a function, an error or an event by the contract ABI specification')
  }
  const inputs = read.inputs.map((input) => input.format('sighash')).join()
  const lengths = inputs.matchAll(/\[(\d+)\]/g)
  const members = [...lengths].reduce((product, [, length]) => product * Math.max(1, Number(length)), 1)
  if (members > maxFixedMembers)
    throw badRequest(field, `has arrays of more than ${maxFixedMembers} members of fixed number`)
  // A value without bytes would cost a decoder nothing, however often it occurs.
  if (/\(\)|\[0+\]/.test(inputs)) throw badRequest(field, 'has a tuple or an array of a fixed number of 0 members')
  return read
}

function checkSize(entry: AbiEntry, field: Field): void {
  const { characters, types, depth } = sizeOf(entry)
  const longest = maxEntry[typeof entry === 'string' ? 'characters' : 'member_characters']
  if (characters > longest) throw badRequest(field, `has a text of more than ${longest} characters`)
  if (types > maxEntry.types) throw badRequest(field, `has more than ${maxEntry.types} types`)
  // The list of the arguments is the first level.
  if (depth > maxEntry.depth + 1) throw badRequest(field, `has tuples nested more than ${maxEntry.depth} levels deep`)
}

export const isFunction = (entry: Fragment): entry is FunctionFragment => FunctionFragment.isFragment(entry)
export const isError = (entry: Fragment): entry is ErrorFragment => ErrorFragment.isFragment(entry)

/** As many of them as may be stored with a transaction, as human-readable ABI. A function comes first. */
export function keptFragments(entries: (FunctionFragment | ErrorFragment)[]): string[] {
  const texts = entries.map((entry) => entry.format('full'))
  let length = 0
  return texts.filter((text) => {
    length += text.length
    return length <= maxFragmentsLength
  })
}
