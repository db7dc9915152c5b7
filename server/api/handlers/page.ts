import { Page } from '../../domain/operation.ts'
import type { Listing, PageRequest } from '../../domain/rows.ts'

const maxPerPage = 1_000

/**
 * Returns one page of a list. Page 0 is page 1. A `per_page` above 1,000 is 1,000. A page past the end is empty and has the true
 * total.
 */
export async function page<Row, T>(
  query: { page: number; per_page: number },
  read: (slice: PageRequest) => Promise<Listing<Row>>,
  show: (row: Row) => T,
): Promise<Page<T[]>> {
  const currentPage = Math.max(query.page, 1)
  const perPage = Math.min(query.per_page, maxPerPage)
  // Above 2^53 the product is inexact, but then it is past the end of every list.
  const offset = Math.min((currentPage - 1) * perPage, Number.MAX_SAFE_INTEGER)
  const { items, total_items } = await read({ offset, limit: perPage })
  return new Page(items.map(show), { current_page: currentPage, per_page: perPage, total_items })
}
