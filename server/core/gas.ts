/** The gas of a plain transfer (Yellow Paper, appendix G). */
export const transfer_gas = 21_000
const estimate_percent = 110
/** The most gas of one transaction, on chains with EIP-7825. */
const max_transaction_gas = 2 ** 24

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
