import { ExternalLink } from 'lucide-react'
import { Link } from 'wouter'
import { short } from '../data/format.ts'
import { useNames } from '../data/names.ts'
import { useExplorer, useRelayerIds } from '../data/overview.ts'
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

/** A transaction where its relayer is known. */
export const nonceName = (nonce: number | null): string => (nonce === null ? 'no nonce yet' : `nonce ${nonce}`)

/** A transaction as people call it: `oracle-1 · nonce 12`. */
export const transactionName = ({ relayer_id, nonce }: { relayer_id: string | null; nonce: number | null }): string =>
  `${relayer_id} · ${nonceName(nonce)}`

/** A deleted relayer has no page. */
export function RelayerLink({ id }: { id: string }) {
  const { data } = useRelayerIds()
  if (data?.every((one) => one.id !== id)) return <Identifier value={id} />
  return (
    <Link to={relayerPath(id)}>
      <Identifier value={id} />
    </Link>
  )
}

/** A transaction in a row about something else. */
export const TransactionLink = (its: { relayer_id: string; id: string; nonce: number | null }) => (
  <Link to={transactionPath(its)}>{transactionName(its)}</Link>
)

/** A link to the network's explorer, where it has one. */
export const ExplorerLink = ({ to, what }: { to: string | undefined; what: string }) =>
  to === undefined ? null : (
    <a
      className="explorer"
      href={to}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={`${what} in the explorer`}
      title={`${what} in the explorer`}
    >
      <ExternalLink className="icon" aria-hidden />
    </a>
  )

/** An address with the name of its relayer, signer or ABI. `whole`: all of its digits. */
export function Address({
  value,
  network,
  what,
  whole = false,
}: {
  value: string
  network: string | undefined
  what: string
  whole?: boolean
}) {
  const named = useNames()(value)
  const explorer = useExplorer(network)
  return (
    <span className="named">
      {named && (named.to === undefined ? <strong>{named.name}</strong> : <Link to={named.to}>{named.name}</Link>)}
      {named && <span className="hint">{named.kind}</span>}
      <span className="copyable">
        <Copyable value={value} whole={whole} /> <ExplorerLink to={explorer('address', value)} what={what} />
      </span>
    </span>
  )
}

/** A long value, shortened, with a button that copies all of it. `whole`: all is shown, except for the middle on a phone. */
export const Copyable = ({ value, whole = false }: { value: string; whole?: boolean }) => (
  <span className="copyable">
    <code title={value} className={whole ? 'cut' : 'short'}>
      {whole ? <Identifier value={value} /> : short(value)}
    </code>
    <CopyButton text={value} label={`Copy ${value.slice(0, 80)}`} />
  </span>
)

/** All of an address, a hash or a UUID, without its middle on a phone. Other texts stay as they are. */
export const Identifier = ({ value }: { value: string }) =>
  /^(?:0x)?[0-9a-f-]{32,}$/i.test(value) ? (
    <>
      {value.slice(0, 6)}
      <span className="middle">{value.slice(6, -4)}</span>
      {value.slice(-4)}
    </>
  ) : (
    value
  )
