import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { press } from '../data/commands.ts'
import { useSession } from '../data/session.tsx'

/**
 * What a page shows in the place of an empty list: what would be here, and how to begin. `create`: the label of the page's button that
 * creates the first. That button has the dialog, since this one goes when the list is no longer empty.
 */
export const Nothing = ({
  icon: Icon,
  title,
  children,
  action,
  create,
}: {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
  create?: string | false
}) => (
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
    <Link to={relayer_id ? `/sandbox/${encodeURIComponent(relayer_id)}` : '/sandbox'} className="button primary">
      Send a transaction
    </Link>
  )
}
