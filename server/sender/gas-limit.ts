import type { CallRequest } from '../chain/chain.ts'
import type { Mempool } from '../chain/mempool.ts'
import { isRpcFailure } from '../chain/rpc.ts'
import type { TransactionRequest } from '../domain/transaction-request.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'

/** A gas limit that the nodes agree to, or why they never do; undefined: the present one, as far as they tell. */
export type GasAnswer = { gas_limit: number } | { reason: string } | undefined

/**
 * Asks the nodes again for the gas of a transaction that is in no block: rules may have changed since it was accepted. An estimated limit is
 * raised, and lowered when nodes call it too high; a given one is the caller's.
 */
export async function askGas(
  { gas }: Pick<Mempool, 'gas'>,
  row: TransactionRow,
  data: string | null,
  isTooHigh = false,
): Promise<GasAnswer> {
  const gasLimit = row.gas_limit as number
  const call = callOf(row.from, { ...row, data })
  try {
    if (row.gas_is_given) {
      const shortage = await gas.shortageOf({ ...call, gas: gasLimit })
      return shortage && { reason: `Its gas limit (${gasLimit}) is too low: the transaction ${shortage.text}` }
    }
    // Without a margin it may be below what the nodes call too high.
    const asked = await (isTooHigh ? gas.estimate(call) : gas.limit(call))
    return (isTooHigh ? asked < gasLimit : asked > gasLimit) ? { gas_limit: asked } : undefined
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    return undefined
  }
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
