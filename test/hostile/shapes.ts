import { RLP } from '@ethereumjs/rlp'
import { type ContractOperation, resolve, type Schema } from '../support/contract.ts'

/** The maximum size of a body, less some room for the rest of the body. */
export const size = 1024 * 1024 - 4_096

const fill = (unit: string, before = '', after = '') =>
  before + unit.repeat(Math.floor((size - before.length - after.length) / unit.length)) + after
const listOf = (unit: string) => `${fill(`${unit},`, '[')}${unit}]`.slice(0, size + 1_000)

/** JSON that is costly for the parser, the patterns, the check for duplicates, or the list of errors. */
const values: Record<string, string> = {
  'a long string': fill('a', '"', '"'),
  'a long hex string': fill('ab', '"0x', '"'),
  'a string of escapes': fill('\\u0041', '"', '"'),
  'a number of 1e6 digits': fill('1'),
  'digits as a string': fill('1', '"', '"'),
  'a list of numbers': listOf('1'),
  'a list of long numbers': listOf('12345678901234567890'),
  'a list of equal strings': listOf('"a"'),
  'a list of distinct strings': `[${Array.from({ length: 100_000 }, (_, index) => `"${index}"`)}]`,
  'a list of objects': listOf('{"a":1}'),
  'a list of lists': listOf('[]'),
  'many properties': `{${Array.from({ length: 80_000 }, (_, index) => `"${index}a":1`)}}`,
  'deep lists': '['.repeat(size / 2) + ']'.repeat(size / 2),
  'deep objects': `${'{"a":'.repeat(size / 7)}1${'}'.repeat(size / 7)}`,
}

export interface Body {
  name: string
  text: string
}

/** Each value as the whole body, and in the place of each property that the operation's body may have; and the worst known for it. */
export function* bodiesOf(operation: ContractOperation): Generator<Body> {
  for (const [name, value] of Object.entries(values)) yield { name, text: value }
  const example = (operation.examples[0] ?? {}) as Record<string, unknown>
  const properties = propertiesOf(Object.values(operation.bodies)[0] ?? {})
  for (const property of properties) {
    const { [property]: _, ...others } = example
    const rest = JSON.stringify(others).slice(1, -1)
    for (const [name, value] of Object.entries(values)) {
      yield { name: `${property}: ${name}`, text: `{${rest}${rest === '' ? '' : ','}"${property}":${value}}` }
    }
  }
  yield* (worst[operation.id] ?? []).map(({ name, body }) => ({ name, text: JSON.stringify(body) }))
}

/** An unsigned transaction of type 1 with this access list. */
const accessing = (entries: [address: Buffer, keys: Buffer[]][]) => ({
  unsigned_transaction: `0x01${Buffer.from(RLP.encode([31_337, 0, 1, 21_000, '', 0, '0x00', entries])).toString('hex')}`,
})
const address = Buffer.alloc(20, 1)
const keys = (count: number) => Array.from({ length: count }, () => Buffer.alloc(32, 1))
/** Typed data with the maximum number of values. */
const typedData = (type: string, value: unknown) => ({
  types: { All: [{ name: 'all', type: `${type}[]` }] },
  primaryType: 'All',
  domain: {},
  message: { all: Array.from({ length: 4_900 }, () => value) },
})

const worst: Record<string, { name: string; body: unknown }[]> = {
  signMessage: [{ name: 'quotes', body: { message: '"'.repeat(size / 2) } }],
  signTransaction: [
    { name: 'a flat RLP list', body: { unsigned_transaction: `0xfa07f000${'01'.repeat(0x07f000)}` } },
    { name: 'an RLP list of lists', body: { unsigned_transaction: `0xfa07f000${'c0'.repeat(0x07f000)}` } },
    { name: 'an access list of one address', body: accessing([[address, keys(9_980)]]) },
    { name: 'an access list of addresses', body: accessing(Array.from({ length: 2_490 }, () => [address, keys(1)])) },
  ],
  signTypedData: [
    { name: 'integers', body: typedData('uint256', '9'.repeat(77)) },
    { name: 'addresses', body: typedData('address', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266') },
    { name: 'texts', body: typedData('string', 'x'.repeat(200)) },
  ],
}

function propertiesOf(schema: Schema): Set<string> {
  const { properties = {}, oneOf = [], anyOf = [] } = resolve(schema) as Record<string, never>
  const inner = [...(oneOf as Schema[]), ...(anyOf as Schema[])]
  return new Set([...Object.keys(properties), ...inner.flatMap((part) => [...propertiesOf(part)])])
}
