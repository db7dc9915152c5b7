import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ChainObservation,
  decide,
  type ReceiptView,
  type Step,
  type TransactionState,
} from '../../server/domain/decide.ts'
import { Proof } from '../../server/domain/proof.ts'
import { isFinal } from '../../server/domain/statuses.ts'

const now = 1_800_000_000_000
const hourMs = 3_600_000

const nowhere = { block_number: null, block_hash: null }
const common = {
  intent: 'send',
  resign: false,
  valid_until: undefined,
  tier: 'average',
  replaces_external: false,
} as const
const wanted = { ...common, nonce: 5, reprice_at: now + 60_000 }
/** With a node, not to be priced for another minute, its nonce the next one. */
const inFlight: TransactionState = { ...wanted, ...nowhere, status: 'submitted' }
const pending: TransactionState = { ...inFlight, status: 'pending', reprice_at: 0 }
/** In block 100. */
const mined: TransactionState = { ...inFlight, status: 'mined', block_number: 100, block_hash: '0xb100' }
const quiet = {
  receipt: undefined,
  quorum: undefined,
  replaced: undefined,
  reorganized: false,
  payable: true,
  paused: false,
  blocks: 2,
  end: 100,
  pooled: 0,
  is_silent: false,
}
/** The latest block is 101 and three confirmations are required, so a transaction in block 100 lacks one. */
const calm: ChainObservation = { ...quiet, now, head: 101, latest: 5, confirmations: 3 }
const seen: ReceiptView = { hash: '0xa1', block_number: 100, block_hash: '0xb100', succeeded: true, purpose: 'send' }
const transfer: ReceiptView = { ...seen, hash: '0xa2', purpose: 'cancel' }
const taken: Partial<ChainObservation> = { latest: 6 }
const deep: Partial<ChainObservation> = { latest: 6, head: 102 }

const rest: Step = { do: 'rest' }
const sign = (purpose: 'send' | 'cancel', slow: boolean): Step => ({ do: 'sign', purpose, slow })
type End = 'confirmed' | 'failed' | 'canceled' | 'expired'
const end = (status: End, by: ReceiptView): Step => ({ do: 'end', status, proof: new Proof(by) })
const note = (by: ReceiptView): Step => ({ do: 'note', seen: by })
const proven = (by: ReceiptView): Partial<ChainObservation> => ({
  ...deep,
  receipt: by,
  quorum: { is: 'proven', proof: new Proof(by) },
})

type Case = [title: string, transaction: TransactionState, sight: Partial<ChainObservation>, step: Step]
const decides = (cases: Case[]) =>
  test.each(cases)('%s', (_, transaction, sight, step) => {
    expect(decide(transaction, { ...calm, ...sight })).toEqual(step)
  })

describe('transactions to be sent', () => {
  decides([
    ['pending is signed', pending, {}, sign('send', false)],
    ['pending behind other nonces is signed too', { ...pending, nonce: 9 }, {}, sign('send', false)],
    ['pending with another intent is signed as a cancel', { ...pending, intent: 'cancel' }, {}, sign('cancel', false)],
    ['sent is broadcast', { ...inFlight, status: 'sent' }, {}, { do: 'broadcast' }],
    ['sent beyond what the nodes have room for rests', { ...inFlight, status: 'sent' }, { end: 5 }, rest],
    ['due beyond it too', { ...inFlight, status: 'sent', reprice_at: 0 }, { end: 5 }, rest],
    ['submitted rests', inFlight, {}, rest],
    ['what is to be signed anew is', { ...inFlight, resign: true }, {}, sign('send', false)],
    ['a replaced one of status sent also', { ...inFlight, status: 'sent', resign: true }, {}, sign('send', false)],
    ['canceled: signed anew as a cancel', { ...inFlight, intent: 'cancel', resign: true }, {}, sign('cancel', false)],
    ['expired on chain: as a cancel', { ...inFlight, intent: 'expire', resign: true }, {}, sign('cancel', false)],
    ['hopeless: as a cancel', { ...inFlight, intent: 'fail', resign: true }, {}, sign('cancel', false)],
    ['a cancel that is with a node rests', { ...inFlight, intent: 'cancel' }, {}, rest],
  ])
})

describe('higher prices', () => {
  const due = { ...inFlight, reprice_at: now }
  decides([
    ['not a moment early', { ...inFlight, reprice_at: now + 1 }, {}, rest],
    ['on time', due, {}, sign('send', true)],
    ['late', { ...inFlight, reprice_at: 0 }, {}, sign('send', true)],
    ['the whole interval of its tier ahead stands', { ...inFlight, reprice_at: now + 120_000 }, {}, rest],
    ['a later date is of another clock', { ...inFlight, reprice_at: now + 120_001 }, {}, sign('send', true)],
    ['of a faster tier too', { ...inFlight, tier: 'fastest', reprice_at: now + 15_001 }, {}, sign('send', true)],
    ['an absurd one also', { ...inFlight, reprice_at: now + 1_000 * hourMs }, {}, sign('send', true)],
    ['status sent pays more too', { ...due, status: 'sent' }, {}, sign('send', true)],
    ['a cancel pays more too', { ...due, intent: 'cancel' }, {}, sign('cancel', true)],
    ['behind a lower nonce it waits', { ...due, nonce: 6 }, {}, rest],
    ['behind one, status sent is priced by the market', { ...due, nonce: 6, status: 'sent' }, {}, sign('send', true)],
    ['the clock alone proves nothing: a block short', due, { blocks: 1 }, rest],
    ['nor does it for an unpayable one', due, { payable: false, blocks: 1 }, rest],
    ['a chain that stands still costs nothing', { ...due, reprice_at: 0 }, { blocks: 0 }, rest],
    ['blocks alone prove nothing either', { ...inFlight, reprice_at: now + 1 }, { blocks: 1_000 }, rest],
    ['the cheapest tier sees three blocks pass', { ...due, tier: 'safe_low' }, { blocks: 2 }, rest],
    ['the fastest one', { ...due, tier: 'fastest' }, { blocks: 1 }, sign('send', true)],
    ['status sent waits for no block', { ...due, status: 'sent' }, { blocks: 0 }, sign('send', true)],
    ['behind one, unpayable is priced', { ...due, nonce: 6 }, { payable: false }, sign('send', true)],
    ['unpayable is not priced early', inFlight, { payable: false }, rest],
    ['what is wanted anew comes before', { ...due, resign: true }, {}, sign('send', false)],
  ])
})

describe('the pool', () => {
  const silent = { is_silent: true, blocks: 0 }
  decides([
    ['another sender has its nonce: it waits', pending, { pooled: 6 }, { do: 'yield' }],
    ['at a lower nonce: it is signed', pending, { pooled: 5 }, sign('send', false)],
    ['the caller outbids that one', { ...pending, replaces_external: true }, { pooled: 6 }, sign('send', false)],
    ['a nonce that was signed is ours', { ...inFlight, status: 'sent' }, { pooled: 6 }, { do: 'broadcast' }],
    ['no block in its time: is it still there?', inFlight, silent, { do: 'look' }],
    ['behind a lower nonce not', { ...inFlight, nonce: 6 }, silent, rest],
    ['while paused not', inFlight, { ...silent, paused: true }, rest],
    ['with blocks it is priced', { ...inFlight, reprice_at: now }, { is_silent: true }, sign('send', true)],
  ])
})

describe('pauses and time limits', () => {
  const late = { valid_until: now }
  decides([
    ['paused: pending rests', pending, { paused: true }, rest],
    ['paused: sent rests', { ...inFlight, status: 'sent' }, { paused: true }, rest],
    ['paused: due rests', { ...inFlight, reprice_at: 0 }, { paused: true }, rest],
    ['paused: a cancel rests', { ...inFlight, intent: 'cancel', resign: true }, { paused: true }, rest],
    ['paused: a receipt counts', inFlight, { paused: true, ...proven(seen) }, end('confirmed', seen)],
    ['its last moment', { ...pending, valid_until: now + 1 }, {}, sign('send', false)],
    ['out of time: pending', { ...pending, ...late }, {}, { do: 'withdraw' }],
    ['out of time: sent', { ...inFlight, ...late, status: 'sent' }, {}, { do: 'withdraw' }],
    ['out of time: submitted', { ...inFlight, ...late }, {}, { do: 'withdraw' }],
    ['out of time while paused', { ...inFlight, ...late }, { paused: true }, { do: 'withdraw' }],
    ['withdrawn already', { ...inFlight, ...late, intent: 'expire', resign: true }, {}, sign('cancel', false)],
    ['out of time in a block', { ...mined, ...late }, taken, rest],
    ['out of time, its nonce used', { ...inFlight, ...late }, taken, { do: 'ask' }],
  ])
})

describe('transactions on the chain', () => {
  decides([
    ['its nonce is used: ask', inFlight, taken, { do: 'ask' }],
    ['also of status sent', { ...inFlight, status: 'sent' }, taken, { do: 'ask' }],
    ['used by nothing of ours: trace', inFlight, { ...taken, receipt: null }, { do: 'trace' }],
    ['used before it was signed: trace', pending, taken, { do: 'trace' }],
    ['in a block that is not deep', inFlight, { ...taken, receipt: seen }, note(seen)],
    ['in the block that is known', mined, { ...taken, receipt: seen }, rest],
    ['in another block', { ...mined, block_hash: '0xb0' }, { ...taken, receipt: seen }, note(seen)],
    [
      'in the known block, at another height',
      { ...mined, block_number: 2_000 },
      { ...taken, receipt: seen },
      note(seen),
    ],
    ['above the head', inFlight, { ...taken, receipt: { ...seen, block_number: 102 } }, rest],
    ['mined and not deep is not asked for', mined, taken, rest],
    ['mined and deep is', mined, deep, { do: 'ask' }],
    ['mined after a reorganization is', mined, { ...taken, reorganized: true }, { do: 'ask' }],
    ['mined with its nonce open again is', mined, { latest: 5 }, { do: 'ask' }],
    ['its receipt is gone: the block is asked for', mined, { latest: 5, receipt: null }, { do: 'verify' }],
    ['its block was replaced', mined, { latest: 5, receipt: null, replaced: true }, { do: 'return' }],
    ['it was replaced and its nonce used', mined, { ...deep, receipt: null, replaced: true }, { do: 'return' }],
    ['its block is still there: the node lags', mined, { ...deep, receipt: null, replaced: false }, rest],
    ['a transfer of nothing in a block', inFlight, { ...taken, receipt: transfer }, note(transfer)],
  ])
})

describe('final states', () => {
  const failed = { ...seen, succeeded: false }
  decides([
    ['deep', mined, proven(seen), end('confirmed', seen)],
    ['deep when first seen', inFlight, proven(seen), end('confirmed', seen)],
    ['reverted', mined, proven(failed), end('failed', failed)],
    ['canceled', { ...inFlight, intent: 'cancel' }, proven(transfer), end('canceled', transfer)],
    ['expired', { ...inFlight, intent: 'expire' }, proven(transfer), end('expired', transfer)],
    ['hopeless', { ...inFlight, intent: 'fail' }, proven(transfer), end('failed', transfer)],
    ['the original was faster', { ...inFlight, intent: 'cancel' }, proven(seen), end('confirmed', seen)],
    ['and reverted', { ...inFlight, intent: 'expire' }, proven(failed), end('failed', failed)],
    ['by one node only: all are asked', mined, { ...deep, receipt: seen }, { do: 'prove' }],
    [
      'by one node only, less deep than before',
      mined,
      { ...deep, receipt: { ...seen, block_number: 102 } },
      { do: 'prove' },
    ],
    ['by most of all, less deep', mined, { ...deep, receipt: seen, quorum: { is: 'shallow' } }, rest],
    ['in another block', inFlight, { ...deep, receipt: seen, quorum: { is: 'shallow' } }, note(seen)],
    [
      'not by most of all: it waits',
      mined,
      { ...deep, receipt: seen, quorum: { is: 'disagreed' } },
      { do: 'doubt', seen },
    ],
    [
      'whose effect did not take place',
      mined,
      proven({ ...seen, outcome: 'missed' }),
      end('failed', { ...seen, outcome: 'missed' }),
    ],
    ['a filled gap', inFlight, proven(transfer), end('canceled', transfer)],
  ])

  test.each([
    [1, 100, 'prove'],
    [2, 100, 'rest'],
    [2, 101, 'prove'],
    [12, 110, 'rest'],
    [12, 111, 'prove'],
    [12, 99, 'rest'],
  ])('with %i confirmations and the head at %i: %s', (confirmations, head, step) => {
    expect(decide(mined, { ...calm, latest: 6, confirmations, head, receipt: seen }).do).toBe(step)
  })
})

const small = fc.integer({ min: 0, max: 12 })
const blockHash = fc.constantFrom('0xb0', '0xb1')
const time = fc.oneof(fc.integer({ min: -10, max: 10 }), fc.integer({ min: -10 * hourMs, max: 10 * hourMs }))
const anyStatus = fc.constantFrom(
  ...(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired'] as const),
)
const anyTransaction: fc.Arbitrary<TransactionState> = fc
  .record({
    status: anyStatus,
    intent: fc.constantFrom('send', 'cancel', 'expire', 'fail'),
    nonce: small,
    resign: fc.boolean(),
    valid_until: fc.option(time, { nil: undefined }),
    block: fc.option(fc.tuple(small, blockHash), { nil: undefined }),
    reprice_at: time,
    tier: fc.constantFrom('safe_low', 'average', 'fast', 'fastest'),
    replaces_external: fc.boolean(),
  })
  .map(({ block, ...rest }) => ({ ...rest, block_number: block?.[0] ?? null, block_hash: block?.[1] ?? null }))
const anySeen: fc.Arbitrary<ReceiptView> = fc.record({
  hash: fc.constant('0xa1'),
  block_number: small,
  block_hash: blockHash,
  succeeded: fc.boolean(),
  purpose: fc.constantFrom('send', 'cancel'),
})
const anySight: fc.Arbitrary<ChainObservation> = fc.record({
  now: fc.constant(0),
  head: small,
  latest: small,
  confirmations: fc.integer({ min: 1, max: 6 }),
  receipt: fc.oneof(fc.constant(undefined), fc.constant(null), anySeen),
  quorum: fc.oneof(
    fc.constant(undefined),
    fc.constant({ is: 'disagreed' } as const),
    fc.constant({ is: 'shallow' } as const),
    anySeen.map((fact) => ({ is: 'proven', proof: new Proof(fact) }) as const),
  ),
  replaced: fc.option(fc.boolean(), { nil: undefined }),
  reorganized: fc.boolean(),
  payable: fc.boolean(),
  blocks: fc.integer({ min: 0, max: 4 }),
  end: small,
  pooled: small,
  is_silent: fc.boolean(),
  paused: fc.boolean(),
})

const always = (holds: (transaction: TransactionState, sight: ChainObservation, step: Step) => void) =>
  fc.assert(
    fc.property(anyTransaction, anySight, (one, sight) => holds(one, sight, decide(one, sight))),
    {
      numRuns: 5_000,
    },
  )

describe('any combination of known observations', () => {
  test('signs and broadcasts nothing at a nonce that is used or in a block, or while paused', () =>
    always((transaction, { latest, paused }, step) => {
      if (step.do !== 'sign' && step.do !== 'broadcast') return
      expect(transaction.nonce).toBeGreaterThanOrEqual(latest)
      expect(transaction.block_hash).toBeNull()
      expect(paused).toBe(false)
    }))

  test('keeps final transactions final, and ends no other without a proof', () =>
    always(({ status }, { quorum }, step) => {
      if (isFinal(status)) expect(step).toEqual(rest)
      if (step.do !== 'end') return
      expect(quorum).toEqual({ is: 'proven', proof: step.proof })
      const { purpose, succeeded } = step.proof.fact
      expect(step.status === 'confirmed').toBe(purpose === 'send' && succeeded)
    }))

  test('decides the same for the same input, and does not change the input', () =>
    always((transaction, sight, step) => {
      const before = JSON.stringify([transaction, sight])
      expect(decide(transaction, sight)).toEqual(step)
      expect(JSON.stringify([transaction, sight])).toBe(before)
    }))
})
