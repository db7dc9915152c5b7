import { printable } from '../core/printable.ts'

/** What a node answered cannot be read: it proves nothing. The message says which value, and what it is. */
export class Malformed extends Error {}

/** Reads one value of an answer, or throws Malformed. `name`: of the value, for the message. */
export type Read<T> = (value: unknown, name: string) => T

const max_quantity = 2n ** 256n - 1n
/** Nodes pad quantities, and write zero as `0x`. Libraries read digits alone as decimal. */
const spellings = /^(?:0x[0-9a-f]{0,128}|[0-9]{1,78})$/i
const max_shown = 100

/** A value of an answer as text, for a message. */
export function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'string') return `"${printable(value.slice(0, max_shown))}"`
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : `${value}`
}

const refuse = (value: unknown, name: string, wanted: string): Malformed =>
  new Malformed(`${name} is ${show(value)}, and not ${wanted}`)

/** A number of any spelling: a JSON number, hex in any case and length, `0x` for zero, decimal digits. */
export const readQuantity: Read<bigint> = (value, name) => {
  const number = parse(value)
  if (number === undefined || number > max_quantity) throw refuse(value, name, 'a number')
  return number
}

function parse(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  if (typeof value !== 'string' || !spellings.test(value)) return undefined
  return value.length === 2 && /^0x$/i.test(value) ? 0n : BigInt(value.toLowerCase())
}

/** A number that JavaScript holds exactly. */
export const readInteger: Read<number> = (value, name) => {
  const number = Number(readQuantity(value, name))
  if (!Number.isSafeInteger(number)) throw refuse(value, name, 'a number below 2^53')
  return number
}

/** The number of a block, or another number of which zero without a digit says nothing. */
export const readHeight: Read<number> = (value, name) => {
  if (typeof value === 'string' && value.length <= 2 && /^0x/i.test(value)) throw refuse(value, name, 'a number')
  return readInteger(value, name)
}

/** Whether an execution succeeded: 1 or true, 0 or false. */
export const readStatus: Read<boolean> = (value, name) => {
  if (typeof value === 'boolean') return value
  const status = readHeight(value, name)
  if (status > 1) throw refuse(value, name, '0 or 1')
  return status === 1
}

const hexOf =
  (bytes: number, wanted: string): Read<string> =>
  (value, name) => {
    if (typeof value !== 'string' || value.length !== 2 + 2 * bytes || !/^0x[0-9a-f]+$/i.test(value))
      throw refuse(value, name, wanted)
    return value.toLowerCase()
  }

/** 32 bytes, in lower case. */
export const readHash = hexOf(32, 'a hash')
/** In lower case. */
export const readAddress = hexOf(20, 'an address')

export const readBytes: Read<Buffer> = (value, name) => {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(value)) throw refuse(value, name, 'bytes as hex')
  return Buffer.from(value.slice(2), 'hex')
}

export const readObject: Read<Record<string, unknown>> = (value, name) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse(value, name, 'an object')
  return value as Record<string, unknown>
}

/** Undefined where the value is absent, or says nothing: a member without which the answer is of use. */
export function optional<T>(read: Read<T>, value: unknown, name: string): T | undefined {
  try {
    return value === undefined || value === null ? undefined : read(value, name)
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}
