import { parseTransaction } from 'viem'
import type { Anvil } from './anvil.ts'
import type { Lie } from './liar.ts'

const hex = (amount: number) => `0x${Math.ceil(amount).toString(16)}`

interface Call {
  from?: string
  to?: string | null
  value?: string
  data?: string
  gas?: string
}

/**
 * The answers of a node after an invented fork, which multiplies all gas: it estimates so much, runs no call with less, and takes no
 * transaction with less.
 */
export function gasFork(chain: Pick<Anvil, 'rpc'>, fork: { factor: number }): Lie {
  const needs = async ({ gas: _, ...call }: Call) =>
    Number(await chain.rpc<string>('eth_estimateGas', [call])) * fork.factor
  const tooLow = (gas: number, needed: number) =>
    gas < needed ? new Error(`intrinsic gas too low: have ${gas}, want ${needed}`) : undefined

  return async (method, [param]) => {
    if (fork.factor === 1) return undefined
    if (method === 'eth_estimateGas') return hex(await needs(param as Call))
    if (method === 'eth_call' && (param as Call).gas !== undefined) {
      const refusal = tooLow(Number((param as Call).gas), await needs(param as Call))
      return refusal ?? '0x'
    }
    if (method !== 'eth_sendRawTransaction') return undefined
    const { to, value = 0n, data = '0x', gas = 0n } = parseTransaction(param as `0x${string}`)
    return tooLow(Number(gas), await needs({ to: to ?? null, value: hex(Number(value)), data }))
  }
}
