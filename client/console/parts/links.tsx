import { Link } from 'wouter'
import { short } from '../data/format.ts'
import { CopyButton } from './copy.tsx'

export const relayerPath = (relayer_id: string): string => `/relayers/${encodeURIComponent(relayer_id)}`

export const poolPath = (pool_id: string): string => `/pools/${encodeURIComponent(pool_id)}`

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
