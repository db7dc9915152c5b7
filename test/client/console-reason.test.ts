import { expect, test } from 'vitest'
import { briefReason } from '../../client/console/transactions/brief-reason.ts'
import type { TransactionErrorCode } from '../../client/index.ts'

const errorOf = (code: TransactionErrorCode) => ({ code, message: 'The whole message.', revert_data: null })
const none = { status: 'submitted' as const, status_reason: null, wait_reason: null, error: null }

test.each([
  [{ status_reason: 'Waits: the relayer is paused', wait_reason: 'paused' as const }, 'paused'],
  [{ status_reason: 'Canceled by request; Waits: no node answers', wait_reason: 'node' as const }, 'node'],
  [{ status_reason: 'Canceled by request' }, 'Canceled by request'],
  [{}, undefined],
])('says briefly what a transaction waits for: %s', (its, text) =>
  expect(briefReason({ ...none, ...its }, 'POL')?.text).toBe(text),
)

test('names the kind of a failure, and says the whole reason where that is no known kind', () => {
  const its = { status: 'failed' as const, status_reason: 'Reverted: Denied(needed: 1000000)', wait_reason: null }
  const whole = 'Reverted: Denied(needed: 1,000,000)'
  const reason = (code: TransactionErrorCode) => briefReason({ ...its, error: errorOf(code) }, 'POL')
  expect(reason('reverted')).toEqual({ text: 'reverted', whole })
  expect(reason('other')).toEqual({ text: whole, whole })
})

test('has amounts in the unit of the network', () => {
  const statusReason = 'Waits: the balance is 1500000000000000000 wei'
  const reason = briefReason({ ...none, status_reason: statusReason, wait_reason: 'funds' }, 'POL')
  expect(reason?.whole).toBe('Waits: the balance is 1.5 POL')
})
