import type { ErrorFragment, Fragment, FunctionFragment, ParamType } from 'ethers/abi'
import type { ContractCall } from '../../../generated/openapi.ts'
import { badRequest, type Field } from '../errors.ts'
import { readAddress } from '../values.ts'
import { type AbiEntry, encodeAbi, keptFragments, readAbiEntry, sizeOf } from './abi.ts'

/** A call in bytes, and what decodes it: its function and the custom errors of its ABI, as human-readable ABI. */
interface EncodedCall {
  data: string
  fragments: string[]
}

const place = ['call']
/** The most entries of one kind that are read, and the most types in them; the usual one takes 0.04 ms, 1,000 types take 10 ms. */
const maxEntries = 20
const maxTypes = 1_000
const maxListed = 5

/**
 * Encodes a call by the contract ABI specification. `value`: of the transaction, in wei. No name of an address is looked up, and no
 * ABI is fetched. Throws DomainError (400) with the path of the member at fault.
 */
export function encodeCall({ function: wanted, args = [], abi }: ContractCall, value: string): EncodedCall {
  const entry = abi === undefined ? functionAlone(wanted) : functionIn(abi, wanted)
  if (abi !== undefined && value !== '0' && !entry.payable)
    throw badRequest(['value'], `must be 0: ${signatureOf(entry)} is not payable`)
  const { inputs } = entry
  if (args.length !== inputs.length) {
    const given = `${args.length} ${args.length === 1 ? 'is' : 'are'} given`
    throw badRequest([...place, 'args'], `must have ${inputs.length} members for ${signatureOf(entry)}; ${given}`)
  }
  const values = inputs.map((type, index) => abiValue(type, args[index], [...place, 'args', index]))
  return {
    data: `${entry.selector}${encodeAbi(inputs, values)}`,
    fragments: keptFragments([entry, ...errorsIn(abi ?? [])]),
  }
}

/** For example `transfer(address,uint256)`. */
const signatureOf = (entry: FunctionFragment | ErrorFragment): string => entry.format('sighash')

const isBareName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text)

function functionAlone(wanted: string): FunctionFragment {
  const text = wanted.trim().replace(/^function\s+/, '')
  if (isBareName(text))
    throw badRequest(
      [...place, 'function'],
      'must have the types of its arguments, for example transfer(address,uint256)',
    )
  return readAbiEntry(`function ${text}`, [...place, 'function']) as FunctionFragment
}

function functionIn(abi: NonNullable<ContractCall['abi']>, wanted: string): FunctionFragment {
  const text = wanted.trim().replace(/^function\s+/, '')
  const [name = ''] = text.split('(')
  const named = entriesOf(abi, 'function', name) as FunctionFragment[]
  const signature = isBareName(text) ? undefined : signatureOf(functionAlone(text))
  const found = signature === undefined ? named : named.filter((entry) => signatureOf(entry) === signature)
  const [first] = found
  if (first && new Set(found.map(signatureOf)).size === 1) return first
  const there = [...new Set(named.map(signatureOf))].slice(0, maxListed).join(', ')
  throw badRequest(
    [...place, 'function'],
    named.length === 0 ? `is not in the ABI: it has no function ${name}` : `must be one of ${there}`,
  )
}

const errorsIn = (abi: NonNullable<ContractCall['abi']>): ErrorFragment[] => entriesOf(abi, 'error') as ErrorFragment[]

/** Parses only the first entries of this kind and name. */
function entriesOf(abi: NonNullable<ContractCall['abi']>, kind: 'function' | 'error', name?: string): Fragment[] {
  const entries: Fragment[] = []
  let types = 0
  for (const [index, entry] of abi.entries()) {
    const its = headOf(entry)
    if (its.kind !== kind || (name !== undefined && its.name !== name)) continue
    types += sizeOf(entry).types
    if (entries.length >= maxEntries || types > maxTypes) break
    entries.push(readAbiEntry(entry, [...place, 'abi', index]))
  }
  return entries
}

function headOf(entry: AbiEntry): { kind: unknown; name: unknown } {
  if (typeof entry !== 'string') return { kind: entry.type, name: entry.name }
  const [, kind, name] = /^\s*(function|error)\s+([A-Za-z_$][\w$]*)/.exec(entry) ?? []
  return { kind, name }
}

/**
 * A JSON value as the ABI type wants it. ethers takes any value that is true for a boolean and any value as a string, so every value is
 * checked here. Integers are decimal strings, or JSON numbers below 2^53. Throws DomainError with the path of the value.
 */
export function abiValue(type: ParamType, value: unknown, field: Field): unknown {
  if (type.isArray()) return arrayValue(type, value, field)
  if (type.isTuple()) return tupleValue(type, value, field)
  const { type: name } = type
  if (/^u?int/.test(name)) return integerValue(name, value, field)
  if (name === 'address') {
    if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value))
      throw badRequest(field, 'must be an address: 0x and 40 hexadecimal digits')
    return readAddress(value, field)
  }
  if (name === 'bool') {
    if (typeof value !== 'boolean') throw badRequest(field, 'must be true or false')
    return value
  }
  if (name === 'string') {
    if (typeof value !== 'string' || !value.isWellFormed()) throw badRequest(field, 'must be a string')
    return value
  }
  const size = /^bytes(\d*)$/.exec(name)?.[1]
  if (size === undefined) throw badRequest(field, `has the type ${name}, which is not supported`)
  const isBytes = typeof value === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(value)
  if (!isBytes || (size !== '' && value.length !== 2 + 2 * Number(size))) {
    const length = size === '' ? 'whole bytes of hex' : `${2 * Number(size)} hexadecimal digits`
    throw badRequest(field, `must be ${name}: 0x and ${length}`)
  }
  return value
}

function arrayValue({ type, arrayLength, arrayChildren }: ParamType, value: unknown, field: Field): unknown[] {
  if (!Array.isArray(value)) throw badRequest(field, `must be an array for ${type}`)
  if (arrayLength !== null && arrayLength !== -1 && value.length !== arrayLength)
    throw badRequest(field, `must have ${arrayLength} members for ${type}; it has ${value.length}`)
  return value.map((member, index) => abiValue(arrayChildren as ParamType, member, [...field, index]))
}

/** An array in the order of the components, or an object with exactly their names. */
function tupleValue({ components, type }: ParamType, value: unknown, field: Field): unknown[] {
  const parts = components ?? []
  if (Array.isArray(value)) {
    if (value.length !== parts.length)
      throw badRequest(field, `must have ${parts.length} members for ${type}; it has ${value.length}`)
    return parts.map((part, index) => abiValue(part, value[index], [...field, index]))
  }
  const names = parts.map(({ name }) => name)
  const isNamed = names.every((name) => name !== '') && new Set(names).size === names.length
  const isObject = typeof value === 'object' && value !== null
  const hasAll =
    isObject && Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name))
  if (!isNamed || !hasAll) {
    const form = isNamed ? `, or an object with the members ${names.join(', ')}` : ''
    throw badRequest(field, `must be an array of ${parts.length} members${form}`)
  }
  return parts.map((part) => abiValue(part, (value as Record<string, unknown>)[part.name], [...field, part.name]))
}

function integerValue(name: string, value: unknown, field: Field): bigint {
  const isText =
    typeof value === 'string' && /^-?(?:\d{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value) && !value.startsWith('-0x')
  if (!isText && !Number.isSafeInteger(value))
    throw badRequest(field, `must be ${name}: a whole number as a string, for example "1000000000000000"`)
  const integer = BigInt(value as string | number)
  const isSigned = name.startsWith('int')
  const bits = BigInt(name.replace(/^u?int/, '') || 256)
  const [lowest, highest] = isSigned ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n]
  if (integer < lowest || integer > highest) throw badRequest(field, `must be ${name}: from ${lowest} to ${highest}`)
  return integer
}
