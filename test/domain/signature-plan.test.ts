import { describe, expect, test } from 'vitest'
import type { RelayerPolicies } from '../../generated/openapi.ts'
import type { Market } from '../../server/domain/fees.ts'
import { planSignature, type SignaturePlan, type SigningFacts } from '../../server/domain/signature-plan.ts'
import type { AttemptRow, TransactionRow } from '../../server/domain/transaction-rows.ts'

const gwei = (amount: number) => `${BigInt(Math.round(amount * 10)) * 10n ** 8n}`
const legacy = (price: number) => ({
  gas_price: gwei(price),
  max_fee_per_gas: null,
  max_priority_fee_per_gas: null,
})
/** The tier `average` asks 5 % more. */
const market = (price: number): Market => ({ kind: 'legacy', gas_price: BigInt(gwei(price)) })

const row = {
  ...legacy(10),
  nonce: 5,
  type: 0,
  status: 'submitted',
  speed: null,
  data_fee: null,
  fee_ceiling: null,
  tip_ceiling: null,
  gas_limit: 21_000,
  value: '1000',
  is_sweep: false,
  resign: false,
} as Partial<TransactionRow> as TransactionRow

const content = { to: `0x${'11'.repeat(20)}`, value: 1_000n, data: null, gas_limit: 21_000 }
const attempt = (price: number, others: Partial<AttemptRow> = {}): AttemptRow =>
  ({
    ...legacy(price),
    number: 1,
    purpose: 'send',
    nonce: 5,
    gas_limit: 21_000,
    content_hash: 'another',
    taken_at: '2026-01-01T00:00:00.000Z',
    refusal_message: null,
    refusal_kind: null,
    ...others,
  }) as AttemptRow
const notTaken = { taken_at: null }

interface Case {
  row?: Partial<TransactionRow>
  facts?: Partial<SigningFacts>
  policies?: RelayerPolicies
  /** In gwei; absent: no node has told one. */
  market?: number
  is: string
}

/** What a plan says, in short. */
function told(plan: SignaturePlan | undefined): string {
  if (plan === undefined) return 'asks the market'
  if (plan.do === 'wait') return `waits: ${plan.wait.wait_reason}`
  if (plan.do === 'keep') return plan.again ? `keeps, and sends attempt ${plan.again.number} again` : 'keeps'
  const price = plan.prices.kind === 'legacy' ? plan.prices.gas_price : plan.prices.max_fee_per_gas
  return `signs ${plan.content.value} at ${Number(price) / 1e9} gwei`
}

const slow = true
const cases: Record<string, Case> = {
  'a new transaction at the prices of its acceptance, without the market': { is: 'signs 1000 at 10 gwei' },
  'a new one within the cap of the policies': { policies: { gas_price_cap: gwei(7) }, is: 'signs 1000 at 7 gwei' },
  'a slow one needs the market': { facts: { slow, attempts: [attempt(10)] }, is: 'asks the market' },
  'a slow one pays 10 % more than what a node has': {
    facts: { slow, attempts: [attempt(10)] },
    market: 8,
    is: 'signs 1000 at 11 gwei',
  },
  'or what the market asks, if that is more': {
    facts: { slow, attempts: [attempt(10)] },
    market: 20,
    is: 'signs 1000 at 21 gwei',
  },
  'one that no node has may become cheaper': {
    facts: { slow, attempts: [attempt(10, notTaken)] },
    row: { status: 'sent' },
    market: 2,
    is: 'signs 1000 at 2.1 gwei',
  },
  'nothing is signed at nearly the same price': {
    facts: { slow, attempts: [attempt(10, notTaken)] },
    row: { status: 'sent' },
    market: 9.5,
    is: 'keeps',
  },
  'the newest is sent again when a node has an older one': {
    facts: { slow, attempts: [attempt(8), attempt(10, { ...notTaken, number: 2 })] },
    market: 9.5,
    is: 'keeps, and sends attempt 2 again',
  },
  'a price that its caller gave is not exceeded': {
    facts: { slow, attempts: [attempt(10)] },
    row: { fee_ceiling: gwei(10) },
    market: 9,
    is: 'keeps',
  },
  'a replacement that its caller prices too low waits': {
    facts: { attempts: [attempt(10)] },
    row: { fee_ceiling: gwei(10), resign: true },
    market: 9,
    is: 'waits: replacement_underpriced',
  },
  'a cap leaves no room': {
    facts: { slow, attempts: [attempt(10)] },
    policies: { gas_price_cap: gwei(10) },
    market: 9,
    is: 'waits: price_cap',
  },
  'the fee of a transaction leaves no room': {
    facts: { slow, attempts: [attempt(10)] },
    policies: { max_fee_per_transaction: `${21_000n * BigInt(gwei(10))}` },
    market: 9,
    is: 'waits: fee_budget',
  },
  'the same effect stays within the multiple of the market': {
    facts: { slow, attempts: [attempt(10)] },
    row: { is_sweep: true },
    market: 1,
    is: 'waits: fee_multiplier',
  },
  'another content outbids what a node has, whatever the market asks': {
    facts: { attempts: [attempt(10)] },
    market: 1,
    is: 'signs 1000 at 11 gwei',
  },
  'a cancellation asks the market, and is urgent': {
    facts: { purpose: 'cancel', attempts: [attempt(10)] },
    market: 20,
    is: 'signs 1000 at 24 gwei',
  },
  'what nodes called too cheap rises by a step': {
    facts: {
      slow,
      attempts: [attempt(10, { ...notTaken, refusal_kind: 'underpriced', refusal_message: 'transaction underpriced' })],
    },
    row: { status: 'sent' },
    market: 10,
    is: 'signs 1000 at 12.5 gwei',
  },
  'a sweep at a higher price sends less': {
    row: { is_sweep: true, value: `${10n ** 15n}` },
    facts: { slow, attempts: [attempt(10)] },
    market: 10,
    is: `signs ${10n ** 15n - 21_000n * 10n ** 9n} at 11 gwei`,
  },
  'a sweep of less than its fee waits': {
    row: { is_sweep: true, value: '1' },
    facts: { slow, attempts: [attempt(10)] },
    market: 10,
    is: 'waits: funds',
  },
}

describe('what is signed, and at which price', () => {
  test.each(Object.entries(cases))('%s', (_, { row: columns, facts, policies = {}, market: price, is }) => {
    const whole: SigningFacts = {
      relayer: { policies },
      row: { ...row, ...columns },
      purpose: 'send',
      slow: false,
      content,
      attempts: [],
      ...facts,
    }
    expect(told(planSignature(whole, price === undefined ? undefined : market(price)))).toBe(is)
  })
})
