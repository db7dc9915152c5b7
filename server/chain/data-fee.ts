import { isNamedOpStack, isOpStack, unsignedBytes } from '../domain/data-fee.ts'
import type { TransactionRequest } from '../domain/transaction-request.ts'
import type { NetworkClient } from './chains.ts'
import { RpcUnavailable } from './rpc.ts'

/**
 * What the chain charges for the data of a transaction besides its gas, in wei. A chain that is known by its id only, and has no contract
 * that tells a fee, charges none. Throws RpcError or RpcUnavailable.
 */
export async function dataFeeOf(
  { network, estimates }: Pick<NetworkClient, 'network' | 'estimates'>,
  request: Pick<TransactionRequest, 'data' | 'access_list' | 'authorization_list'>,
  gasLimit: number,
): Promise<bigint> {
  if (!isOpStack(network)) return 0n
  const fee = await estimates.dataFee(unsignedBytes(request), gasLimit)
  if (fee === undefined && isNamedOpStack(network))
    throw new RpcUnavailable('The contract GasPriceOracle of the chain does not tell the data fee')
  return fee ?? 0n
}
