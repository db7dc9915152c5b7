import { useQuery } from '@tanstack/react-query'
import { RelayerError, type Transaction } from '../../index.ts'
import { count, exactAmount } from './format.ts'
import { useAbis } from './names.ts'
import { useRelayerIds } from './overview.ts'
import { useSession } from './session.tsx'

export interface Token {
  symbol: string
  decimals: number
}

/** The token of an address that the service has an ABI of; null: it is none; undefined: that is not known yet. */
export function useToken(relayer_id: string, address: string): Token | null | undefined {
  const { client } = useSession()
  const network = useRelayerIds().data?.find(({ id }) => id === relayer_id)?.network
  const to = address.toLowerCase()
  const abis = useAbis()
  const isKnown = abis.data?.some((its) => its.network === network && its.address.toLowerCase() === to)
  const { data, isLoading } = useQuery({
    queryKey: ['token', network, to],
    queryFn: async ({ signal }) =>
      (await import('./erc20.ts')).readToken(client, { relayer_id, to, signal }).catch(none),
    enabled: isKnown === true,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data ?? (abis.isLoading || isLoading ? undefined : null)
}

/** What is no token is not asked again; a node that does not answer is. */
function none(error: unknown): null {
  if (error instanceof RelayerError) throw error
  return null
}

/** The amount's place among the arguments of the functions of ERC-20. */
const amount_at: Record<string, number> = {
  'transfer(address,uint256)': 1,
  'transferFrom(address,address,uint256)': 2,
  'approve(address,uint256)': 1,
}

/** Which argument is an amount of the called token; -1: none. */
export const amountPlace = (call: Transaction['call']): number => amount_at[call?.function ?? ''] ?? -1

/** An amount of a token, given in its smallest units. `name`: the contract's, for one whose decimals are unknown. */
export const tokenAmount = (units: string, token: Token | null | undefined, name: string): string =>
  token ? exactAmount(units, token.symbol, token.decimals) : `${count(BigInt(units))} units of ${name}`
