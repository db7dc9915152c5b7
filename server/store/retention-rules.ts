import type { TransactionStatus } from '../../generated/openapi.ts'

/** The rows that one database transaction removes; fewer of those that have dependent rows. */
export const max_rows = 500
export const max_parents = 100
export const ended: ReadonlySet<TransactionStatus> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

export interface Aged {
  row_id: number
  at: string
}

export interface AgedTransaction extends Aged {
  status: TransactionStatus
  chain_id: number
  from: string
  nonce: number | null
}

/** The rows before the first young one. `before`: RFC 3339, UTC, milliseconds. */
export function oldOf<Row extends Aged>(rows: Row[], before: string): Row[] {
  const young = rows.findIndex(({ at }) => at >= before)
  return young < 0 ? rows : rows.slice(0, young)
}

/** Where the next call continues, when `limit` rows were read; undefined at the end. */
export const nextAfter = (old: Aged[], limit: number): number | undefined =>
  old.length === limit ? old.at(-1)?.row_id : undefined
