import type { Network } from '../../generated/openapi.ts'
import type { TransactionRequest } from './transaction-request.ts'

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
