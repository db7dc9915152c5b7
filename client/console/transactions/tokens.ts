import { useQuery } from '@tanstack/react-query'
import { RelayerError, type Transaction } from '../../index.ts'
import { count, exactAmount } from '../data/format.ts'
import { useAbiOf, useRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

export interface Token {
  symbol: string
  decimals: number
}

/** The token of an address that the service has an ABI of; null: it is none; undefined: that is not known yet. */
export function useToken(relayerId: string, address: string): Token | null | undefined {
  const { client } = useSession()
  const network = useRelayers().data?.find(({ id }) => id === relayerId)?.network
  const to = address.toLowerCase()
  const known = useAbiOf(network, to)
  const { data, isLoading } = useQuery({
    queryKey: ['token', network, to],
    queryFn: async ({ signal }) =>
      (await import('./erc20.ts')).readToken(client, { relayer_id: relayerId, to, signal }).catch(noToken),
    enabled: known.abi !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data ?? (known.isLoading || isLoading ? undefined : null)
}

/** What is no token is not asked again; a node that does not answer is. */
function noToken(error: unknown): null {
  if (error instanceof RelayerError) throw error
  return null
}

/** The amount's place among the arguments of the functions of ERC-20. */
const amountAt: Record<string, number> = {
  'transfer(address,uint256)': 1,
  'transferFrom(address,address,uint256)': 2,
  'approve(address,uint256)': 1,
}

/** Which argument is an amount of the called token; -1: none. */
export const amountPlace = (call: Transaction['call']): number => amountAt[call?.function ?? ''] ?? -1

/** An amount of a token, given in its smallest units. `name`: the contract's, for one whose decimals are unknown. */
export const tokenAmount = (units: string, token: Token | null | undefined, name: string): string =>
  token ? exactAmount(units, token.symbol, token.decimals) : `${count(BigInt(units))} units of ${name}`
