import { expect, test } from 'vitest'
import { feesText } from '../../client/console/transactions/fee-totals.ts'

test.each([
  [['1000000000000000000', '500000000000000000'], '1.5 POL'],
  [['1000000000000000000', null, null], '1 POL and 2 unknown'],
  [[null, null], 'unknown'],
  [['0'], '0 POL'],
])('adds up the fees that are known, and counts the others: %j', (fees, text) =>
  expect(feesText(fees, 'POL')).toBe(text),
)
