import { type Market, percentileOf, type Tier } from '../core/prices.ts'
import { type Rpc, RpcError, RpcUnavailable } from './rpc.ts'

const history_blocks = 20
const fallback_tip = 1_000_000_000n
/** The highest accepted price, in wei per unit of gas. No chain comes near it. A multiple of a higher price could exceed 256 bits. */
const max_price = 2n ** 96n

const tiers = Object.keys(percentileOf) as Tier[]

/**
 * Reads the market from eth_feeHistory if its answer is valid, otherwise from the newest block's base fee and
 * eth_maxPriorityFeePerGas, otherwise from eth_gasPrice (chains without EIP-1559). A malformed answer counts as no answer, because
 * some nodes answer eth_feeHistory with null or with arrays missing. Throws RpcError or RpcUnavailable when no way is left.
 */
export async function readMarket(rpc: Rpc): Promise<Market> {
  const percentiles = tiers.map((tier) => percentileOf[tier])
  const history = await orNothing(rpc('eth_feeHistory', [hex(history_blocks), 'latest', percentiles]))
  const { base_fee, rewards } = readHistory(history) ?? { base_fee: await headBaseFee(rpc), rewards: [] }
  if (base_fee === undefined || base_fee === 0n) return { kind: 'legacy', gas_price: await gasPrice(rpc) }

  // Empty blocks have no tips.
  const suggested = rewards.length > 0 ? undefined : await suggestedTip(rpc)
  const tips = tiers.map((tier, column) => [tier, suggested ?? median(rewards.map((row) => row[column] ?? 0n))])
  return { kind: 'eip1559', base_fee, tips: Object.fromEntries(tips) }
}

/**
 * The market by several nodes: the median of each price; of two, the lower one. A single false answer cannot raise the price, and a
 * price that is too low is raised later. Undefined without an answer.
 */
export function medianMarket(markets: Market[]): Market | undefined {
  const modern = markets.filter((market) => market.kind === 'eip1559')
  const old = markets.filter((market) => market.kind === 'legacy')
  if (markets.length === 0) return undefined
  if (old.length > modern.length) {
    return { kind: 'legacy', gas_price: lowerMedian(old.map(({ gas_price }) => gas_price)) }
  }
  const tips = tiers.map((tier) => [tier, lowerMedian(modern.map((market) => market.tips[tier]))])
  const base_fee = lowerMedian(modern.map((market) => market.base_fee))
  return { kind: 'eip1559', base_fee, tips: Object.fromEntries(tips) }
}

interface History {
  /** The base fee of the next block; 0 on a chain without one. */
  base_fee: bigint
  /** The tips of the blocks that were not empty, one column per tier. */
  rewards: bigint[][]
}

/** Undefined for an answer without a base fee. Malformed rows of tips are skipped. */
function readHistory(answer: unknown): History | undefined {
  const { baseFeePerGas, gasUsedRatio, reward } = fieldsOf(answer)
  const base_fee = Array.isArray(baseFeePerGas) ? readPrice(baseFeePerGas.at(-1)) : undefined
  if (base_fee === undefined) return undefined
  const used = Array.isArray(gasUsedRatio) ? gasUsedRatio : []
  const rows: unknown[] = Array.isArray(reward) ? reward : []
  const rewards = rows.flatMap((row, index) => {
    if (!Array.isArray(row) || !(used[index] > 0)) return []
    const prices = row.map(readPrice).filter((price) => price !== undefined)
    return prices.length === tiers.length ? [prices] : []
  })
  return { base_fee, rewards }
}

const headBaseFee = async (rpc: Rpc): Promise<bigint | undefined> =>
  readPrice(fieldsOf(await orNothing(rpc('eth_getBlockByNumber', ['latest', false]))).baseFeePerGas)

const suggestedTip = async (rpc: Rpc): Promise<bigint> =>
  readPrice(await orNothing(rpc('eth_maxPriorityFeePerGas', []))) ?? fallback_tip

async function gasPrice(rpc: Rpc): Promise<bigint> {
  const price = readPrice(await rpc('eth_gasPrice', []))
  if (price === undefined) throw new RpcUnavailable('A node answers eth_gasPrice with no price')
  return price
}

/** Undefined when the node does not support the method or fails; then the next source is read. */
const orNothing = (answer: Promise<unknown>): Promise<unknown> =>
  answer.catch((error) => {
    if (error instanceof RpcError) return undefined
    throw error
  })

const fieldsOf = (answer: unknown): Record<string, unknown> =>
  typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {}

function readPrice(answer: unknown): bigint | undefined {
  if (typeof answer !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(answer)) return undefined
  const price = BigInt(answer)
  return price <= max_price ? price : undefined
}

const hex = (number: number): string => `0x${number.toString(16)}`

const ascending = (values: bigint[]): bigint[] => values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))

const median = (values: bigint[]): bigint => ascending(values)[Math.floor(values.length / 2)] ?? 0n

const lowerMedian = (values: bigint[]): bigint => ascending(values)[Math.floor((values.length - 1) / 2)] ?? 0n
