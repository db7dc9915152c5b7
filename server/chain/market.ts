import type { Network } from '../../generated/openapi.ts'
import { type Market, percentileOf, type Tier } from '../domain/fees.ts'
import { call, orAbsent, type Rpc } from './rpc.ts'

const historyBlocks = 20
const fallbackTip = 1_000_000_000n

const tiers = Object.keys(percentileOf) as Tier[]

/**
 * Reads the market from eth_feeHistory if its answer is valid, otherwise from the newest block's base fee and
 * eth_maxPriorityFeePerGas, otherwise from eth_gasPrice (chains without EIP-1559). A malformed answer counts as no answer, because
 * some nodes answer eth_feeHistory with null or with arrays missing. Throws RpcError or RpcUnavailable when no way is left.
 */
export async function readMarket(rpc: Rpc): Promise<Market> {
  const percentiles = tiers.map((tier) => percentileOf[tier])
  const history = await call(rpc, 'eth_feeHistory', [hex(historyBlocks), 'latest', percentiles]).catch(orAbsent)
  const { base_fee, rewards } = history ?? { base_fee: await headBaseFee(rpc), rewards: [] }
  if (base_fee === undefined || base_fee === 0n)
    return { kind: 'legacy', gas_price: await call(rpc, 'eth_gasPrice', []) }

  // Empty blocks have no tips.
  const suggested =
    rewards.length > 0 ? undefined : ((await call(rpc, 'eth_maxPriorityFeePerGas', []).catch(orAbsent)) ?? fallbackTip)
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
  const baseFee = lowerMedian(modern.map((market) => market.base_fee))
  return { kind: 'eip1559', base_fee: baseFee, tips: Object.fromEntries(tips) }
}

/** The market with the least prices that the nodes of the network take, where these suggest less. */
export function atLeastMarket(
  market: Market,
  { min_priority_fee_per_gas, min_gas_price }: Pick<Network, 'min_priority_fee_per_gas' | 'min_gas_price'>,
): Market {
  if (min_priority_fee_per_gas === null && min_gas_price === null) return market
  const price = BigInt(min_gas_price ?? 0)
  if (market.kind === 'legacy') return { kind: 'legacy', gas_price: greater(market.gas_price, price) }
  const tip = greater(BigInt(min_priority_fee_per_gas ?? 0), price - market.base_fee)
  const tips = tiers.map((tier) => [tier, greater(market.tips[tier], tip)])
  return { ...market, tips: Object.fromEntries(tips) }
}

const headBaseFee = async (rpc: Rpc): Promise<bigint | undefined> =>
  (await call(rpc, 'eth_getBlockByNumber', ['latest', false]).catch(orAbsent))?.base_fee

const hex = (number: number): string => `0x${number.toString(16)}`

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)

const ascending = (values: bigint[]): bigint[] => values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))

const median = (values: bigint[]): bigint => ascending(values)[Math.floor(values.length / 2)] ?? 0n

const lowerMedian = (values: bigint[]): bigint => ascending(values)[Math.floor((values.length - 1) / 2)] ?? 0n
