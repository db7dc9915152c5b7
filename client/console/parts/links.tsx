import { useState } from 'react'
import { Link } from 'wouter'
import { short } from '../data/format.ts'

export const relayerPath = (relayer_id: string): string => `/relayers/${encodeURIComponent(relayer_id)}`

export const transactionPath = ({ relayer_id, id }: { relayer_id: string; id: string }): string =>
  `${relayerPath(relayer_id)}/transactions/${encodeURIComponent(id)}`

export const RelayerLink = ({ id }: { id: string }) => <Link to={relayerPath(id)}>{id}</Link>

/** A long value, shortened, with a button that copies all of it. */
export function Copyable({ value, whole = false }: { value: string; whole?: boolean }) {
  const [copied, setCopied] = useState(false)
  return (
    <span className="copyable">
      <code title={value}>{whole ? value : short(value)}</code>
      <button
        type="button"
        aria-label={`Copy ${value.slice(0, 80)}`}
        onClick={() =>
          void navigator.clipboard.writeText(value).then(() => {
            setCopied(true)
            setTimeout(() => setCopied(false), 1_500)
          })
        }
      >
        {copied ? 'Copied' : 'Copy'}
      </button>
    </span>
  )
}
