import { ApiError } from '../../core/errors.ts'
import type { AtCapacity, Capacity } from '../../core/new-transaction.ts'
import type { RelayerRow } from '../../core/rows.ts'

const default_max_unfinished = 10_000
const default_max_unfinished_bytes = 64 * 1024 * 1024
/** About the block time, after which some transactions may have ended. */
const retry_after_s = 5

/**
 * The most unfinished transactions of a relayer, and the most bytes of data in them, so that one caller cannot fill the service.
 */
export const capacityOf = ({ policies }: Pick<RelayerRow, 'policies'>): Capacity => ({
  max_unfinished: policies.max_unfinished ?? default_max_unfinished,
  max_unfinished_bytes: policies.max_unfinished_bytes ?? default_max_unfinished_bytes,
})

/** The ApiError (429, with Retry-After) for a relayer with too many unfinished transactions. Nothing was changed. */
export function tooMany({ policy, limit }: AtCapacity): ApiError {
  const message =
    policy === 'max_unfinished'
      ? `The relayer has reached its limit of ${limit} unfinished transactions`
      : `The data of the relayer's unfinished transactions would exceed the limit of ${limit} bytes`
  const details = [{ path: `policies/${policy}`, message }]
  return new ApiError('rate_limited', 'Too Many Requests', details, { 'Retry-After': String(retry_after_s) })
}

export const dataBytes = ({ data }: { data: string | null }): number => (data === null ? 0 : (data.length - 2) / 2)
