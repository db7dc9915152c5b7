import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

/** What a page shows in the place of an empty list: what would be here, and how to begin. */
export const Nothing = ({
  icon: Icon,
  title,
  children,
  action,
}: {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
}) => (
  <div className="nothing">
    <Icon className="icon" aria-hidden />
    <h2>{title}</h2>
    {children !== undefined && <p>{children}</p>}
    {action}
  </div>
)
