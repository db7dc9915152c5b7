import { expect, test } from 'vitest'
import { transactionNote } from '../../client/console/transactions/transaction-note.ts'

const errorOf = (code: string) => ({ code, message: 'The whole message.', revert_data: null })
const none = { status: 'submitted' as const, status_reason: null, wait_reason: null, error: null, reference: null }

test.each([
  [{ status_reason: 'Waits: the relayer is paused', wait_reason: 'paused' as const }, 'paused · order-7'],
  [{ status_reason: 'Canceled by request; Waits: no node answers', wait_reason: 'node' as const }, 'node · order-7'],
  [{ status_reason: 'Canceled by request' }, 'Canceled by request · order-7'],
  [{}, 'order-7'],
])('puts what it waits for before the reference: %s', (its, text) => {
  expect(transactionNote({ ...none, ...its, reference: 'order-7' }, 'POL').text).toBe(text)
})

test('names the kind of a failure before the reference, and the whole reason where it has none', () => {
  const its = {
    status: 'failed' as const,
    status_reason: 'Reverted: Denied(needed: 1000000)',
    error: errorOf('reverted'),
  }
  const whole = 'Reverted: Denied(needed: 1,000,000)'
  const note = (more: object) => transactionNote({ ...none, ...its, ...more }, 'POL')
  expect(note({ reference: 'order-7' })).toEqual({ text: 'reverted · order-7', whole: `${whole} · order-7` })
  expect(note({})).toEqual({ text: whole, whole })
  expect(note({ error: errorOf('other') }).text).toBe(whole)
})

test('has amounts in the unit of the network, and is empty without a reason and a reference', () => {
  const statusReason = 'Waits: the balance is 1500000000000000000 wei'
  const { whole } = transactionNote({ ...none, status_reason: statusReason, wait_reason: 'funds' }, 'POL')
  expect(whole).toBe('Waits: the balance is 1.5 POL')
  expect(transactionNote(none, 'POL')).toEqual({ text: '', whole: '' })
})
