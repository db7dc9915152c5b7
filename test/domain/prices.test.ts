import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  bump,
  capPrices,
  isAbove,
  isEnough,
  isNear,
  isPayable,
  type Market,
  most,
  type PriceKind,
  type Prices,
  percentileOf,
  priceByTier,
  type Tier,
} from '../../server/domain/fees.ts'

const tips = { safe_low: 1n, average: 2n, fast: 30n, fastest: 400n }
const modern: Market = { kind: 'eip1559', base_fee: 1_000n, tips }
const old: Market = { kind: 'legacy', gas_price: 101n }
const paying = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): Prices => ({
  kind: 'eip1559',
  max_fee_per_gas: maxFeePerGas,
  max_priority_fee_per_gas: maxPriorityFeePerGas,
})
const legacy = (gasPrice: bigint): Prices => ({ kind: 'legacy', gas_price: gasPrice })

test('uses the percentiles 30, 50, 85 and 99 for the tiers', () => {
  expect(percentileOf).toEqual({ safe_low: 30, average: 50, fast: 85, fastest: 99 })
})

describe('quote', () => {
  test.each<[Market, Tier, PriceKind | undefined, Prices]>([
    // Twice the base fee, and the tip upon it.
    [modern, 'safe_low', undefined, paying(2_001n, 1n)],
    [modern, 'average', undefined, paying(2_002n, 2n)],
    [modern, 'fast', undefined, paying(2_030n, 30n)],
    [modern, 'fastest', undefined, paying(2_400n, 400n)],
    [modern, 'average', 'eip1559', paying(2_002n, 2n)],
    // All of a gas price is paid, so it has room for two full blocks only.
    [modern, 'average', 'legacy', legacy(1_252n)],
    // 100, 105, 120 and 140 %, rounded up.
    [old, 'safe_low', undefined, legacy(101n)],
    [old, 'average', undefined, legacy(107n)],
    [old, 'fast', undefined, legacy(122n)],
    [old, 'fastest', undefined, legacy(142n)],
    [old, 'fastest', 'legacy', legacy(142n)],
    // A node that shows no base fee any more: the form stays.
    [old, 'fast', 'eip1559', paying(122n, 122n)],
  ])('%o %s as %s', (market, tier, kind, prices) => {
    expect(priceByTier(market, tier, kind)).toEqual(prices)
  })
})

describe('limit', () => {
  test.each<[Prices, bigint | undefined, Prices]>([
    [paying(100n, 10n), undefined, paying(100n, 10n)],
    [paying(100n, 10n), 100n, paying(100n, 10n)],
    [paying(100n, 10n), 99n, paying(99n, 10n)],
    [paying(100n, 10n), 5n, paying(5n, 5n)],
    [legacy(100n), undefined, legacy(100n)],
    [legacy(100n), 100n, legacy(100n)],
    [legacy(100n), 99n, legacy(99n)],
  ])('%o at most %s', (prices, cap, limited) => {
    expect(capPrices(prices, cap)).toEqual(limited)
  })
})

describe('isPayable', () => {
  test.each<[Prices, Market, boolean]>([
    [paying(1_000n, 1n), modern, true],
    [paying(999n, 1n), modern, false],
    [legacy(1_000n), modern, true],
    [legacy(999n), modern, false],
    [legacy(1n), old, true],
  ])('%o in %o: %s', (prices, market, payable) => {
    expect(isPayable(prices, market)).toBe(payable)
  })
})

describe('bump', () => {
  test.each<[title: string, last: Prices, wanted: Prices, cap: bigint | undefined, Prices | undefined]>([
    ['10 % more of both', paying(1_000n, 100n), paying(1n, 1n), undefined, paying(1_100n, 110n)],
    ['rounded up', paying(1_001n, 101n), paying(1n, 1n), undefined, paying(1_102n, 112n)],
    ['at least one wei more', paying(1n, 0n), paying(0n, 0n), undefined, paying(2n, 1n)],
    ['what the market asks', paying(1_000n, 100n), paying(9_000n, 900n), undefined, paying(9_000n, 900n)],
    ['of each fee the larger', paying(1_000n, 100n), paying(9_000n, 1n), undefined, paying(9_000n, 110n)],
    ['a tip that is the whole fee', paying(100n, 100n), paying(50n, 50n), undefined, paying(110n, 110n)],
    ['as a gas price, which counts as both fees', paying(1_000n, 100n), legacy(5_000n), undefined, legacy(5_000n)],
    ['as a gas price, at least 10 % more', paying(1_000n, 100n), legacy(50n), undefined, legacy(1_100n)],
    ['room to the wei', paying(1_000n, 100n), paying(1n, 1n), 1_100n, paying(1_100n, 110n)],
    ['no room by a wei', paying(1_000n, 100n), paying(1n, 1n), 1_099n, undefined],
    ['held at the cap', paying(1_000n, 100n), paying(9_000n, 2_000n), 1_500n, paying(1_500n, 1_500n)],
    ['legacy: 10 % more', legacy(1_001n), legacy(1n), undefined, legacy(1_102n)],
    ['legacy: what the market asks', legacy(1_000n), legacy(7_000n), undefined, legacy(7_000n)],
    ['two fees after a gas price: the tip too', legacy(1_000n), paying(7_000n, 1n), undefined, paying(7_000n, 1_100n)],
    ['legacy: room to the wei', legacy(1_000n), legacy(1n), 1_100n, legacy(1_100n)],
    ['legacy: no room', legacy(1_000n), legacy(9_000n), 1_099n, undefined],
    ['legacy: held at the cap', legacy(1_000n), legacy(9_000n), 1_500n, legacy(1_500n)],
  ])('%s', (_, last, wanted, cap, bumped) => {
    expect(bump(last, wanted, cap)).toEqual(bumped)
  })
})

// From a wei to far beyond 2^64, every size as likely.
const amount = fc
  .tuple(fc.integer({ min: 0, max: 120 }), fc.bigInt({ min: 0n, max: 2n ** 120n - 1n }))
  .map(([bits, n]) => n >> BigInt(120 - bits))
const anyPrices: fc.Arbitrary<Prices> = fc.oneof(
  amount.map(legacy),
  fc.tuple(amount, amount).map(([a, b]) => (a > b ? paying(a, b) : paying(b, a))),
)
const anyCap = fc.option(amount, { nil: undefined })
const anyMarket: fc.Arbitrary<Market> = fc.oneof(
  amount.map((gasPrice): Market => ({ kind: 'legacy', gas_price: gasPrice })),
  fc.tuple(amount, amount).map(
    ([baseFee, tip]): Market => ({
      kind: 'eip1559',
      base_fee: baseFee,
      tips: { safe_low: tip, average: tip, fast: tip, fastest: tip },
    }),
  ),
)

/** Both fees of the prices; a gas price counts as both. */
const feesOf = (prices: Prices): [bigint, bigint] =>
  prices.kind === 'legacy'
    ? [prices.gas_price, prices.gas_price]
    : [prices.max_fee_per_gas, prices.max_priority_fee_per_gas]

const isSound = (prices: Prices): boolean =>
  prices.kind === 'legacy' || prices.max_priority_fee_per_gas <= prices.max_fee_per_gas

function isBumped(last: Prices, next: Prices): boolean {
  const [before, after] = [feesOf(last), feesOf(next)]
  return before.every((fee, index) => (after[index] ?? 0n) * 10n >= fee * 11n && (after[index] ?? 0n) > fee)
}

describe('for any prices', () => {
  test('raises each fee by at least 10 % within the cap, or does not bump', () => {
    fc.assert(
      fc.property(anyPrices, anyPrices, anyCap, (last, wanted, cap) => {
        const bumped = bump(last, wanted, cap)
        if (bumped === undefined)
          return cap !== undefined && feesOf(last).some((fee) => (fee === 0n ? cap < 1n : (fee * 11n + 9n) / 10n > cap))
        return (
          bumped.kind === wanted.kind &&
          isBumped(last, bumped) &&
          isSound(bumped) &&
          (cap === undefined || most(bumped) <= cap) &&
          (cap !== undefined || most(bumped) >= most(wanted))
        )
      }),
      { numRuns: 2_000 },
    )
  })

  test('stops repeated bumps at the cap', () => {
    fc.assert(
      fc.property(anyPrices, anyMarket, amount, (first, market, cap) => {
        let prices: Prices | undefined = capPrices(first, cap)
        for (let round = 0; prices !== undefined; round += 1) {
          if (most(prices) > cap || !isSound(prices) || round > 1_000) return false
          prices = bump(prices, priceByTier(market, 'fast'), cap)
        }
        return true
      }),
    )
  })

  test('quotes payable prices with a tip within the fee, also within a limit', () => {
    fc.assert(
      fc.property(
        anyMarket,
        fc.constantFrom(...(Object.keys(percentileOf) as Tier[])),
        fc.constantFrom(undefined, 'legacy' as const, 'eip1559' as const),
        amount,
        (market, tier, kind, cap) => {
          const prices = priceByTier(market, tier, kind)
          const limited = capPrices(prices, cap)
          return (
            isPayable(prices, market) &&
            isSound(prices) &&
            isSound(limited) &&
            most(limited) <= cap &&
            most(limited) <= most(prices)
          )
        },
      ),
    )
  })
})

describe('above a multiple of the market', () => {
  // The tier average asks 2,002 at most, and a block charges 1,002.
  test.each<[Prices, Market, bigint, boolean]>([
    [paying(2_002n, 2n), modern, 1n, false],
    [paying(2_003n, 2n), modern, 1n, true],
    [paying(10_010n, 2n), modern, 5n, false],
    [paying(10_011n, 2n), modern, 5n, true],
    // By the tip: 1,000 + 4,010 is five times 1,002.
    [paying(5_010n, 4_010n), modern, 5n, false],
    [paying(5_011n, 4_011n), modern, 5n, true],
    // As a gas price the tier asks 1,252.
    [legacy(6_260n), modern, 5n, false],
    [legacy(6_261n), modern, 5n, true],
    // 105 % of 101, rounded up.
    [legacy(535n), old, 5n, false],
    [legacy(536n), old, 5n, true],
  ])('%o on %o, times %s: %s', (prices, market, multiple, above) => {
    expect(isAbove(prices, market, 'average', multiple)).toBe(above)
  })
})

describe('two prices', () => {
  test.each<[Prices, Prices, boolean]>([
    [paying(100n, 10n), paying(100n, 10n), true],
    [paying(100n, 10n), paying(90n, 9n), true],
    [paying(100n, 10n), paying(89n, 9n), false],
    [paying(100n, 10n), paying(100n, 12n), false],
    [legacy(100n), legacy(110n), true],
    [legacy(100n), legacy(112n), false],
    [legacy(100n), paying(100n, 100n), false],
  ])('compares %o and %o, near: %s', (a, b, near) => {
    expect([isNear(a, b), isNear(b, a)]).toEqual([near, near])
  })

  test.each<[Prices, Prices, boolean]>([
    [paying(100n, 10n), paying(100n, 10n), true],
    [paying(100n, 9n), paying(100n, 10n), false],
    [paying(99n, 10n), paying(100n, 10n), false],
    [legacy(100n), paying(100n, 100n), true],
    [paying(200n, 99n), legacy(100n), false],
  ])('compares %o with the required price %o, enough: %s', (prices, least, enough) => {
    expect(isEnough(prices, least)).toBe(enough)
  })
})
