import { getAddress } from 'viem'
import { Link } from 'wouter'
import { useAddressNames, useExplorer } from '../data/resources.ts'
import { Copyable, ExplorerLink } from './values.tsx'

interface AddressProps {
  value: string
  network: string | undefined
  what: string
  whole?: boolean
  /** Its name stands beside it already. */
  isUnnamed?: boolean
}

/** An address with its checksum (ERC-55), and with the name of its relayer, signer or ABI. `whole`: all of its digits. */
export function Address({ value: given, network, what, whole = false, isUnnamed = false }: AddressProps) {
  const nameOf = useAddressNames()
  const value = getAddress(given)
  const named = nameOf(value)
  const explorer = useExplorer(network)
  const text = (
    <span className="copyable">
      <Copyable value={value} whole={whole} /> <ExplorerLink to={explorer('address', value)} what={what} />
    </span>
  )
  if (isUnnamed) return text
  return (
    <span className="named">
      {named && <Link to={named.to}>{named.name}</Link>}
      {named && <span className="hint">{named.kind}</span>}
      {text}
    </span>
  )
}
