import { expect, test } from 'vitest'
import { csvCell, sentence, short, visible, withGroups } from '../../client/console/data/format.ts'

test.each([
  ['connect ECONNREFUSED 127.0.0.1:18548', 'connect ECONNREFUSED 127.0.0.1:18548'],
  ['(http://127.0.0.1:18548)', '(http://127.0.0.1:18548)'],
  ['node (ECONNREFUSED 127.0.0.1:18548), and another', 'node (ECONNREFUSED 127.0.0.1:18548), and another'],
  ['Denied(needed: 1000000, 20000)', 'Denied(needed: 1,000,000, 20,000)'],
  ['It is in block 1110', 'It is in block 1,110'],
  ['have 1000000 want 2000000', 'have 1,000,000 want 2,000,000'],
])('groups the digits of numbers only: %s', (text, shown) => expect(withGroups(text)).toBe(shown))

test.each([
  ['http://127.0.0.1:8545: connection refused', 'http://127.0.0.1:8545: connection refused.'],
  ['payouts-eu-1 has no funds', 'payouts-eu-1 has no funds.'],
  ['gas_limit is too low', 'gas_limit is too low.'],
  ['the balance is 0', 'The balance is 0.'],
  ['unreachable: all nodes', 'Unreachable: all nodes.'],
])('capitalizes words only: %s', (text, shown) => expect(sentence(text)).toBe(shown))

test('shortens no two values to the same text', () => {
  const [own, twin] = [`0x1234${'a'.repeat(32)}abcd`, `0x1234${'b'.repeat(32)}abcd`]
  expect(short(own)).toBe('0x1234…abcd')
  expect(short(twin)).not.toBe(short(own))
  expect([short(own), short(own.toUpperCase().replace('0X', '0x')).toLowerCase()]).toEqual([
    '0x1234…abcd',
    '0x1234…abcd',
  ])
})

test('makes characters visible that turn a text around or are not seen', () => {
  expect(visible('pay\u202egnp\u2066.exe\u200b')).toBe('pay[U+202E]gnp[U+2066].exe[U+200B]')
  expect(visible('é – 中 😀')).toBe('é – 中 😀')
})

test.each([
  ['=SUM(1)', `"'=SUM(1)"`],
  ['a;=SUM(1)', `"a;'=SUM(1)"`],
  ['a\t+1\n@x', `"a\t'+1\n'@x"`],
  ['a, "-1"', `"a, ""'-1"""`],
  [' ＝SUM(1)', `" '＝SUM(1)"`],
  ['order-48', '"order-48"'],
  [48, '48'],
  [null, ''],
])('quotes each text of a file, and keeps it from being a formula after any separator: %j', (value, shown) =>
  expect(csvCell(value)).toBe(shown),
)
