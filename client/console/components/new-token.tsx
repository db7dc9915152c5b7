import type { ReactNode } from 'react'
import { Copyable } from './values.tsx'

/** What a creation says that gives a key: its token is shown this once. */
export const NewToken = ({ token, children }: { token: string; children: ReactNode }) => (
  <>
    <p>{children} Copy the token now. It is not shown again:</p>
    <Copyable value={token} whole />
  </>
)
