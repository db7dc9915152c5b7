import { expect, test } from 'vitest'
import { noteOf } from '../../client/console/data/note.ts'

const errorOf = (code: string) => ({ code, message: 'The whole message.', revert_data: null })
const first = 'nonce 1234 comes first (transaction 0198c3a0-0000-7000-8000-000000000000): the relayer is paused'

test.each([
  [`Waits: ${first}`, 'nonce 1234 first · order-7'],
  ['Waits: the policy max_fee_per_day (1000) leaves no room for its fee', 'fee limit · order-7'],
  ['Waits: the policy gas_price_cap (100) is below the base fee (200)', 'price cap · order-7'],
  ['Canceled by request; Waits: the relayer is paused', 'relayer paused · order-7'],
  ['Waits: no endpoint answers', 'no endpoint answers · order-7'],
  [null, 'order-7'],
])('puts the reason to wait before the reference, in a few words: %s', (status_reason, text) => {
  expect(noteOf({ status: 'submitted', status_reason, error: null, reference: 'order-7' }).text).toBe(text)
})

test('names the kind of a failure before the reference, and the whole reason where it has none', () => {
  const its = {
    status: 'failed' as const,
    status_reason: 'Reverted: Denied(needed: 1000000)',
    error: errorOf('reverted'),
  }
  const whole = 'Reverted: Denied(needed: 1,000,000)'
  expect(noteOf({ ...its, reference: 'order-7' })).toEqual({ text: 'reverted · order-7', whole: `${whole} · order-7` })
  expect(noteOf({ ...its, reference: null })).toEqual({ text: whole, whole })
  expect(noteOf({ ...its, error: errorOf('other'), reference: null }).text).toBe(whole)
})

test('is empty without a reason and a reference', () => {
  const none = { status: 'confirmed' as const, status_reason: null, error: null, reference: null }
  expect(noteOf(none)).toEqual({ text: '', whole: '' })
})
