import type { ParamType } from 'ethers/abi'

// The contract ABI specification, in linear time: the library takes seconds for bytes that pointers share, and for nested values. Values
// are those of a request: integers as decimal strings (or bigint), tuples and arrays as arrays, addresses and bytes as hex.

const word_digits = 64

/** Hex without 0x. The values must have been checked (abi-values.ts). */
export function encodeAbi(types: readonly ParamType[], values: readonly unknown[]): string {
  const parts = types.map((type, index) => ({ isDynamic: isDynamic(type), hex: encodeValue(type, values[index]) }))
  const head_digits = parts.reduce((sum, { isDynamic, hex }) => sum + (isDynamic ? word_digits : hex.length), 0)
  let [head, tail] = ['', '']
  for (const { isDynamic, hex } of parts) {
    if (isDynamic) {
      head += word((head_digits + tail.length) / 2)
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
  if (baseType === 'address') return (value as string).slice(2).toLowerCase().padStart(word_digits, '0')
  if (baseType === 'string') return encodeBytes(Buffer.from(value as string, 'utf8').toString('hex'))
  if (baseType === 'bytes') return encodeBytes((value as string).slice(2).toLowerCase())
  if (baseType.startsWith('bytes')) return padded((value as string).slice(2).toLowerCase())
  return word(BigInt(value as string | number | bigint))
}

const encodeBytes = (hex: string): string => word(hex.length / 2) + padded(hex)

const padded = (hex: string): string => hex.padEnd(Math.ceil(hex.length / word_digits) * word_digits, '0')

const word = (number: number | bigint): string =>
  BigInt.asUintN(256, BigInt(number)).toString(16).padStart(word_digits, '0')

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
    at += word_digits
    return value
  })
}

function decodeValue(reader: Reader, type: ParamType, at: number): unknown {
  const { baseType, arrayChildren, arrayLength, components } = type
  if (arrayChildren) {
    const hasLength = arrayLength === -1
    const length = hasLength ? readLength(reader, at) : (arrayLength as number)
    // Every member takes a word or more (abi-text.ts).
    if (length * word_digits > reader.left) throw malformed()
    return decodeTuple(reader, Array(length).fill(arrayChildren), hasLength ? at + word_digits : at)
  }
  if (components) return decodeTuple(reader, components, at)
  if (baseType === 'bytes' || baseType === 'string') {
    const hex = read(reader, at + word_digits, 2 * readLength(reader, at))
    return baseType === 'bytes' ? `0x${hex}` : utf8.decode(Buffer.from(hex, 'hex'))
  }
  return decodeWord(baseType, read(reader, at, word_digits))
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
  const number = Number(`0x${read(reader, at, word_digits)}`)
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
  return components ? components.reduce((sum, part) => sum + digitsOf(part), 0) : word_digits
}

const malformed = () => new Error('The data is malformed')
