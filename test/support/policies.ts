import { Transaction } from 'ethers'
import { RelayerError } from '../../client/index.ts'

/** Which policies refuse; empty when it is done. */
export async function refusalOf(promise: Promise<unknown>): Promise<string[]> {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  )
  if (error === undefined) return []
  // Anything else is no policy's doing.
  if (!(error instanceof RelayerError) || error.status !== 403) throw error
  return error.details.map(({ path }) => path.replace(/^policies\//, ''))
}

/** The properties of a transaction that policies check. */
export interface Asked {
  to?: string | null
  value?: string
  data?: string
  max_fee_per_gas?: bigint
  gas_price?: bigint
}

export const fee = 3_000_000_000n

/** An unsigned transaction on the network `local`. */
export function unsigned({ max_fee_per_gas = fee, gas_price, ...asked }: Asked): string {
  const common = { to: `0x${'12'.repeat(20)}`, value: 0n, chainId: 31_337, nonce: 0, gasLimit: 100_000, ...asked }
  const priced = gas_price === undefined ? { type: 2, maxFeePerGas: max_fee_per_gas } : { type: 0, gasPrice: gas_price }
  return Transaction.from({ ...common, ...priced }).unsignedSerialized
}
