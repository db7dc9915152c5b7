import { expect, test } from 'vitest'
import { runsOf } from '../../client/console/transactions/signed-versions.ts'
import type { TransactionAttempt } from '../../client/index.ts'

const sent = { purpose: 'send', accepted_at: '2026-01-01T00:00:00.000Z', refusal_message: null, is_mined: false }
const refused = { ...sent, accepted_at: null, refusal_message: 'fee too low' }
const mined = { ...sent, is_mined: true }
const canceled = { ...sent, purpose: 'cancel' }

test.each([
  ['few alone', [sent, sent, sent], [1, 1, 1]],
  ['those between the first and the newest together', [sent, sent, sent, sent, sent], [1, 3, 1]],
  ['less than three alone', [sent, sent, sent, sent], [1, 1, 1, 1]],
  ['others apart', [sent, sent, sent, sent, refused, refused, refused, sent], [1, 3, 3, 1]],
  ['the mined one alone', [sent, sent, sent, sent, mined, sent, sent, sent, sent], [1, 3, 1, 3, 1]],
  ['cancellations apart', [sent, sent, sent, sent, canceled, canceled, canceled, canceled], [1, 3, 3, 1]],
] as const)('shows versions of one outcome: %s', (_, attempts, lengths) => {
  const numbered = attempts.map((its, index) => ({ ...its, number: index + 1 }) as TransactionAttempt)
  const runs = runsOf(numbered)
  expect(runs.map(({ length }) => length)).toEqual(lengths)
  expect(runs.flat()).toEqual(numbered)
})
