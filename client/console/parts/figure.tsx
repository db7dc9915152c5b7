import type { ReactNode } from 'react'

/** A value with its name, in a list of class `figures`. */
export const Figure = ({ name, children }: { name: ReactNode; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
