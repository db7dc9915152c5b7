import { useState } from 'react'
import { count } from '../data/format.ts'

/** The page of a list that is shown. Another filter begins with its first one. */
export function usePage(filter: string | undefined): [number, (page: number) => void] {
  const [shown, show] = useState({ filter, page: 1 })
  return [shown.filter === filter ? shown.page : 1, (page) => show({ filter, page })]
}

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
