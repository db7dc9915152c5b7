import type { RelayerPoliciesInput } from '../../client/index.ts'
import type { Account, Rig, RigOptions } from '../support/rig.ts'
import { clockMoves } from './clock.ts'
import { drops } from './drops.ts'
import * as evidence from './evidence.ts'
import { faults } from './faults.ts'
import { cap, feeSpike } from './fees.ts'
import * as limits from './limits.ts'
import type { Outcome } from './outcome.ts'
import * as prices from './prices.ts'
import { confirmations, reorgs } from './reorgs.ts'

/** A part that `npm run test:chaos -- NAME` runs, with a separate chain and service. */
export interface Part {
  options: RigOptions
  run(rig: Rig): Promise<Record<string, Outcome>>
}

const withAccount =
  (
    name: string,
    run: (rig: Rig, account: Account) => Promise<Outcome>,
    policies: RelayerPoliciesInput = {},
  ): Part['run'] =>
  async (rig) => ({ [name]: await run(rig, await rig.addAccount({ policies })) })

const chain = { noMining: true }
const alone: RigOptions = { chain, confirmations: evidence.confirmations }
const two: RigOptions = { ...alone, proxies: 2 }
const three: RigOptions = { ...alone, proxies: 3 }

export const parts: Record<string, Part> = {
  reorgs: {
    options: { chain, confirmations },
    run: withAccount('100 reorganizations of depth 1 to 10', (rig, account) => reorgs(rig, account, 100)),
  },
  drops: {
    options: { chain },
    run: withAccount('200 dropped transactions', (rig, account) => drops(rig, account, 200)),
  },
  fees: {
    options: { chain },
    run: withAccount('base fee x10 over 100 pending', (rig, account) => feeSpike(rig, account, 100, false)),
  },
  cap: {
    options: { chain },
    run: withAccount('the same under a cap', (rig, account) => feeSpike(rig, account, 100, true), {
      gas_price_cap: `${cap}`,
    }),
  },
  faults: {
    options: { chain: { blockTime_s: 0.5 } },
    run: async (rig) => Object.fromEntries((await faults(rig, 50)).map(({ kind, outcome }) => [kind, outcome])),
  },
  clock: {
    options: { chain },
    run: withAccount('40 moves of the clock by a day', (rig, account) => clockMoves(rig, account, 40)),
  },
  'lying-node': {
    options: alone,
    run: withAccount('the only node lies', evidence.lyingNode, { max_value_per_day: '1' }),
  },
  'liar-among-three': {
    options: three,
    run: withAccount('100 sent, one node of three lies', (rig, account) => evidence.liarAmongThree(rig, account, 100)),
  },
  'false-count': {
    options: alone,
    run: withAccount('a count of 3,000 for a second', (rig, account) =>
      evidence.falseCount(rig, account, (count) => BigInt(count + 3_000)),
    ),
  },
  'huge-count': {
    options: alone,
    run: withAccount('a count of 2^53 for a second', (rig, account) =>
      evidence.falseCount(rig, account, () => 2n ** 53n),
    ),
  },
  'nonce-elsewhere': { options: alone, run: withAccount('a nonce used elsewhere', evidence.nonceElsewhere) },
  ...Object.fromEntries(
    (['at rest', 'with a higher base fee', 'with another transaction in its place'] as const).map(
      (kind, index): [string, Part] => [
        ['deep-reorg', 'deep-reorg-fee', 'deep-reorg-other'][index] as string,
        { options: alone, run: withAccount(`a deep reorg ${kind}`, (rig, a) => evidence.deepReorg(rig, a, kind)) },
      ],
    ),
  ),
  'refused-hour': { options: alone, run: withAccount('an hour of refused sends', prices.refusedHour) },
  'no-funds': { options: alone, run: withAccount('four hours without funds', prices.noFunds) },
  'absurd-price': { options: alone, run: withAccount('400,000 times the price', prices.absurdPrice) },
  'refused-price': {
    options: alone,
    run: withAccount('a price that nodes refuse', prices.refusedPrice, { gas_price_cap: `${prices.wideCap}` }),
  },
  'one-refuses': { options: two, run: withAccount('one node of two refuses', prices.oneRefuses) },
  'refused-withdrawal': { options: alone, run: withAccount('withdrawals are refused', limits.refusedWithdrawal) },
  'body-limit': { options: alone, run: withAccount('bodies of 10 kB at most', limits.bodyLimit) },
  'fee-history': { options: alone, run: withAccount('no fee history', limits.feeHistory) },
  'lagging-node': {
    options: { ...two, confirmations: 6 },
    run: withAccount('one node of two lags', (rig, account) => limits.laggingNode(rig, account, 40)),
  },
  'narrow-pool': {
    options: alone,
    run: withAccount('a pool of 16 an account', (rig, account) => limits.narrowPool(rig, account, 16, 150)),
  },
  'over-committed': { options: alone, run: withAccount('funds for 3 of 10', limits.overCommitted) },
  'bulk-cancel': {
    options: alone,
    run: withAccount('5,000 canceled at once', (rig, account) => limits.bulkCancel(rig, account, 5_000)),
  },
  'ten-relayers': {
    options: alone,
    run: withAccount('ten relayers wait', (rig, account) => limits.manyRelayers(rig, account, 10)),
  },
}
