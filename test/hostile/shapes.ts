import type { ContractOperation, Schema } from '../support/contract.ts'
import { resolve } from '../support/contract.ts'

/** What a body may weigh, less some room for what is around. */
export const size = 1024 * 1024 - 4_096

const fill = (unit: string, before = '', after = '') =>
  before + unit.repeat(Math.floor((size - before.length - after.length) / unit.length)) + after
const listOf = (unit: string) => `${fill(`${unit},`, '[')}${unit}]`.slice(0, size + 1_000)

/** JSON that is a lot of work for somebody: the parser, the patterns, a check for duplicates, a list of mistakes. */
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

/** Each value as the whole body, and in the place of each property that the operation's body may have. */
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
}

function propertiesOf(schema: Schema): Set<string> {
  const { properties = {}, allOf = [], oneOf = [], anyOf = [] } = resolve(schema) as Record<string, never>
  const inner = [...(allOf as Schema[]), ...(oneOf as Schema[]), ...(anyOf as Schema[])]
  return new Set([...Object.keys(properties), ...inner.flatMap((part) => [...propertiesOf(part)])])
}
