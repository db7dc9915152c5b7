import { expect, test } from 'vitest'
import { Proof } from '../../server/domain/proof.ts'
import {
  afterHead,
  askedSubmission,
  isDueToPublish,
  isPrivate,
  isSecret,
  type PrivateSubmission,
  readSubmission,
  replacedSubmission,
} from '../../server/domain/submission.ts'
import { failing } from '../support/failure.ts'

const now = Date.parse('2026-01-31T12:00:00.000Z')
const later = '2026-01-31T12:00:00.000Z'
const secret: PrivateSubmission = { mode: 'private', after_blocks: null, from_block: null, public_since: null }
const counting: PrivateSubmission = { ...secret, mode: 'private_then_public', after_blocks: 5, from_block: 100 }
const released: PrivateSubmission = { ...counting, public_since: later }
const relays = {
  private_rpc_urls: [
    { url: 'http://127.0.0.1:1', method: 'eth_sendRawTransaction' as const, private_expiry_blocks: 25 },
  ],
}

test('tells private transactions from public ones, and secret hashes from those in a block', () => {
  const rows = [null, secret, counting, released].map((submission) => ({ submission, block_hash: null }))
  expect(rows.map(isPrivate)).toEqual([false, true, true, false])
  expect(rows.map(isSecret)).toEqual([false, true, true, false])
  expect(isSecret({ submission: secret, block_hash: '0x1' })).toBe(false)
})

test.each([
  [{ mode: 'public' }, relays, null],
  [{ mode: 'private' }, relays, secret],
  [{ mode: 'private_then_public', after_blocks: 5 }, relays, { ...counting, from_block: null }],
  [{ mode: 'private' }, { private_rpc_urls: [] }, '/body/submission/mode'],
] as const)('reads %j', (given, network, expected) => {
  const read = () => readSubmission(given, network as typeof relays)
  if (typeof expected === 'string')
    expect(failing(read)).toThrow(expect.objectContaining({ details: [expect.objectContaining({ path: expected })] }))
  else expect(read()).toEqual(expected)
})

test.each([
  ['nothing asked', secret, undefined, true, secret],
  ['public stays public', null, null, true, null],
  ['unsigned, it may become private', null, secret, false, secret],
  ['unsigned, it may become public without a trace', secret, null, false, null],
  ['signed and public, it stays public', null, secret, true, '/body/submission/mode'],
  ['released, it stays public', released, secret, true, '/body/submission/mode'],
  ['released, public changes nothing', released, null, true, released],
  ['signed and private, public releases it', secret, null, true, { ...secret, mode: 'public', public_since: later }],
  ['another mode counts from the first block', counting, secret, true, { ...secret, from_block: 100 }],
] as const)('replaces: %s', (_name, submission, asked, isSigned, expected) => {
  const replace = () => replacedSubmission({ submission }, asked, { isSigned, now })
  if (typeof expected === 'string')
    expect(failing(replace)).toThrow(
      expect.objectContaining({ details: [expect.objectContaining({ path: expected })] }),
    )
  else expect(replace()).toEqual(expected)
})

test.each([
  ['public', null, 1_000, false],
  ['private', secret, 1_000, false],
  ['not counted yet', { ...counting, from_block: null }, 1, true],
  ['too early', counting, 104, false],
  ['in time', counting, 105, true],
  ['released', released, 1_000, false],
])('looks at the height: %s', (_name, submission, head, expected) => {
  expect(isDueToPublish({ submission }, head)).toBe(expected)
})

test.each([
  ['the count begins', { ...counting, from_block: null }, 100, counting],
  ['a lower proven height releases nothing', counting, 104, undefined],
  ['released', counting, 105, released],
])('after a proven height: %s', (_name, submission, head, expected) => {
  expect(afterHead(submission, new Proof({ head }), now)).toEqual(expected)
})

const submissionOf = (more: Partial<PrivateSubmission>) =>
  ({ mode: 'private', after_blocks: null, from_block: null, public_since: null, ...more }) as PrivateSubmission

test.each<[string, PrivateSubmission | null, unknown]>([
  ['a public one', null, { mode: 'public' }],
  ['a private one', submissionOf({}), { mode: 'private' }],
  [
    'one that becomes public later',
    submissionOf({ mode: 'private_then_public', after_blocks: 3 }),
    { mode: 'private_then_public', after_blocks: 3 },
  ],
  [
    'one that was published',
    submissionOf({ mode: 'public', public_since: '2026-01-01T00:00:00.000Z' }),
    { mode: 'public' },
  ],
  [
    'one that has become public',
    submissionOf({
      mode: 'private_then_public',
      after_blocks: 3,
      from_block: 7,
      public_since: '2026-01-01T00:00:00.000Z',
    }),
    { mode: 'public' },
  ],
])('asks for the same way when a transaction moves: %s', (_, submission, asked) => {
  expect(askedSubmission(submission)).toEqual(asked)
})
