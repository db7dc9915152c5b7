import { expect, test } from 'vitest'
import { showUtc } from '../../client/console/data/times.ts'
import { type Filter, nothingFound } from '../../client/console/transactions/transaction-filter.ts'

showUtc(true)
// Times of this year are shown without it.
const year = new Date().getUTCFullYear()
const hash = `0x${'ab'.repeat(32)}`

test.each<[string, Filter, string, RegExp]>([
  ['all', { reference: 'order-7' }, 'No transaction has the reference “order-7”', /beginning finds/],
  ['failed', { status: ['failed'] }, 'No failed transaction', /another status, or show all/],
  ['withdrawn', { hash }, 'No canceled or expired transaction has the hash 0xabab…abab', /No relayer/],
  ['all', { nonce_from: 5, nonce_to: 5 }, 'No transaction has the nonce 5', /other nonces/],
  ['all', { nonce_from: 5, nonce_to: 9 }, 'No transaction has a nonce from 5 to 9', /other nonces/],
  ['all', { created_after: `${year}-01-31T00:00:00.000Z` }, 'No transaction since 31 Jan, 00:00', /longer period/],
  [
    'all',
    {
      created_after: `${year}-01-30T00:00:00.000Z`,
      created_before: `${year}-01-31T00:00:00.000Z`,
      reference: 'order-7',
    },
    'No transaction from 30 Jan, 00:00 to 31 Jan, 00:00 has the reference “order-7”',
    /beginning finds/,
  ],
  [
    'failed',
    { created_before: `${year}-01-31T00:00:00.000Z` },
    'No failed transaction before 31 Jan, 00:00',
    /status or a/,
  ],
])('names what was filtered by: %s %o', (group, filter, title, advice) => {
  const found = nothingFound(group, filter)
  expect(found.title).toBe(title)
  expect(found.advice).toMatch(advice)
})
