import { count } from '../data/format.ts'

/** Leads to the other pages of a list. `of`: what it lists. */
export function Pages({
  of,
  page,
  last,
  total,
  go,
}: {
  of: string
  page: number
  last: number
  total: number
  go(page: number): void
}) {
  if (last < 2) return null
  return (
    <nav className="bar" aria-label={`Pages of ${of}`}>
      <button type="button" disabled={page === 1} onClick={() => go(page - 1)}>
        Previous
      </button>
      <span className="hint">
        Page {page} of {last}, {count(total)} {of}
      </span>
      <button type="button" disabled={page === last} onClick={() => go(page + 1)}>
        Next
      </button>
    </nav>
  )
}
