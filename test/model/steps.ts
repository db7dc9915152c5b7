import fc, { type Arbitrary } from 'fast-check'
import { lies, priceLies, relayTroubles, troubles } from './misbehavior.ts'

/** What happens to the service in one step. Plain values, so that a counterexample can be read. */
export type Step =
  | {
      do: 'send'
      count: number
      tier: Tier
      gas_price_gwei: number | null
      valid_s: number | null
      submission?: 'private' | 'private_then_public' | null
      gas_limit?: number | null
    }
  /** Through the pool; through the relayer where there is none. `ordered`: with one ordering key. */
  | { do: 'send_pool'; count: number; ordered: boolean }
  /** A relayer of the pool, the main one among them, loses all that it has. */
  | { do: 'drain_member'; which: number }
  | { do: 'replace'; which: number; gas_price_gwei: number | null }
  | { do: 'cancel'; which: number }
  | { do: 'cancel_all' | 'pause' | 'resume' | 'drain' | 'fund' | 'drop_pool' | 'honest' }
  /** `isStated`: with the transaction count that the operator knows. */
  | { do: 'heal'; isStated: boolean }
  /** Somebody else uses the key, at the chain's next nonce or the one after it. */
  | { do: 'foreign'; where: 'block' | 'pool'; ahead: number }
  | { do: 'mine'; blocks: number; limit: number }
  /** As many blocks, a minute apart, that take nothing of the pool. */
  | { do: 'starve'; blocks: number }
  | { do: 'reorg'; depth: number; outcome: 'return' | 'drop' | 'rival' }
  /** Every node. */
  | { do: 'trouble'; name: string }
  /** One node of several, or the only one. */
  | { do: 'lie'; name: string }
  /** The private relay; null: it is honest again. */
  | { do: 'relay'; name: string | null }
  | { do: 'base_fee'; gwei: number }
  /** A fork: what a transfer costs from now on. */
  | { do: 'gas_rule'; gas: number }
  | { do: 'time'; s: number }
  /** At once (0), or when that raw transaction is given to a node. */
  | { do: 'crash'; send: number; before: boolean }

export type Tier = 'safe_low' | 'average' | 'fast' | 'fastest'

export interface Scenario {
  nodes: number
  /** Whether somebody else uses the key; then no reorganization is deeper than the confirmations. */
  shares_key: boolean
  /** The relayer is in a pool with others, which a treasury funds. */
  pool: boolean
  seed: number
  steps: Step[]
}

/** Which kinds of misbehavior may occur. */
export interface Allowed {
  lies: boolean
  price_lies: boolean
  /** Reorganizations deeper than the confirmations. */
  deep_reorgs: boolean
  foreign: boolean
}

export const everything: Allowed = { lies: true, price_lies: true, deep_reorgs: true, foreign: true }

export const confirmations = 3
export const maxDepth = 6

const tiers: Tier[] = ['safe_low', 'average', 'fast', 'fastest']
const record = <T extends Step['do']>(name: T, rest: object = {}) =>
  fc.record({ do: fc.constant(name), ...rest }) as unknown as Arbitrary<Step>
const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
const namesOf = (table: object) => fc.constantFrom(...Object.keys(table))

const rarely = <T>(arbitrary: Arbitrary<T>) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

/** Mostly sends, blocks and time: the rest disturbs them. */
function stepOf(allowed: Allowed): Arbitrary<Step> {
  const lieNames = { ...(allowed.lies && lies), ...(allowed.price_lies && priceLies) }
  const price = rarely(oneOf(1, 30, 100, 2_000))
  const depths = fc.integer({ min: 1, max: allowed.deep_reorgs ? maxDepth : confirmations - 1 })
  const outcome = oneOf('return', 'drop', ...(allowed.foreign ? ['rival'] : []))
  const weighted: [number, Arbitrary<Step>][] = [
    [
      8,
      record('send', {
        count: fc.integer({ min: 1, max: 3 }),
        tier: oneOf(...tiers),
        gas_price_gwei: price,
        valid_s: rarely(oneOf(30, 600)),
        submission: rarely(oneOf('private', 'private_then_public')),
        gas_limit: rarely(oneOf(21_000, 100_000)),
      }),
    ],
    [5, record('send_pool', { count: fc.integer({ min: 1, max: 4 }), ordered: fc.boolean() })],
    [1, record('drain_member', { which: fc.nat(2) })],
    [10, record('mine', { blocks: fc.integer({ min: 1, max: 5 }), limit: oneOf(0, 1, 50, 50, 50) })],
    [3, record('time', { s: oneOf(1, 60, 300, 3_600) })],
    [2, record('replace', { which: fc.nat(9), gas_price_gwei: price })],
    [2, record('cancel', { which: fc.nat(9) })],
    [1, record('cancel_all')],
    [1, record('pause')],
    [2, record('resume')],
    [1, record('heal', { isStated: fc.boolean() })],
    [1, record('drain')],
    [2, record('fund')],
    [2, record('drop_pool')],
    [1, record('starve', { blocks: oneOf(10, 60) })],
    [4, record('reorg', { depth: depths, outcome })],
    [2, record('base_fee', { gwei: oneOf(1, 10, 20, 100) })],
    [1, record('gas_rule', { gas: oneOf(21_000, 26_000, 63_000) })],
    [2, record('relay', { name: fc.oneof(fc.constant(null), namesOf(relayTroubles)) })],
    [3, record('trouble', { name: namesOf(troubles) })],
    [3, record('honest')],
    [3, record('crash', { send: fc.integer({ min: 0, max: 3 }), before: fc.boolean() })],
  ]
  if (Object.keys(lieNames).length > 0) weighted.push([4, record('lie', { name: namesOf(lieNames) })])
  if (allowed.foreign) weighted.push([2, record('foreign', { where: oneOf('block', 'pool'), ahead: oneOf(0, 0, 1) })])
  return fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

export const scenario = (allowed: Allowed, maxSteps = 40): Arbitrary<Scenario> =>
  fc.record({
    nodes: oneOf(1, 3),
    pool: fc.boolean(),
    shares_key: allowed.foreign ? fc.boolean() : fc.constant(false),
    seed: fc.integer({ min: 1, max: 0x7fffffff }),
    steps: fc.array(stepOf(allowed), { minLength: 12, maxLength: maxSteps, size: 'max' }),
  })
