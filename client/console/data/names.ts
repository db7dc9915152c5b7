import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useRelayerIds } from './overview.ts'
import { useSession } from './session.tsx'

const fresh_ms = 60_000

export interface Named {
  name: string
  kind: 'relayer' | 'signer' | 'contract'
  /** The page about it. */
  to: string | undefined
}

/** What made a request. The key of the setting `API_KEY` is named as the setting is. */
export const callerName = (caller: string): string => (caller === 'environment' ? 'API_KEY' : caller)

export const useSigners = () => {
  const { client, mayManageAll } = useSession()
  return useQuery({
    queryKey: ['signers'],
    queryFn: ({ signal }) =>
      client.get('/api/v1/signers', { query: { per_page: 1_000 }, signal }).then(({ data }) => data),
    enabled: mayManageAll,
    staleTime: fresh_ms,
  })
}

export const useAbis = () => {
  const { client, may } = useSession()
  return useQuery({
    queryKey: ['abis'],
    queryFn: ({ signal }) =>
      client.get('/api/v1/abis', { query: { per_page: 1_000 }, signal }).then(({ data }) => data),
    enabled: may('read'),
    staleTime: fresh_ms,
  })
}

/** What the service knows an address as: the relayer, the signer or the contract. */
export function useNames(): (address: string) => Named | undefined {
  const relayers = useRelayerIds().data
  const signers = useSigners().data
  const abis = useAbis().data
  return useMemo(() => {
    const names = new Map<string, Named>()
    for (const { address, name } of abis ?? [])
      names.set(address.toLowerCase(), { name, kind: 'contract', to: undefined })
    for (const { address, id } of signers ?? [])
      names.set(address.toLowerCase(), { name: id, kind: 'signer', to: '/signers' })
    for (const { address, id } of relayers ?? [])
      names.set(address.toLowerCase(), { name: id, kind: 'relayer', to: `/relayers/${encodeURIComponent(id)}` })
    return (address) => names.get(address.toLowerCase())
  }, [relayers, signers, abis])
}

/** The entries of an ABI. */
export const useAbi = (abi_id: string | undefined) => {
  const { client } = useSession()
  return useQuery({
    queryKey: ['abi', abi_id],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/abis/{abi_id}', { path: { abi_id: abi_id ?? '' }, signal })).data.abi,
    enabled: abi_id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
}
