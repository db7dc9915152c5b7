import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { paths } from '../data/paths.ts'
import { press } from '../data/press-button.ts'
import { useSession } from '../data/session.tsx'

interface NothingProps {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
  create?: string | false
}

/**
 * What a page shows in the place of an empty list: what would be here, and how to begin. `create`: the label of the page's button that
 * creates the first. That button has the dialog, since this one goes when the list is no longer empty.
 */
export const EmptyState = ({ icon: Icon, title, children, action, create }: NothingProps) => (
  <div className="nothing">
    <Icon className="icon" aria-hidden />
    <h2>{title}</h2>
    {children !== undefined && <p>{children}</p>}
    {action}
    {create && (
      <button type="button" className="primary" onClick={() => press(create)}>
        {create}
      </button>
    )}
  </div>
)

/** Where nothing matches a filter. */
export const ClearFilters = ({ clear }: { clear(): void }) => (
  <button type="button" onClick={clear}>
    Clear filters
  </button>
)

/** Where transactions would be listed. `relayer_id`: the one that sends. */
export function SendOne({ relayer_id }: { relayer_id?: string | false | undefined }) {
  const { may } = useSession()
  if (!may('send')) return null
  return (
    <Link to={relayer_id ? paths.sandboxOf(relayer_id) : paths.sandbox} className="button primary">
      Send a transaction
    </Link>
  )
}
