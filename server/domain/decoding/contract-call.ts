import type { ErrorFragment, Fragment, FunctionFragment } from 'ethers/abi'
import type { ContractCall } from '../../../generated/openapi.ts'
import { badRequest } from '../errors.ts'
import { type AbiEntry, encodeAbi, keptFragments, readAbiEntry, sizeOf } from './abi.ts'
import { abiValue } from './abi-values.ts'

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
