import { ErrorFragment, Fragment, FunctionFragment, ParamType } from 'ethers/abi'
import type { DecodedCall } from '../../../generated/openapi.ts'
import { BoundedMap } from '../../lib/cache.ts'
import { printable } from '../../lib/printable.ts'
import { decodeAbi } from './abi.ts'

/** Longer data is not decoded: its arguments would double the size of every answer with it. */
const maxBytes = 4_096
const maxTextLength = 500
/** 0x and 4 bytes. */
const selectorLength = 10

type Named = FunctionFragment | ErrorFragment

/** Most transactions of a service call the same functions, and these share their errors. Fragments were bounded when they were stored. */
const parsed = new BoundedMap<string, Named | undefined>(1_000)

function parse(text: string): Named | undefined {
  try {
    const fragment = Fragment.from(text)
    return FunctionFragment.isFragment(fragment) || ErrorFragment.isFragment(fragment) ? fragment : undefined
  } catch {
    return undefined
  }
}

/** The entry that the data begins with, and its arguments; undefined when the ABI does not describe it. */
function decode(fragments: string[], type: 'function' | 'error', data: string) {
  if (data.length < selectorLength || data.length > 2 + 2 * maxBytes) return undefined
  const selector = data.slice(0, selectorLength)
  const found = fragments
    .map((text) => parsed.of(text, () => parse(text)))
    .find((fragment) => fragment?.type === type && fragment.selector === selector)
  try {
    return found && { found, args: decodeAbi(found.inputs, data.slice(selectorLength)) }
  } catch {
    return undefined
  }
}

/**
 * The call that the data (lower case) is, by human-readable ABI, with `args` as a request gives them; undefined when the ABI does not
 * describe it, or it is longer than 4,096 bytes.
 */
export function decodeCall(fragments: string[], data: string): DecodedCall | undefined {
  const call = decode(fragments, 'function', data)
  return call && { function: call.found.format('sighash'), args: call.args }
}

/** The column `call` of a transaction with this data. */
export const readCall = (fragments: string[] | null, data: string | null): DecodedCall | null =>
  (fragments && data && decodeCall(fragments, data)) || null

/** The custom error in revert data, for example `InsufficientBalance(have: 1, need: 2)`; undefined when the ABI does not describe it. */
export function decodeError(fragments: string[], data: string): string | undefined {
  const error = decode(fragments, 'error', data)
  if (!error) return undefined
  const { found, args } = error
  const texts = args.map((value, index) => {
    const { name } = found.inputs[index] as ParamType
    return `${name ? `${name}: ` : ''}${typeof value === 'string' ? value : JSON.stringify(value)}`
  })
  // Cut first: a cut pair of surrogates is no text.
  return printable(`${found.name}(${texts.join(', ')})`.slice(0, maxTextLength))
}

/** The errors that Solidity defines: Error(string) and Panic(uint256). */
type Revert = { error: string } | { panic: bigint }

const text = [ParamType.from('string')]
const code = [ParamType.from('uint256')]

/** Undefined for any other error, and for malformed ones. `hex`: lower case, with 0x. */
export function decodeRevert(hex: string): Revert | undefined {
  try {
    if (hex.startsWith('0x08c379a0')) return { error: decodeAbi(text, hex.slice(10))[0] as string }
    if (hex.startsWith('0x4e487b71')) return { panic: BigInt(decodeAbi(code, hex.slice(10))[0] as string) }
    return undefined
  } catch {
    return undefined
  }
}
