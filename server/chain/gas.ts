import { atLeastHalf, given } from '../lib/majority.ts'
import { askEach } from './ask-each.ts'
import type { CallRequest, Chain } from './chain.ts'
import { isRpcFailure, RpcError } from './rpc.ts'
import type { RpcErrorKind } from './rpc-error.ts'

/** What a transaction lacks that runs out of its gas limit. `needed`: by the nodes' estimate; undefined: they give none. */
export interface GasShortage {
  needed: number | undefined
  /** Completes "The transaction ...". */
  text: string
}

/** What the nodes say about gas. A fork changes every cost of it, so none is known by heart. Throws RpcError or RpcUnavailable. */
export interface Gas {
  estimate(call: CallRequest): Promise<number>
  /** The gas limit for a call: its estimate with a margin. */
  limit(call: CallRequest): Promise<number>
  /** Tries a gas limit; undefined: it suffices, as far as the nodes can tell before earlier transactions are mined. */
  shortageOf(call: CallRequest & { gas: number }): Promise<GasShortage | undefined>
  /** Whether an estimate of this age may be of other rules than those of now. */
  isOutdated(ageMs: number): Promise<boolean>
}

/** The rules of gas, as the nodes show them. */
export interface GasRules {
  /** The estimate for a call that runs no code, which needs no margin; undefined: no node tells it, as below. */
  bare: number | undefined
  block_gas: number | undefined
  /** A fork that is near, in seconds since the Unix epoch: estimates hold for its rules too. */
  fork_s: number | undefined
  /** Nodes run different rules, or may soon. */
  isDisputed: boolean
  /** When other rules were last seen, in milliseconds of the monotonic clock. */
  changed_at: number
}

const rulesMs = 15_000
/** So long before and after a fork its rules count: a transaction may be mined after it, and nodes may lag. */
const nearS = 15 * 60

/** No key of it is known: whatever it is, it has no code. */
const nobody = '0x00000000000000000000000000000000000c0de0'
/** Together they have most costs that a fork changes: a call without code and data, one with data, and initcode that writes a slot and code. */
const probes: CallRequest[] = [
  { from: nobody, to: nobody, value: 0n, data: null },
  { from: nobody, to: nobody, value: 0n, data: `0x${'ff'.repeat(1_000)}` },
  { from: nobody, to: null, value: 0n, data: '0x600160005560206000f300ff00ff' },
]
/** Nodes search for an estimate, and stop within some percent of it. */
const samePercent = 5

/** Of relays, which are asked as they are. */
export const withoutForks = (rules: () => Promise<GasRules>) => async (): Promise<GasRules> => ({
  ...(await rules()),
  fork_s: undefined,
  isDisputed: false,
})

/** Reads the rules of gas of all nodes, at most every 15 seconds; callers wait for the first answer only. */
export function createGasRules(each: Chain[], now: () => number): () => Promise<GasRules> {
  let known: GasRules | undefined
  let reading: Promise<GasRules> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let before: Figures = []

  async function read(since: number): Promise<GasRules> {
    const { figures, ...current } = await readRules(each)
    const isChanged = figures.length > 0 && before.length > 0 && isOther(figures, before)
    if (figures.length > 0) before = figures
    known = { ...current, changed_at: isChanged ? since : (known?.changed_at ?? Number.NEGATIVE_INFINITY) }
    return known
  }

  return async () => {
    if (!reading || now() - readAt >= rulesMs) {
      reading = read(readAt)
      readAt = now()
    }
    return known ?? reading
  }
}

/** The estimates for `probes`, in their order; empty: not known. */
type Figures = (number | undefined)[]

async function readRules(each: Chain[]): Promise<Omit<GasRules, 'changed_at'> & { figures: Figures }> {
  const answers = await askEach(each, async (node) => {
    const [head, blockGas, forks, ...figures] = await Promise.all([
      node.head(),
      node.blockGasLimit(),
      node.forkTimes(),
      ...probes.map((call) => node.estimateGas(call).catch(orUndefined)),
    ])
    const forkS = forks.find((atS) => Math.abs(atS - (head.at_ms ?? 0) / 1_000) < nearS)
    return { block_gas: blockGas, fork_s: forkS, figures }
  })
  const known = given(answers)
  const forks = given(known.map(({ fork_s }) => fork_s))
  const figures = known.length === 0 ? [] : probes.map((_, index) => median(known.map((node) => node.figures[index])))
  return {
    bare: figures[0],
    block_gas: median(known.map(({ block_gas }) => block_gas)),
    fork_s: forks.length === 0 ? undefined : Math.max(...forks),
    // A node may not know of a fork that the others announce.
    isDisputed: known.some((node) => isOther(node.figures, figures)) || (forks.length > 0 && each.length > 1),
    figures,
  }
}

/** Of those that are known. */
const median = (numbers: (number | undefined)[]): number | undefined => atLeastHalf(given(numbers))

const isOther = (some: Figures, others: Figures): boolean =>
  some.some((figure, index) => {
    const other = others[index]
    if (figure === undefined || other === undefined) return false
    return Math.abs(figure - other) * 100 > samePercent * Math.max(figure, other)
  })

const orUndefined = (error: unknown): undefined => {
  if (!isRpcFailure(error)) throw error
}

/**
 * `chain`: is asked while all nodes run the same rules. Otherwise each node is asked, and most decide. Near a fork, estimates hold before and
 * after it.
 */
export function createGas(
  chain: Pick<Chain, 'estimateGas' | 'tryGas'>,
  rules: () => Promise<GasRules>,
  each: Chain[],
  now: () => number,
): Gas {
  async function estimate(call: CallRequest): Promise<number> {
    const first = chain.estimateGas(call)
    const [current] = await Promise.all([rules(), first.catch(() => undefined)])
    const ask = (node: Pick<Chain, 'estimateGas'>) => lasting(node, call, current, node === chain ? first : undefined)
    return current.isDisputed ? ((await byMost(each, ask)) ?? first) : ask(chain)
  }

  /** By the rules of now, and by those of a fork that is near. A node that cannot tell these is asked for those of now. */
  async function lasting(
    node: Pick<Chain, 'estimateGas'>,
    call: CallRequest,
    { fork_s }: GasRules,
    known?: Promise<number>,
  ): Promise<number> {
    const present = known ?? node.estimateGas(call)
    if (fork_s === undefined) return present
    const estimates = await Promise.all([present, node.estimateGas(call, fork_s).catch(orUndefined)])
    return Math.max(...given(estimates))
  }

  async function shortageOf(call: CallRequest & { gas: number }): Promise<GasShortage | undefined> {
    const refusal = await trial(call, await rules())
    if (refusal === undefined) return undefined
    // Only an estimate tells how much is missing. One that fails, as for a call that reverts, leaves what the trial has shown.
    const { gas, ...unlimited } = call
    const needed = await estimate(unlimited).catch(orUndefined)
    if (needed !== undefined && needed > gas) return { needed, text: `needs ${needed} gas, by the nodes' estimate` }
    if (needed !== undefined || refusal.kind !== 'gas_limit_too_low') return undefined
    return { needed, text: `is refused by a node: ${refusal.message}` }
  }

  /** Why a call does not run with its gas limit, if that may be too low. */
  async function trial(call: CallRequest & { gas: number }, current: GasRules): Promise<RpcError | undefined> {
    if (!current.isDisputed) return trialBy(chain, call, current)
    const trials = await askEach(each, async (node) => ({ refusal: await trialBy(node, call, current) }))
    const answers = given(trials)
    const refusals = answers.flatMap(({ refusal }) => refusal ?? [])
    return refusals.length * 2 >= answers.length ? refusals[0] : undefined
  }

  async function trialBy(
    node: Pick<Chain, 'tryGas'>,
    call: CallRequest & { gas: number },
    { fork_s }: GasRules,
  ): Promise<RpcError | undefined> {
    const trials = await Promise.all([
      node.tryGas(call),
      fork_s === undefined ? undefined : node.tryGas(call, fork_s).catch(orUndefined),
    ])
    return trials.find((refusal) => refusal && isAboutGas(refusal))
  }

  async function limit(call: CallRequest): Promise<number> {
    const [needed, current] = await Promise.all([estimate(call), rules()])
    return withMargin(needed, current)
  }

  async function isOutdated(ageMs: number): Promise<boolean> {
    const { changed_at } = await rules()
    return ageMs >= Math.min(nearS * 1_000, now() - changed_at)
  }

  return { estimate, limit, shortageOf, isOutdated }
}

const about: ReadonlySet<RpcErrorKind> = new Set(['gas_limit_too_low', 'gas_limit_too_high', 'reverted'])

/** A revert may come from a call inside that runs out of gas. */
const isAboutGas = ({ kind }: RpcError): boolean => about.has(kind)

/** The figure that at least half of the nodes' answers reach; undefined without an answer. Throws the error of a call that all refuse. */
async function byMost(each: Chain[], ask: (node: Chain) => Promise<number>): Promise<number | undefined> {
  let refusal: RpcError | undefined
  const answers = await askEach(each, (node) =>
    ask(node).catch((error) => {
      if (error instanceof RpcError) refusal ??= error
      throw error
    }),
  )
  const figure = median(answers)
  if (figure === undefined && refusal) throw refusal
  return figure
}

const estimatePercent = 110

/**
 * The gas limit for an estimate: 10 % more, because the state may change before the transaction is mined. `bare`: the nodes' estimate for a
 * call that runs no code, whose cost changes with the rules of the chain only. The margin never exceeds the block's gas limit.
 */
export function withMargin(
  estimate: number,
  { bare, block_gas }: { bare: number | undefined; block_gas: number | undefined },
): number {
  if (estimate === bare) return estimate
  const most = block_gas !== undefined && block_gas >= estimate ? block_gas : Number.POSITIVE_INFINITY
  return Math.min(Math.ceil((estimate * estimatePercent) / 100), most)
}
