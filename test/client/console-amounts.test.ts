import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exactly, faultOfAmount, fixed, gwei, shortCount, weiOf, wide } from '../../client/console/data/format.ts'

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
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.constantFrom(0, 6, 9, 18), (wei, digits) => {
      expect(weiOf(exactly(wei.toString(), digits), digits)).toBe(wei.toString())
    }),
  )
})

test.each([
  ['0', 18, '0 ETH'],
  ['1', 18, '< 0.000001 ETH'],
  ['1234567890000000000000', 18, '1,234.567890 ETH'],
  ['999999999999', 6, '999,999.999999 ETH'],
  ['1999999999999', 6, '1.999M ETH'],
  ['1000000000000000000000000000000', 18, '1T ETH'],
  ['5', 0, '5.000000 ETH'],
])('shows %s of a unit with %i digits in a column as %s', (units, digits, shown) => {
  expect(fixed(units, 'ETH', 6, digits)).toBe(shown)
})

test('shows all digits before the point where there is room, up to 15', () => {
  const shown = ['0', '1500000', '1000000000000000000', '1000000000000000000000'].map((units) =>
    wide(units, 'CNT', 6, 6),
  )
  expect(shown).toEqual(['0 CNT', '1.500000 CNT', '1,000,000,000,000 CNT', '1000T CNT'])
})

test.each([
  [null, 'unknown'],
  ['0', '0'],
  ['1', '0.000000001'],
  ['1234567', '0.001234'],
  ['1234567890', '1.234'],
  ['350000000000', '350'],
  ['3543183000000', '3,543'],
  ['123456789000000', '123,456'],
])('shows a price of %s wei as %s gwei', (wei, shown) => {
  expect(gwei(wei)).toBe(shown)
})

test('groups the digits of a count, and shortens one from a billion on', () => {
  expect([1_234_567n, 999_999_999n, 10n ** 12n].map(shortCount)).toEqual(['1,234,567', '999,999,999', '1T'])
})

test.each([
  ['1.5', 18, undefined],
  ['0.000001', 6, undefined],
  ['0.0000001', 6, 'Enter at most 6 digits after the point: CNT has no more.'],
  ['1,000', 6, 'Enter an amount in CNT, such as 0.05.'],
  ['-1', 6, 'Enter an amount in CNT, such as 0.05.'],
  ['12', 0, undefined],
  ['1.5', 0, 'Enter a whole number of CNT, such as 5.'],
])('says of %s with %i digits what is wrong: %s', (text, digits, fault) => {
  expect(faultOfAmount(text, 'CNT', digits)).toBe(fault)
})
