import type { Network } from '../../generated/openapi.ts'
import { isNamedOpStack, isOpStack, unsignedBytes } from '../domain/network-defaults.ts'
import type { TransactionRequest } from '../domain/transaction-request.ts'
import { askEach, atLeastHalf, type CallRequest, type Chain, given } from './chain.ts'
import { orUnknown, RpcError, RpcUnavailable } from './rpc.ts'
import type { RpcErrorKind } from './rpc-error.ts'

/** What a transaction lacks that runs out of its gas limit. `needed`: by the nodes' estimate; undefined: they give none. */
export interface GasShortage {
  needed: number | undefined
  /** Completes "The transaction ...". */
  text: string
}

/** The rules of gas, as the nodes show them. */
interface GasRules {
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
/**
 * Together they have most costs that a fork changes: a call without code and data, one with data, and initcode that writes a slot and code.
 */
const probes: CallRequest[] = [
  { from: nobody, to: nobody, value: 0n, data: null },
  { from: nobody, to: nobody, value: 0n, data: `0x${'ff'.repeat(1_000)}` },
  { from: nobody, to: null, value: 0n, data: '0x600160005560206000f300ff00ff' },
]
/** Nodes search for an estimate, and stop within some percent of it. */
const samePercent = 5

/** The rules of gas of all nodes, read at most every 15 seconds; callers wait for the first answer only. */
export class GasRulesReader {
  readonly #each: Chain[]
  readonly #now: () => number
  #known: GasRules | undefined
  #reading: Promise<GasRules> | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #before: Figures = []

  constructor(each: Chain[], now: () => number) {
    this.#each = each
    this.#now = now
  }

  async rules(): Promise<GasRules> {
    if (!this.#reading || this.#now() - this.#readAt >= rulesMs) {
      this.#reading = this.#read(this.#readAt)
      this.#readAt = this.#now()
    }
    return this.#known ?? this.#reading
  }

  async #read(since: number): Promise<GasRules> {
    const { figures, ...current } = await readRules(this.#each)
    const isChanged = figures.length > 0 && this.#before.length > 0 && isOther(figures, this.#before)
    if (figures.length > 0) this.#before = figures
    const changedAt = isChanged ? since : (this.#known?.changed_at ?? Number.NEGATIVE_INFINITY)
    this.#known = { ...current, changed_at: changedAt }
    return this.#known
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
      ...probes.map((call) => node.estimateGas(call).catch(orUnknown)),
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

interface GasNodes {
  /** Is asked while all nodes run the same rules. Otherwise each node is asked, and most decide. */
  chain: Pick<Chain, 'estimateGas' | 'tryGas'>
  each: Chain[]
  rules(): Promise<GasRules>
  /** Monotonic milliseconds. */
  now(): number
}

/**
 * What the nodes say about gas. A fork changes every cost of it, so none is known by heart; near a fork, estimates hold before and after
 * it. Throws RpcError or RpcUnavailable.
 */
export class Gas {
  readonly #nodes: GasNodes

  constructor(nodes: GasNodes) {
    this.#nodes = nodes
  }

  async estimate(call: CallRequest): Promise<number> {
    const { chain, each, rules } = this.#nodes
    const first = chain.estimateGas(call)
    const [current] = await Promise.all([rules(), first.catch(() => undefined)])
    return current.isDisputed
      ? ((await byMost(each, (node) => lasting(node, call, current))) ?? first)
      : lasting(chain, call, current, first)
  }

  /** Tries a gas limit; undefined: it suffices, as far as the nodes can tell before earlier transactions are mined. */
  async shortageOf(call: CallRequest & { gas: number }): Promise<GasShortage | undefined> {
    const refusal = await this.#trial(call, await this.#nodes.rules())
    if (refusal === undefined) return undefined
    // Only an estimate tells how much is missing. One that fails, as for a call that reverts, leaves what the trial has shown.
    const { gas, ...unlimited } = call
    const needed = await this.estimate(unlimited).catch(orUnknown)
    if (needed !== undefined && needed > gas) return { needed, text: `needs ${needed} gas, by the nodes' estimate` }
    if (needed !== undefined || refusal.kind !== 'gas_limit_too_low') return undefined
    return { needed, text: `is refused by a node: ${refusal.message}` }
  }

  /** The gas limit for a call: its estimate with a margin. */
  async limit(call: CallRequest): Promise<number> {
    const [needed, current] = await Promise.all([this.estimate(call), this.#nodes.rules()])
    return withMargin(needed, current)
  }

  /** Whether an estimate of this age may be of other rules than those of now. */
  async isOutdated(ageMs: number): Promise<boolean> {
    const { changed_at } = await this.#nodes.rules()
    return ageMs >= Math.min(nearS * 1_000, this.#nodes.now() - changed_at)
  }

  /** Why a call does not run with its gas limit, if that may be too low. */
  async #trial(call: CallRequest & { gas: number }, current: GasRules): Promise<RpcError | undefined> {
    const { chain, each } = this.#nodes
    if (!current.isDisputed) return trialBy(chain, call, current)
    const trials = await askEach(each, async (node) => ({ refusal: await trialBy(node, call, current) }))
    const answers = given(trials)
    const refusals = answers.flatMap(({ refusal }) => refusal ?? [])
    return refusals.length * 2 >= answers.length ? refusals[0] : undefined
  }
}

/** Of relays, which are asked as they are; few of them run calls. */
export class RelayGas extends Gas {
  constructor({ rules, ...nodes }: GasNodes) {
    super({ ...nodes, rules: async () => ({ ...(await rules()), fork_s: undefined, isDisputed: false }) })
  }

  override shortageOf(call: CallRequest & { gas: number }): Promise<GasShortage | undefined> {
    return super.shortageOf(call).catch(() => undefined)
  }
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
  const estimates = await Promise.all([present, node.estimateGas(call, fork_s).catch(orUnknown)])
  return Math.max(...given(estimates))
}

async function trialBy(
  node: Pick<Chain, 'tryGas'>,
  call: CallRequest & { gas: number },
  { fork_s }: GasRules,
): Promise<RpcError | undefined> {
  const trials = await Promise.all([
    node.tryGas(call),
    fork_s === undefined ? undefined : node.tryGas(call, fork_s).catch(orUnknown),
  ])
  return trials.find((refusal) => refusal && isAboutGas(refusal))
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

/**
 * What the chain charges for the data of a transaction besides its gas, in wei. A chain that is known by its id only, and has no contract
 * that tells a fee, charges none. Throws RpcError or RpcUnavailable.
 */
export async function dataFeeOf(
  { network, estimates }: { network: Network; estimates: Pick<Chain, 'dataFee'> },
  request: Pick<TransactionRequest, 'data' | 'access_list' | 'authorization_list'>,
  gasLimit: number,
): Promise<bigint> {
  if (!isOpStack(network)) return 0n
  const fee = await estimates.dataFee(unsignedBytes(request), gasLimit)
  if (fee === undefined && isNamedOpStack(network))
    throw new RpcUnavailable('The contract GasPriceOracle of the chain does not tell the data fee')
  return fee ?? 0n
}

/** What a transaction does, as a call that nodes estimate. */
export const callOf = (
  from: string,
  {
    to,
    value,
    data,
    access_list,
    authorization_list,
  }: Pick<TransactionRequest, 'to' | 'value' | 'data' | 'access_list' | 'authorization_list'>,
): CallRequest => ({ from, to, value: BigInt(value), data, access_list, authorization_list })
