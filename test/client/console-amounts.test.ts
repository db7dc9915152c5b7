import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exactly, weiOf } from '../../client/console/data/format.ts'

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
