import { Page } from '../../domain/operation.ts'

/** A single result is page 1 of 1, with 1 item. */
const singlePage = { current_page: 1, per_page: 1, total_items: 1 }

/** The body of a success around what a handler returned. */
export function envelope(result: unknown) {
  const isPage = result instanceof Page
  return {
    success: true,
    data: isPage ? result.data : result,
    error: '',
    pagination: isPage ? result.pagination : singlePage,
  }
}
