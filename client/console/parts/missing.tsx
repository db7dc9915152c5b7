import { FileQuestion } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { RelayerError } from '../../index.ts'
import { useSession } from '../data/session.tsx'
import { Heading } from './heading.tsx'

export const isMissing = (error: unknown): boolean => error instanceof RelayerError && error.status === 404

/** In the place of a page about something that is unknown. `to`, `list`: where what there is is listed. `why`: where the reason is known. */
export const Missing = ({
  what,
  to,
  list,
  why = 'It does not exist, it was deleted, or your API key has no access to it.',
}: {
  what: string
  to: string
  list: string
  why?: string | undefined
}) => (
  <div className="nothing">
    <FileQuestion className="icon" aria-hidden />
    <Heading name={`${what} not found`} />
    <p>{why}</p>
    <Link to={to} className="button primary">
      Go to {list}
    </Link>
  </div>
)

/** The scopes of which a page needs one. */
const needed = {
  'relayer-list': ['read'],
  spending: ['read'],
  networks: ['read'],
  pools: ['read'],
  sponsorships: ['read'],
  notifications: ['notifications'],
  sandbox: ['sign', 'send'],
  signers: ['manage'],
  service: ['manage'],
  audit: ['manage'],
} as const

/** In the place of an unknown page, or of one that the API key may not see. */
export function MissingPage() {
  const { may, caller } = useSession()
  const [path] = useLocation()
  const page = path.split('/')[1] ?? ''
  const scopes = needed[page as keyof typeof needed]
  return <Missing what="Page" to="/" list="the overview" why={reason()} />

  function reason(): string | undefined {
    if (page === 'keys') return 'Your API key lacks a right: only a key that has every scope manages API keys.'
    if (scopes === undefined) return
    if (!scopes.some(may)) return `Your API key lacks the scope “${scopes.join('” or “')}”.`
    return caller.relayer_ids === null
      ? undefined
      : 'Your API key is limited to some relayers, and this page is of all.'
  }
}
