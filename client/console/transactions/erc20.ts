import { decodeFunctionResult, encodeFunctionData, erc20Abi, type Hex } from 'viem'
import type { RelayerClient } from '../../index.ts'
import { askNode } from '../data/get.ts'

/** What the contract of a token says of its amounts, as a node of the relayer's network tells it. Throws when it is no such contract. */
export async function readToken(
  client: RelayerClient,
  { relayer_id, to, signal }: { relayer_id: string; to: string; signal: AbortSignal },
): Promise<{ symbol: string; decimals: number }> {
  const ask = async (data: Hex) => {
    const body = { method: 'eth_call' as const, params: [{ to, data }, 'latest'] }
    return (await askNode<Hex>(client, relayer_id, body, signal)) as Hex
  }
  const abi = erc20Abi
  const [symbol, decimals] = await Promise.all([
    ask(encodeFunctionData({ abi, functionName: 'symbol' })),
    ask(encodeFunctionData({ abi, functionName: 'decimals' })),
  ])
  return {
    // The contract's own words: without what could hide or turn the text beside it.
    symbol: decodeFunctionResult({ abi, functionName: 'symbol', data: symbol })
      .replaceAll(/[^!-~]/g, '')
      .slice(0, maxSymbol),
    decimals: decodeFunctionResult({ abi, functionName: 'decimals', data: decimals }),
  }
}

const maxSymbol = 12
