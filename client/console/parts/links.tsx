import { Link } from 'wouter'
import { short } from '../data/format.ts'
import { CopyButton } from './copy.tsx'

export const relayerPath = (relayer_id: string): string => `/relayers/${encodeURIComponent(relayer_id)}`

export const poolPath = (pool_id: string): string => `/pools/${encodeURIComponent(pool_id)}`

/** Any text as a part of the page's address. Twice, since the router decodes the address before it is taken apart. */
export const encoded = (text: string): string => encodeURIComponent(encodeURIComponent(text))

/** The text of a part that the router gives; one that was not encoded here stays as it is. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const transactionPath = ({ relayer_id, id }: { relayer_id: string; id: string }): string =>
  `${relayerPath(relayer_id)}/transactions/${encodeURIComponent(id)}`

export const RelayerLink = ({ id }: { id: string }) => <Link to={relayerPath(id)}>{id}</Link>

/** A link to the network's explorer, where it has one. */
export const ExplorerLink = ({ to, what }: { to: string | undefined; what: string }) =>
  to === undefined ? null : (
    <a className="explorer" href={to} target="_blank" rel="noopener noreferrer" aria-label={`${what} in the explorer`}>
      Explorer
    </a>
  )

/** A long value, shortened, with a button that copies all of it. */
export const Copyable = ({ value, whole = false }: { value: string; whole?: boolean }) => (
  <span className="copyable">
    <code title={value}>{whole ? value : short(value)}</code>
    <CopyButton text={value} label={`Copy ${value.slice(0, 80)}`} />
  </span>
)
