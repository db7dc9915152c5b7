import { expect, test } from 'vitest'
import { cancelTo, lackOfChange, type PriceChangeFigures } from '../../client/console/transactions/change-figures.ts'

const signed: PriceChangeFigures = {
  operation: 'cancelTransaction',
  speed: 'fast',
  max_fee_per_gas: '2200000000',
  max_fee: '46200000000000',
  extra_fee: '4200000000000',
  is_mineable: true,
  reason: null,
  now: '2000000000',
  base_fee: '1000000000',
  allowed_max_fee_per_gas: null,
}
const unpriced = { ...signed, max_fee_per_gas: null, max_fee: null, extra_fee: null, is_mineable: null }

test.each<[string, Partial<PriceChangeFigures>, string | undefined]>([
  ['a price is shown', signed, undefined],
  ['a signed one is canceled at a price that no node tells', unpriced, 'No node tells its price now.'],
  ['one that was never signed is canceled', { ...unpriced, now: null }, undefined],
  [
    'it is sped up at a price that no node tells',
    { ...unpriced, operation: 'speedUpTransaction' },
    'No node tells its price now.',
  ],
  [
    'one that was never signed is sped up',
    { ...unpriced, operation: 'speedUpTransaction', now: null, is_mineable: false },
    'Nothing would be signed.',
  ],
])('says whether a change can be confirmed: %s', (_, its, lack) => {
  expect(lackOfChange({ ...signed, ...its })).toBe(lack)
})

test('sends the price that was confirmed as the ceiling', () => {
  expect(cancelTo(signed)).toEqual({ max_fee_per_gas: '2200000000' })
})
