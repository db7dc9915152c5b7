import { expect, test } from 'vitest'
import {
  cancelTo,
  changeIn,
  lackOfChange,
  type PriceChangeFigures,
} from '../../client/console/transactions/change-figures.ts'
import type { TransactionExplanation, TransactionOption } from '../../client/index.ts'

const priced: TransactionOption = {
  operation: 'cancelTransaction',
  speed: 'fast',
  max_fee_per_gas: '2200000000',
  max_fee: '46200000000000',
  extra_fee: '4200000000000',
  is_mineable: true,
  reason: null,
}
const unpriced = { ...priced, max_fee_per_gas: null, max_fee: null, extra_fee: null, is_mineable: null }
const nothing = { ...unpriced, is_mineable: false }

/** What the service says of a transaction. It names the prices of one that waits to be signed, too. */
const figuresOf = (
  status: TransactionExplanation['status'],
  change: TransactionOption,
): PriceChangeFigures | undefined => {
  const figures = { max_fee_per_gas: '2000000000', base_fee: '1000000000', allowed_max_fee_per_gas: null }
  return changeIn(
    { status, options: [change], figures } as TransactionExplanation,
    change.operation,
    change.speed as 'fast',
  )
}

test.each<[string, TransactionExplanation['status'], TransactionOption, string | undefined]>([
  ['a price is shown', 'submitted', priced, undefined],
  ['a signed one is canceled at a price that no node tells', 'submitted', unpriced, 'No node tells its price now.'],
  ['one that was never signed is canceled', 'pending', unpriced, undefined],
  [
    'it is sped up at a price that no node tells',
    'submitted',
    { ...unpriced, operation: 'speedUpTransaction' },
    'No node tells its price now.',
  ],
  [
    'one that was never signed is sped up',
    'pending',
    { ...nothing, operation: 'speedUpTransaction' },
    'Nothing would be signed.',
  ],
])('says whether a change can be confirmed: %s', (_, status, change, lack) => {
  expect(lackOfChange(figuresOf(status, change))).toBe(lack)
})

test('sends the price that was confirmed as the ceiling', () => {
  expect(cancelTo(figuresOf('submitted', priced))).toEqual({ max_fee_per_gas: '2200000000' })
})
