import { useMemo } from 'react'
import { paths } from './paths.ts'
import { useAbis, useRelayers, useSigners } from './resources.ts'

export interface AddressName {
  name: string
  kind: 'relayer' | 'signer' | 'contract'
  /** The page about it. */
  to: string | undefined
}

/** What made a request. The key of the setting `API_KEY` is named as the setting is. */
export const callerName = (caller: string): string => (caller === 'environment' ? 'API_KEY' : caller)

/** What the service knows an address as: the relayer, the signer or the contract. */
export function useAddressNames(): (address: string) => AddressName | undefined {
  const relayers = useRelayers().data
  const signers = useSigners().data
  const abis = useAbis().data
  return useMemo(() => {
    const names = new Map<string, AddressName>()
    for (const { address, name } of abis ?? [])
      names.set(address.toLowerCase(), { name, kind: 'contract', to: undefined })
    for (const { address, id } of signers ?? [])
      names.set(address.toLowerCase(), { name: id, kind: 'signer', to: paths.signers })
    for (const { address, id } of relayers ?? [])
      names.set(address.toLowerCase(), { name: id, kind: 'relayer', to: `/relayers/${encodeURIComponent(id)}` })
    return (address) => names.get(address.toLowerCase())
  }, [relayers, signers, abis])
}
