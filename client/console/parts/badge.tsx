import { words } from '../data/format.ts'
import { toneOf } from '../data/statuses.ts'

/** A status as a word; its color means the same everywhere. `waited`: it lasts too long. */
export const Badge = ({ state, waited }: { state: string; waited?: string | undefined }) => (
  <span className={`badge ${waited === undefined ? toneOf(state) : 'warn'}`}>
    {words(state)}
    {waited !== undefined && <span className="waited">, {waited}</span>}
  </span>
)
