import { badRequest } from '../errors.ts'
import { keccak256 } from './digest.ts'
import type { Atom, Struct, Type } from './typed-data-types.ts'

/** The number of values that may still follow. */
export interface Budget {
  left: number
}

/** EIP-712's `hashStruct`. The value must have exactly the members of its type. Throws ApiError (400). */
export function hashOf(struct: Struct, value: unknown, place: string, budget: Budget): Buffer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badRequest(place, 'must be an object')
  const words = struct.members.map(({ name, type }) => {
    const own = `${place}/${name}`
    if (!Object.hasOwn(value, name)) throw badRequest(shortened(own), 'is missing')
    return wordOf(type, (value as Record<string, unknown>)[name], own, budget)
  })
  if (Object.keys(value).length > struct.members.length)
    throw badRequest(shortened(place), 'must not have members that its type does not declare')
  return keccak256(struct.type_hash, ...words)
}

/** EIP-712's `encodeData` of a value: 32 bytes. */
function wordOf(type: Type, value: unknown, place: string, budget: Budget): Buffer {
  budget.left -= 1
  if (budget.left < 0) throw badRequest('/body/message', 'must have at most 5,000 values together with the domain')
  if (type.kind === 'struct') return hashOf(type, value, place, budget)
  if (type.kind === 'array') {
    if (!Array.isArray(value)) throw badRequest(shortened(place), 'must be an array')
    if (type.length !== undefined && value.length !== type.length) {
      throw badRequest(shortened(place), `must have ${type.length} items`)
    }
    return keccak256(...value.map((item, index) => wordOf(type.of, item, `${place}/${index}`, budget)))
  }
  const word = atomWord(type, value)
  if (typeof word === 'string') throw badRequest(shortened(place), word)
  return word
}

/** The word of a value, or an error message. */
function atomWord(type: Atom, value: unknown): Buffer | string {
  switch (type.kind) {
    case 'integer':
      return integerWord(value, type.bits, type.signed)
    case 'bool':
      return typeof value === 'boolean' ? numberWord(value ? 1n : 0n) : 'must be true or false'
    case 'string':
      return typeof value === 'string' ? keccak256(value) : 'must be a string'
    case 'bytes': {
      const bytes = readBytes(value)
      return bytes ? keccak256(bytes) : 'must be bytes: hex digits in pairs, with 0x'
    }
    case 'fixed_bytes': {
      const bytes = readBytes(value)
      if (bytes?.length !== type.length) return `must be ${type.length} bytes: ${2 * type.length} hex digits with 0x`
      return Buffer.concat([bytes], 32)
    }
    case 'address':
      return addressWord(value)
  }
}

function integerWord(value: unknown, bits: number, signed: boolean): Buffer | string {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    return 'must be an integer; write one beyond 2^53 - 1 as a string, for example "9007199254740993"'
  }
  const isText = typeof value === 'string' && /^(?:-?\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value)
  if (typeof value !== 'number' && !isText) return 'must be an integer'
  const integer = BigInt(value as number | string)
  const fitted = signed ? BigInt.asIntN(bits, integer) : BigInt.asUintN(bits, integer)
  return fitted === integer ? numberWord(integer) : `must fit in ${signed ? 'int' : 'uint'}${bits}`
}

function addressWord(value: unknown): Buffer | string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value))
    return 'must be an address: 40 hex digits with 0x'
  const digits = value.slice(2)
  const lower = digits.toLowerCase()
  const isMixed = digits !== lower && digits !== digits.toUpperCase()
  return isMixed && digits !== checksummed(lower)
    ? 'must have a correct EIP-55 checksum, or be lower case'
    : numberWord(BigInt(value))
}

/** The EIP-55 checksum. Written here, because ethers takes 15 us, and a document may have thousands of addresses. */
function checksummed(lower: string): string {
  const hash = keccak256(lower).toString('hex')
  return lower.replaceAll(/[a-f]/g, (letter, at: number) =>
    (hash[at] as string) >= '8' ? letter.toUpperCase() : letter,
  )
}

const numberWord = (value: bigint): Buffer =>
  Buffer.from(BigInt.asUintN(256, value).toString(16).padStart(64, '0'), 'hex')

const readBytes = (value: unknown): Buffer | undefined =>
  typeof value === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(value) ? Buffer.from(value.slice(2), 'hex') : undefined

/** Cut to the longest `path` that the contract allows in `details`. */
const shortened = (place: string): string => place.slice(0, 1_000)
