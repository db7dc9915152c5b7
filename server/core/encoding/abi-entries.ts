import { type ErrorFragment, Fragment, type FunctionFragment } from 'ethers/abi'
import { badRequest } from '../errors.ts'

/** An entry of an ABI: human-readable, or the object that compilers write. */
export type AbiEntry = string | Record<string, unknown>

/** The product of all fixed lengths of arrays in one entry: a decoder makes as many objects, whatever the data has. */
const max_fixed_members = 4_096
/** They are stored with the transaction. */
const max_fragments_length = 4_096

/** Parsing one takes up to 0.3 ms. `at`: its path in the request. Throws ApiError (400). */
export function readAbiEntry(entry: AbiEntry, at: string): Fragment {
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
  return read
}

/** As many of them as may be stored with a transaction, as human-readable ABI. A function comes first. */
export function keptFragments(entries: (FunctionFragment | ErrorFragment)[]): string[] {
  const texts = entries.map((entry) => entry.format('full'))
  let length = 0
  return texts.filter((text) => {
    length += text.length
    return length <= max_fragments_length
  })
}
