import type { TransactionStatus } from '../../index.ts'

/** Which transactions of a list are shown. */
export interface Filter {
  status?: TransactionStatus[]
  reference?: string
  hash?: string
  to?: string
  nonce_from?: number
  nonce_to?: number
  created_after?: string
  created_before?: string
  /** What the search finds by this text. */
  search?: string
}
