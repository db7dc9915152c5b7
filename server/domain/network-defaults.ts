import type { Network } from '../../generated/openapi.ts'
import type { TransactionRequest } from './transaction-request.ts'

/** What a network has whose request leaves it out. */
export const networkDefaults = (chainId: number) =>
  ({
    symbol: null,
    required_confirmations: confirmationsOf(chainId),
    average_blocktime_ms: null,
    is_testnet: false,
    explorer_urls: [],
    features: [],
    tags: [],
    private_rpc_urls: [],
    submission: { mode: 'public', after_blocks: null },
    min_priority_fee_per_gas: null,
    min_gas_price: null,
    coin_token: null,
  }) satisfies Partial<Network>

/** RFC 7396: null removes a member, which restores its default. */
export function withDefaults(
  patch: { [Name in keyof Network]?: Network[Name] | null },
  chainId: number,
): Partial<Network> {
  const its: Partial<Network> = networkDefaults(chainId)
  return Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? its[name as keyof Network]]))
}

/** A development chain has one node, and nothing replaces its blocks. */
const developmentConfirmations = 1
/**
 * For a chain that is not in the table. Twelve blocks are the customary figure for Ethereum: since the Merge no reorganization of
 * mainnet was deeper than 7 slots (the beacon chain's of 2022-05-25), and a block is final after two epochs, 64 slots.
 */
const defaultConfirmations = 12

/** The default depth of a confirmed transaction by chain id; its own block counts. */
const confirmations: Record<number, number> = {
  1337: developmentConfirmations,
  31337: developmentConfirmations,
  1: 12,
  // BNB Smart Chain: the figure of exchanges from before its fast finality (BEP-126, two blocks as a rule).
  56: 15,
  97: 15,
  // Polygon PoS: a reorganization of 157 blocks was seen on 2023-02-22 (block 39,599,624).
  137: 256,
  80002: 256,
  // Avalanche C-Chain: an accepted block is final; a few blocks cover nodes that lag behind each other.
  43114: 3,
  43113: 3,
  // Rollups: their sequencer alone orders transactions, and takes blocks back only when it fails. The figures are about 40 s of
  // blocks: 2 s on the OP Stack (Optimism, Base, Zora, Mode, Blast), 0.25 s on Arbitrum, 2 to 3 s on Linea and Scroll.
  10: 20,
  8453: 20,
  7777777: 20,
  34443: 20,
  81457: 20,
  11155420: 20,
  84532: 20,
  42161: 160,
  42170: 160,
  421614: 160,
  59144: 20,
  59141: 20,
  534352: 20,
  534351: 20,
}

const confirmationsOf = (chainId: number): number => confirmations[chainId] ?? defaultConfirmations

/** Chains of the OP stack, whose transactions also pay for their data on the parent chain (docs.optimism.io, "Transaction fees"). */
const opStack = new Set([
  ...[10, 130, 185, 204, 252, 255, 288, 360, 424, 480, 690, 957, 1_135, 1_750, 1_868, 1_923, 4_326, 5_330, 7_560],
  ...[8_008, 8_453, 34_443, 42_220, 57_073, 60_808, 81_457, 7_777_777],
  ...[1_301, 1_946, 4_801, 11_142_220, 84_532, 763_373, 11_155_420, 999_999_999],
])
const [ofOpStack, withoutCoin] = ['op_stack', 'no_native_coin'] as const

/** Whether the network's feature says that transactions pay a data fee that the contract GasPriceOracle tells. */
export const isNamedOpStack = ({ features }: Pick<Network, 'features'>): boolean => features.includes(ofOpStack)

/** Whether the feature says so, or the chain is known for it. */
export const isOpStack = (network: Pick<Network, 'chain_id' | 'features'>): boolean =>
  isNamedOpStack(network) || opStack.has(network.chain_id)

/** Whether balances are a constant, and say nothing about what an account can pay. */
export const hasNoCoin = ({ features }: Pick<Network, 'features'>): boolean => features.includes(withoutCoin)

/** What a transaction has besides its data and lists: numbers, address and lengths. */
const fixedBytes = 150
const bytesOfAddress = 24
const bytesOfKey = 33
const bytesOfAuthorization = 140

/** At least the length of the unsigned transaction. */
export function unsignedBytes({
  data,
  access_list,
  authorization_list,
}: Pick<TransactionRequest, 'data' | 'access_list' | 'authorization_list'>): number {
  const keys = (access_list ?? []).reduce((sum, { storage_keys }) => sum + storage_keys.length, 0)
  return (
    fixedBytes +
    ((data?.length ?? 2) - 2) / 2 +
    (access_list?.length ?? 0) * bytesOfAddress +
    keys * bytesOfKey +
    (authorization_list?.length ?? 0) * bytesOfAuthorization
  )
}
