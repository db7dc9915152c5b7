import { expect, test } from 'vitest'
import { runModel } from './model/model.ts'
import { runScenario } from './model/run-scenario.ts'
import { checkModelFaults } from './model/seeded-faults.ts'
import { everything, type Scenario } from './model/steps.ts'

// The long form: `npm run test:model -- --runs 500 --seed N`. A scenario takes a fraction of a second; a slow machine runs fewer.

const runs = 25
const timeLimitMs = 9_000

// Fixed seeds: a new one may find what nobody knows yet, and belongs to the long form.
test.each([20_261, 31_337])(
  'keeps all promises through random lies, reorganizations, crashes and operations: seed %i',
  async (seed) => {
    const { failures, runs: done } = await runModel({ runs, seed, allowed: everything, time_limit_ms: timeLimitMs })
    expect(failures, `seed ${seed}: ${JSON.stringify(failures)}`).toEqual([])
    expect(done).toBeGreaterThan(0)
  },
)

test('can still make the mistakes that the long form seeds', checkModelFaults)

/** Shortened counterexamples of the long form: each broke a promise once. */
const counterexamples: Record<string, Scenario> = {
  'signs no self-transfer at a nonce that a node denies after it has shown its use': {
    nodes: 1,
    shares_key: true,
    pool: false,
    seed: 823_542_385,
    steps: [
      { do: 'foreign', where: 'block', ahead: 1 },
      { do: 'send', count: 1, tier: 'safe_low', gas_price_gwei: null, valid_s: null },
      { do: 'drain' },
      { do: 'lie', name: 'count_behind' },
      { do: 'mine', blocks: 3, limit: 50 },
    ],
  },
  'ends no transaction because one node reports its nonce as used while the others do not answer': {
    nodes: 3,
    shares_key: false,
    pool: false,
    seed: 1_775_078_417,
    steps: [
      { do: 'send', count: 1, tier: 'fastest', gas_price_gwei: null, valid_s: null },
      { do: 'trouble', name: 'internal_error' },
      { do: 'lie', name: 'thief' },
      { do: 'mine', blocks: 3, limit: 50 },
      { do: 'time', s: 3_600 },
    ],
  },
  'signs no self-transfer at a nonce that somebody else has used in place of ours, and that the only node denies': {
    nodes: 1,
    shares_key: true,
    pool: false,
    seed: 9_568_833,
    steps: [
      { do: 'send', count: 2, tier: 'safe_low', gas_price_gwei: null, valid_s: null },
      { do: 'foreign', where: 'block', ahead: 0 },
      { do: 'mine', blocks: 2, limit: 50 },
      { do: 'pause' },
      { do: 'reorg', depth: 6, outcome: 'drop' },
      { do: 'resume' },
      { do: 'lie', name: 'count_zero' },
      { do: 'mine', blocks: 5, limit: 50 },
    ],
  },
  'gives no nonce of a canceled transaction away because the only node counts ahead for a moment': {
    nodes: 1,
    shares_key: true,
    pool: true,
    seed: 829_214_066,
    steps: [
      { do: 'lie', name: 'count_ahead_by_one' },
      { do: 'send', count: 2, tier: 'fast', gas_price_gwei: 30, valid_s: null },
      { do: 'cancel', which: 4 },
      { do: 'mine', blocks: 3, limit: 50 },
    ],
  },
  'recognizes the chain again after the only node has shown a false first block before anything was final': {
    nodes: 1,
    shares_key: false,
    pool: false,
    seed: 1_054_131_474,
    steps: [
      { do: 'send', count: 2, tier: 'average', gas_price_gwei: null, valid_s: null },
      { do: 'crash', send: 2, before: true },
      { do: 'lie', name: 'other_hashes' },
      { do: 'mine', blocks: 3, limit: 50 },
      { do: 'reorg', depth: 6, outcome: 'drop' },
    ],
  },
  'signs no self-transfer after a start at a nonce that somebody else has used and the only node denies': {
    nodes: 1,
    shares_key: true,
    pool: false,
    seed: 9_568_833,
    steps: [
      { do: 'send', count: 2, tier: 'safe_low', gas_price_gwei: null, valid_s: null },
      { do: 'foreign', where: 'block', ahead: 0 },
      { do: 'mine', blocks: 2, limit: 50 },
      { do: 'reorg', depth: 6, outcome: 'drop' },
      { do: 'crash', send: 0, before: true },
      { do: 'lie', name: 'count_zero' },
      { do: 'mine', blocks: 5, limit: 50 },
    ],
  },
  'signs no self-transfer after a start at a used nonce while the only node lags': {
    nodes: 1,
    shares_key: true,
    pool: false,
    seed: 1_195_367_196,
    steps: [
      { do: 'crash', send: 1, before: true },
      { do: 'foreign', where: 'block', ahead: 0 },
      { do: 'send', count: 2, tier: 'average', gas_price_gwei: null, valid_s: null },
      { do: 'trouble', name: 'lags' },
      { do: 'time', s: 1 },
    ],
  },
  'signs no self-transfer after a start at a used nonce while every node lags': {
    nodes: 3,
    shares_key: true,
    pool: false,
    seed: 23,
    steps: [
      { do: 'foreign', where: 'block', ahead: 1 },
      { do: 'send', count: 1, tier: 'fastest', gas_price_gwei: null, valid_s: null },
      { do: 'trouble', name: 'lags' },
      { do: 'crash', send: 0, before: false },
    ],
  },
  // After a fork the nodes have nothing of what was signed with less gas: it is signed again, within the policies, and a cancellation at
  // the price of the moment.
  'keeps to the multiple after a fork': {
    nodes: 1,
    shares_key: false,
    pool: false,
    seed: 1_781_486_702,
    steps: [
      { do: 'send', count: 2, tier: 'fast', gas_price_gwei: null, valid_s: null },
      { do: 'mine', blocks: 4, limit: 0 },
      { do: 'time', s: 3_600 },
      { do: 'gas_rule', gas: 63_000 },
    ],
  },
  'is not held to a price that nodes refused before': {
    nodes: 1,
    shares_key: false,
    pool: true,
    seed: 2_147_483_632,
    steps: [
      { do: 'trouble', name: 'underpriced' },
      { do: 'send_pool', count: 4, ordered: false },
      { do: 'mine', blocks: 3, limit: 50 },
      { do: 'honest' },
      { do: 'gas_rule', gas: 26_000 },
    ],
  },
  'cancels after a fork': {
    nodes: 1,
    shares_key: false,
    pool: false,
    seed: 7,
    steps: [
      { do: 'send', count: 2, tier: 'average', gas_price_gwei: null, valid_s: null, submission: 'private' },
      { do: 'mine', blocks: 1, limit: 0 },
      { do: 'cancel_all' },
      { do: 'mine', blocks: 1, limit: 0 },
      { do: 'gas_rule', gas: 63_000 },
      { do: 'base_fee', gwei: 1 },
      { do: 'mine', blocks: 4, limit: 50 },
    ],
  },
  // One of three counts the nonce of a private transaction as used: nodes are not given its hash.
  'gives no node a private hash by the count of one': {
    nodes: 3,
    shares_key: true,
    pool: false,
    seed: 1_250_438_875,
    steps: [
      { do: 'send', count: 3, tier: 'safe_low', gas_price_gwei: null, valid_s: null, submission: 'private' },
      { do: 'lie', name: 'count_ahead_by_one' },
      { do: 'base_fee', gwei: 100 },
      { do: 'mine', blocks: 5, limit: 50 },
    ],
  },
  'gives no node a private hash by the count of one that shows no receipts': {
    nodes: 3,
    shares_key: true,
    pool: true,
    seed: 2_147_483_639,
    steps: [
      { do: 'send', count: 3, tier: 'fastest', gas_price_gwei: null, valid_s: null },
      { do: 'lie', name: 'thief_that_counts_ahead' },
      { do: 'mine', blocks: 1, limit: 50 },
      { do: 'send', count: 2, tier: 'average', gas_price_gwei: null, valid_s: null, submission: 'private' },
    ],
  },
  'fills a nonce that a reorganization took from somebody else, as soon as it may': {
    nodes: 1,
    shares_key: true,
    pool: false,
    seed: 1_831_943_160,
    steps: [
      { do: 'foreign', where: 'block', ahead: 0 },
      { do: 'send', count: 3, tier: 'fastest', gas_price_gwei: 100, valid_s: null, gas_limit: 21_000 },
      { do: 'reorg', depth: 3, outcome: 'drop' },
    ],
  },
  'cancels again what a fork took from the nodes, when the market is far below': {
    nodes: 3,
    shares_key: true,
    pool: true,
    seed: 3,
    steps: [
      { do: 'send', count: 3, tier: 'safe_low', gas_price_gwei: null, valid_s: null, gas_limit: 100_000 },
      { do: 'cancel_all' },
      { do: 'starve', blocks: 10 },
      { do: 'gas_rule', gas: 26_000 },
    ],
  },
  'cancels again what no node took at a price that the only node had lied about': {
    nodes: 1,
    shares_key: true,
    pool: false,
    seed: 1_831_875_445,
    steps: [
      { do: 'send_pool', count: 2, ordered: true },
      { do: 'trouble', name: 'fee_cap' },
      { do: 'gas_rule', gas: 63_000 },
      { do: 'lie', name: 'price_x1000' },
      { do: 'cancel', which: 4 },
    ],
  },
}

test.each(Object.entries(counterexamples))('%s', async (_, scenario) => {
  const { violations } = await runScenario(scenario)
  expect(violations).toEqual([])
})
