import { ApiError } from '../errors.ts'
import type { Crowded, RelayerRow, Room } from '../store/rows.ts'

const default_max_unfinished = 10_000
const default_max_unfinished_bytes = 64 * 1024 * 1024
/** About a block's time: then some of them may have ended. */
const retry_after_s = 5

/** How many transactions of a relayer, and bytes in them, may be unfinished at once: one caller must not fill the service. */
export const roomOf = ({ policies }: Pick<RelayerRow, 'policies'>): Room => ({
  max_unfinished: policies.max_unfinished ?? default_max_unfinished,
  max_unfinished_bytes: policies.max_unfinished_bytes ?? default_max_unfinished_bytes,
})

/** 429 with a Retry-After: nothing was done, and it may be asked again. */
export function tooMany({ policy, limit }: Crowded): ApiError {
  const message =
    policy === 'max_unfinished'
      ? `The relayer has ${limit} unfinished transactions, as many as it may have`
      : `The data of the relayer's unfinished transactions would be more than ${limit} bytes`
  const details = [{ path: `policies/${policy}`, message }]
  return new ApiError('rate_limited', 'Too Many Requests', details, { 'Retry-After': String(retry_after_s) })
}

export const dataBytes = ({ data }: { data: string | null }): number => (data === null ? 0 : (data.length - 2) / 2)
