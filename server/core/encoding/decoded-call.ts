import { AbiCoder, Fragment, Interface, type ParamType, Result } from 'ethers/abi'
import type { DecodedCall } from '../../../generated/openapi.ts'
import { BoundedMap } from '../bounded-map.ts'
import { printable } from '../printable.ts'

/** Longer data is not decoded: its arguments would double the size of every answer with it. */
const max_bytes = 4_096
const max_text_length = 500
// Offsets in the data may lead to the same bytes again and again: a few bytes would then decode to millions of values.
AbiCoder._setDefaultMaxInflation(8)

/** Parsing a fragment takes up to 0.3 ms, most transactions of a service call the same functions, and these share their errors. */
const interfaces = new BoundedMap<string, Interface>(100)
const parsed = new BoundedMap<string, Fragment>(1_000)
const interfaceOf = (fragments: string[]): Interface =>
  interfaces.of(
    fragments.join('\n'),
    () => new Interface(fragments.map((text) => parsed.of(text, () => Fragment.from(text)))),
  )

/** The call that the data is, by human-readable ABI; undefined when the ABI does not describe it, or it is longer than 4,096 bytes. */
export function decodeCall(fragments: string[], data: string): DecodedCall | undefined {
  if (data.length > 2 + 2 * max_bytes) return undefined
  try {
    const found = interfaceOf(fragments).parseTransaction({ data })
    return found
      ? { function: found.fragment.format('sighash'), args: shown(found.args, found.fragment.inputs) }
      : undefined
  } catch {
    return undefined
  }
}

/** The custom error in revert data, for example `InsufficientBalance(have: 1, need: 2)`; undefined when the ABI does not describe it. */
export function decodeError(fragments: string[], data: string): string | undefined {
  try {
    const found = interfaceOf(fragments).parseError(data)
    if (!found) return undefined
    const args = shown(found.args, found.fragment.inputs).map((value, index) => {
      const { name } = found.fragment.inputs[index] as ParamType
      return `${name ? `${name}: ` : ''}${typeof value === 'string' ? value : JSON.stringify(value)}`
    })
    return printable(`${found.name}(${args.join(', ')})`).slice(0, max_text_length)
  } catch {
    return undefined
  }
}

/** As `args` of a request: integers as decimal strings, tuples and arrays as arrays, addresses and bytes in lower case hex. */
const shown = (values: Result, types: readonly ParamType[]): unknown[] =>
  types.map((type, index) => shownValue(values[index], type))

function shownValue(value: unknown, type: ParamType): unknown {
  if (value instanceof Result) {
    const { arrayChildren, components } = type
    const members = value.toArray()
    return members.map((member, index) => shownValue(member, (arrayChildren ?? components?.[index]) as ParamType))
  }
  if (typeof value === 'bigint') return value.toString()
  return type.type === 'string' || typeof value !== 'string' ? value : value.toLowerCase()
}
