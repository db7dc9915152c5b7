import { expect, test } from 'vitest'
import type { TransactionRow } from '../../server/domain/transaction-rows.ts'
import { chargeOf } from '../../server/store/queries/sponsorships.ts'

const sponsored = { sponsorship_row_id: 1, user: null, charge: '100', bucket: 0, holders: ['sponsorship 1'] }
const block = { block_hash: '0x1', receipt: { fee: '7' } }
const none = { block_hash: null, receipt: null }

// A call that was signed ends by a receipt, or by a proven foreign use of its nonce (domain/decide.ts), and counts in full until then.
test.each<[string, object, bigint]>([
  ['waits, and its nonce is uncertain', { status: 'submitted', wait_reason: 'uncertain_nonce', ...none }, 100n],
  ['waits for its receipt', { status: 'submitted', wait_reason: 'missing_receipt', ...none }, 100n],
  ['is mined, and may be reorganized', { status: 'mined', ...block }, 100n],
  ['is confirmed', { status: 'confirmed', ...block }, 7n],
  ['was mined, and failed', { status: 'failed', ...block }, 7n],
  ['was mined, and its fee is not known', { status: 'confirmed', ...block, receipt: null }, 100n],
  ['was canceled by a mined transfer', { status: 'canceled', ...block }, 7n],
  ['ended outside of a block', { status: 'failed', ...none }, 0n],
])('a sponsored call that %s counts what it can cost', (_name, row, charge) => {
  expect(chargeOf({ sponsored, ...row } as unknown as TransactionRow)).toBe(charge)
})
