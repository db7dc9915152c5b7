import type { SignTypedDataRequest, TypedDataMember } from '../../../generated/openapi.ts'
import { badRequest, type Field } from '../errors.ts'
import { keccak256 } from './digest.ts'

export interface HashedTypedData {
  domain_separator: Buffer
  struct_hash: Buffer
  /** The domain's `chainId`. */
  chain_id: bigint | undefined
  /** The domain's `verifyingContract`, in lower case. */
  contract: string | undefined
  /** The primary type, and the values of its members, which are valid. */
  struct: Struct
  message: SignTypedDataRequest['message']
}

/** A value takes up to 6 us, so a document blocks other requests for at most 30 ms. */
const maxValues = 5_000
const maxTypesLength = 32_768

const domainType = 'EIP712Domain'
/** EIP-712: the members that a domain may have, in this order. */
const domainMembers = {
  name: 'string',
  version: 'string',
  chainId: 'uint256',
  verifyingContract: 'address',
  salt: 'bytes32',
} as const

/**
 * Computes the two hashes of an EIP-712 document. Stricter than the libraries, which read "false" as true and accept missing members,
 * and linear in the document's size, unlike the libraries. Throws DomainError (400) with the place of the fault.
 */
export function hashTypedData({ domain, types, primaryType, message }: SignTypedDataRequest): HashedTypedData {
  const length = Object.entries(types).reduce(
    (sum, [name, members]) =>
      members.reduce((own, member) => own + member.name.length + member.type.length, sum + name.length),
    0,
  )
  if (length > maxTypesLength) throw badRequest(['types'], `must have at most ${maxTypesLength} characters`)
  const structs = new Map(Object.entries(types))
  if (primaryType === domainType) throw badRequest(['primaryType'], 'must not be EIP712Domain')
  const budget = { left: maxValues }
  const struct = resolveStruct(structs, primaryType, ['primaryType'])
  return {
    domain_separator: hashOf(domainStruct(structs, domain), domain, ['domain'], budget),
    struct_hash: hashOf(struct, message, ['message'], budget),
    chain_id: domain.chainId === undefined ? undefined : BigInt(domain.chainId),
    contract: domain.verifyingContract?.toLowerCase(),
    struct,
    message,
  }
}

/** The declared domain type, or one of the given members in the order of the standard. */
function domainStruct(
  structs: Map<string, SignTypedDataRequest['types'][string]>,
  domain: SignTypedDataRequest['domain'],
): Struct {
  const given = Object.entries(domainMembers).filter(([name]) => Object.hasOwn(domain, name))
  const members = structs.get(domainType) ?? given.map(([name, type]) => ({ name, type }))
  for (const [index, { name, type }] of members.entries()) {
    const known = Object.hasOwn(domainMembers, name) ? domainMembers[name as keyof typeof domainMembers] : undefined
    if (known === type) continue
    throw badRequest(
      ['types', domainType, index],
      'must be one of: string name, string version, uint256 chainId, address verifyingContract, bytes32 salt',
    )
  }
  return resolveStruct(new Map([[domainType, members]]), domainType, ['types', domainType])
}

interface Struct {
  kind: 'struct'
  members: { name: string; type: Type }[]
  /** Its own part of EIP-712's `encodeType`: the name and the members, without the structs that it refers to. */
  text: string
  /** The hash of `encodeType`. */
  type_hash: Buffer
}

type Atom =
  | { kind: 'integer'; bits: number; signed: boolean }
  | { kind: 'fixed_bytes'; length: number }
  | { kind: 'bytes' | 'string' | 'address' | 'bool' }

export type Type = Struct | Atom | { kind: 'array'; of: Type; length: number | undefined }

interface Resolved {
  struct: Struct
  /** The encoded types of the structs that it refers to, by name, without itself. */
  parts: Map<string, string>
}

const unknownType = 'must be an elementary type of EIP-712, a struct that `types` declares, or an array of these'

/** Resolves a struct and the structs that it refers to, each once. Throws DomainError (400). */
function resolveStruct(structs: ReadonlyMap<string, TypedDataMember[]>, root: string, place: Field): Struct {
  const resolved = new Map<string, Resolved>()
  const open = new Set<string>()
  for (const name of structs.keys()) {
    if (readAtom(name)) throw badRequest(['types'], `must not redefine the elementary type ${name}`)
  }

  const resolve = (name: string, place: Field): Resolved => {
    const known = resolved.get(name)
    if (known) return known
    const declared = structs.get(name)
    if (!declared) throw badRequest(place, unknownType)
    if (open.has(name)) throw badRequest(place, `struct ${name} must not contain itself`)
    open.add(name)

    const parts = new Map<string, string>()
    const members = declared.map(({ name: member, type }, index) => {
      const own = ['types', name, index]
      if (declared.findIndex((other) => other.name === member) < index)
        throw badRequest([...own, 'name'], 'must be unique in its struct')
      return { name: member, type: typeOf(type, [...own, 'type'], parts) }
    })
    const text = `${name}(${declared.map(({ name, type }) => `${type} ${name}`).join(',')})`
    const sorted = [...parts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)
    const made = { struct: { kind: 'struct' as const, members, text, type_hash: keccak256(text, ...sorted) }, parts }
    open.delete(name)
    resolved.set(name, made)
    return made
  }

  const typeOf = (text: string, place: Field, parts: Map<string, string>): Type => {
    const base = text.replace(/\[.*$/, '')
    const innermost = readAtom(base) ?? structOf(base, place, parts)
    return [...text.matchAll(/\[(\d*)\]/g)].reduce<Type>((of, [, length = '']) => {
      if (length.startsWith('0')) throw badRequest(place, unknownType)
      return { kind: 'array', of, length: length === '' ? undefined : Number(length) }
    }, innermost)
  }

  const structOf = (name: string, place: Field, parts: Map<string, string>): Struct => {
    const { struct, parts: its } = resolve(name, place)
    parts.set(name, struct.text)
    for (const [part, own] of its) parts.set(part, own)
    return struct
  }

  return resolve(root, place).struct
}

/** Undefined when it is not an elementary type of EIP-712. */
function readAtom(name: string): Atom | undefined {
  if (name === 'bytes' || name === 'string' || name === 'address' || name === 'bool') return { kind: name }
  const [, sign, bits] = /^(u?)int([1-9]\d{0,2})$/.exec(name) ?? []
  if (bits !== undefined && Number(bits) % 8 === 0 && Number(bits) <= 256) {
    return { kind: 'integer', bits: Number(bits), signed: sign === '' }
  }
  const [, length] = /^bytes([1-9]\d?)$/.exec(name) ?? []
  return length !== undefined && Number(length) <= 32 ? { kind: 'fixed_bytes', length: Number(length) } : undefined
}

/** The number of values that may still follow. */
interface Budget {
  left: number
}

/** EIP-712's `hashStruct`. The value must have exactly the members of its type. Throws DomainError (400). */
function hashOf(struct: Struct, value: unknown, place: Field, budget: Budget): Buffer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badRequest(place, 'must be an object')
  const words = struct.members.map(({ name, type }) => {
    const own = [...place, name]
    if (!Object.hasOwn(value, name)) throw badRequest(own, 'is missing')
    return wordOf(type, (value as Record<string, unknown>)[name], own, budget)
  })
  if (Object.keys(value).length > struct.members.length)
    throw badRequest(place, 'must not have members that its type does not declare')
  return keccak256(struct.type_hash, ...words)
}

/** EIP-712's `encodeData` of a value: 32 bytes. */
function wordOf(type: Type, value: unknown, place: Field, budget: Budget): Buffer {
  budget.left -= 1
  if (budget.left < 0) throw badRequest(['message'], 'must have at most 5,000 values together with the domain')
  if (type.kind === 'struct') return hashOf(type, value, place, budget)
  if (type.kind === 'array') {
    if (!Array.isArray(value)) throw badRequest(place, 'must be an array')
    if (type.length !== undefined && value.length !== type.length) {
      throw badRequest(place, `must have ${type.length} items`)
    }
    return keccak256(...value.map((item, index) => wordOf(type.of, item, [...place, index], budget)))
  }
  const word = atomWord(type, value)
  if (typeof word === 'string') throw badRequest(place, word)
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
