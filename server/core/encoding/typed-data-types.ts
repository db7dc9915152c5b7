import type { TypedDataMember } from '../../../generated/openapi.ts'
import { badRequest } from '../errors.ts'
import { keccak256 } from './digest.ts'

export interface Struct {
  kind: 'struct'
  members: { name: string; type: Type }[]
  /** Its own part of EIP-712's `encodeType`: the name and the members, without the structs that it refers to. */
  text: string
  /** The hash of `encodeType`. */
  type_hash: Buffer
}

export type Atom =
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

/** Resolves a struct and the structs that it refers to, each once. Throws ApiError (400). */
export function resolveStruct(structs: ReadonlyMap<string, TypedDataMember[]>, root: string, place: string): Struct {
  const resolved = new Map<string, Resolved>()
  const open = new Set<string>()
  for (const name of structs.keys()) {
    if (readAtom(name)) throw badRequest('/body/types', `must not redefine the elementary type ${name}`)
  }

  const resolve = (name: string, place: string): Resolved => {
    const known = resolved.get(name)
    if (known) return known
    const declared = structs.get(name)
    if (!declared) throw badRequest(place, unknownType)
    if (open.has(name)) throw badRequest(place, `struct ${name} must not contain itself`)
    open.add(name)

    const parts = new Map<string, string>()
    const members = declared.map(({ name: member, type }, index) => {
      const own = `/body/types/${name}/${index}`
      if (declared.findIndex((other) => other.name === member) < index)
        throw badRequest(`${own}/name`, 'must be unique in its struct')
      return { name: member, type: typeOf(type, `${own}/type`, parts) }
    })
    const text = `${name}(${declared.map(({ name, type }) => `${type} ${name}`).join(',')})`
    const sorted = [...parts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)
    const made = { struct: { kind: 'struct' as const, members, text, type_hash: keccak256(text, ...sorted) }, parts }
    open.delete(name)
    resolved.set(name, made)
    return made
  }

  const typeOf = (text: string, place: string, parts: Map<string, string>): Type => {
    const base = text.replace(/\[.*$/, '')
    const innermost = readAtom(base) ?? structOf(base, place, parts)
    return [...text.matchAll(/\[(\d*)\]/g)].reduce<Type>((of, [, length = '']) => {
      if (length.startsWith('0')) throw badRequest(place, unknownType)
      return { kind: 'array', of, length: length === '' ? undefined : Number(length) }
    }, innermost)
  }

  const structOf = (name: string, place: string, parts: Map<string, string>): Struct => {
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
