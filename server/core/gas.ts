/** The gas of a plain transfer (Yellow Paper, appendix G). */
export const transfer_gas = 21_000
const creation_gas = 32_000
/** EIP-2930. */
const listed_address_gas = 2_400
const listed_key_gas = 1_900
const estimate_percent = 110
/** The most gas of one transaction, on chains with EIP-7825. */
export const max_transaction_gas = 2 ** 24

/** Chains whose rules fix the gas of a plain transfer: Ethereum, its test networks, and development chains. */
const fixed_transfer_chain_ids: ReadonlySet<number> = new Set([1, 11_155_111, 560_048, 17_000, 1_337, 31_337])

export const isTransferGasFixed = (chain_id: number): boolean => fixed_transfer_chain_ids.has(chain_id)

/**
 * The gas limit for an estimate: 10 % more, because the state may change before the transaction is mined. The cost of a plain
 * transfer is fixed. The margin never exceeds the block's gas limit or EIP-7825's limit.
 */
export function withMargin(estimate: number, block_gas: number | undefined): number {
  if (estimate === transfer_gas) return estimate
  const limits = [block_gas ?? Number.POSITIVE_INFINITY, max_transaction_gas].filter((limit) => limit >= estimate)
  return Math.min(Math.ceil((estimate * estimate_percent) / 100), ...limits)
}

/** What a transaction has that costs gas before its call runs. */
interface Content {
  isCreation: boolean
  data: Uint8Array
  /** The number of storage keys at each address of the access list. */
  listed_keys: number[]
}

/**
 * The gas that a transaction costs before its call runs (Yellow Paper, appendix G; EIP-2028; EIP-2930), and the floor for its data
 * (EIP-7623): its gas limit must be as high as both. Initcode (EIP-3860) and authorizations (EIP-7702) are not counted.
 */
export function leastGas({ isCreation, data, listed_keys }: Content): { intrinsic: number; floor: number } {
  const zeros = data.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  const others = data.length - zeros
  const listed = listed_keys.reduce((sum, keys) => sum + listed_address_gas + listed_key_gas * keys, 0)
  return {
    intrinsic: transfer_gas + (isCreation ? creation_gas : 0) + 4 * zeros + 16 * others + listed,
    floor: transfer_gas + 10 * zeros + 40 * others,
  }
}
