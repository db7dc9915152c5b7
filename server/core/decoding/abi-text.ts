import { ErrorFragment, Fragment, FunctionFragment } from 'ethers/abi'
import { badRequest } from '../errors.ts'

/** An entry of an ABI: human-readable, or the object that compilers write. */
export type AbiEntry = string | Record<string, unknown>

/** The library takes milliseconds for an entry of this size, and seconds for one of a few kilobytes of nested tuples. */
const max_entry = { characters: 2_000, member_characters: 256, types: 256, depth: 8 }
/** The product of all fixed lengths of arrays in one entry. */
const max_fixed_members = 4_096
/** They are stored with the transaction. */
const max_fragments_length = 4_096

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

/** `at`: its path in the request. Throws ApiError (400). */
export function readAbiEntry(entry: AbiEntry, at: string): Fragment {
  checkSize(entry, at)
  let read: Fragment
  try {
    read = Fragment.from(entry)
  } catch {
    throw badRequest(at, 'must be a function, an error or an event by the contract ABI specification')
  }
  const inputs = read.inputs.map((input) => input.format('sighash')).join()
  const lengths = inputs.matchAll(/\[(\d+)\]/g)
  const members = [...lengths].reduce((product, [, length]) => product * Math.max(1, Number(length)), 1)
  if (members > max_fixed_members)
    throw badRequest(at, `has arrays of more than ${max_fixed_members} members of fixed number`)
  // A value without bytes would cost a decoder nothing, however often it occurs.
  if (/\(\)|\[0+\]/.test(inputs)) throw badRequest(at, 'has a tuple or an array of a fixed number of 0 members')
  return read
}

function checkSize(entry: AbiEntry, at: string): void {
  const { characters, types, depth } = sizeOf(entry)
  const longest = max_entry[typeof entry === 'string' ? 'characters' : 'member_characters']
  if (characters > longest) throw badRequest(at, `has a text of more than ${longest} characters`)
  if (types > max_entry.types) throw badRequest(at, `has more than ${max_entry.types} types`)
  // The list of the arguments is the first level.
  if (depth > max_entry.depth + 1) throw badRequest(at, `has tuples nested more than ${max_entry.depth} levels deep`)
}

export const isFunction = (entry: Fragment): entry is FunctionFragment => FunctionFragment.isFragment(entry)
export const isError = (entry: Fragment): entry is ErrorFragment => ErrorFragment.isFragment(entry)

/** As many of them as may be stored with a transaction, as human-readable ABI. A function comes first. */
export function keptFragments(entries: (FunctionFragment | ErrorFragment)[]): string[] {
  const texts = entries.map((entry) => entry.format('full'))
  let length = 0
  return texts.filter((text) => {
    length += text.length
    return length <= max_fragments_length
  })
}
