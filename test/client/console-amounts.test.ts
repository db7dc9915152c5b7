import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exactly, fixed, shortCount, weiOf } from '../../client/console/data/format.ts'

test.each([
  ['0', 18, '0'],
  ['1', 18, '0.000000000000000001'],
  ['1500000000000000000', 18, '1.5'],
  ['100000000000000000000', 18, '100'],
  ['3000000001', 9, '3.000000001'],
])('shows %s wei with %i digits as %s', (wei, digits, shown) => {
  expect(exactly(wei, digits)).toBe(shown)
})

test('keeps an unchanged amount of a form exact', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.constantFrom(9, 18), (wei, digits) => {
      expect(weiOf(exactly(wei.toString(), digits), digits)).toBe(wei.toString())
    }),
  )
})

test.each([
  ['0', 18, '0.000000 ETH'],
  ['1', 18, '< 0.000001 ETH'],
  ['1234567890000000000000', 18, '1,234.567890 ETH'],
  ['999999999999', 6, '999,999.999999 ETH'],
  ['1999999999999', 6, '1.999M ETH'],
  ['1000000000000000000000000000000', 18, '1T ETH'],
  ['5', 0, '5.000000 ETH'],
])('shows %s of a unit with %i digits in a column as %s', (units, digits, shown) => {
  expect(fixed(units, 'ETH', 6, digits)).toBe(shown)
})

test('groups the digits of a count, and shortens one from a billion on', () => {
  expect([1_234_567n, 999_999_999n, 10n ** 12n].map(shortCount)).toEqual(['1,234,567', '999,999,999', '1T'])
})
