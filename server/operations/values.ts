import { getAddress } from 'ethers/address'
import type { AmountInput } from '../../generated/openapi.ts'
import { badRequest } from '../errors.ts'

const max_amount = 2n ** 256n - 1n

/** A decimal string without leading zeros. A number that was written as 1e30 has lost digits already: it is refused. */
export function readAmount(input: AmountInput, path: string): string {
  if (typeof input === 'number' && !Number.isSafeInteger(input)) throw badRequest(path, 'must be written in digits')
  const amount = BigInt(input)
  if (amount > max_amount) throw badRequest(path, 'must be at most 2^256 - 1')
  return amount.toString()
}

/** Lower case; a mixed-case address must carry its checksum (EIP-55). */
export function readAddress(input: string, path: string): string {
  // In one case there is none, and working one out takes 7 us.
  if (/^0x[0-9a-f]{40}$/.test(input)) return input
  try {
    return getAddress(input).toLowerCase()
  } catch {
    throw badRequest(path, 'has a wrong checksum (EIP-55)')
  }
}

/** RFC 3339 has four digits for the year, and a zone can lead out of them. */
const first_ms = Date.parse('0000-01-01T00:00:00.000Z')
const last_ms = Date.parse('9999-12-31T23:59:59.999Z')

/** RFC 3339 in UTC with milliseconds. RFC 3339 has `t` and `z` too. */
export function readTime(input: string, path: string): string {
  const ms = Date.parse(input.toUpperCase())
  if (!(ms >= first_ms && ms <= last_ms)) throw badRequest(path, 'is no time that this service can tell')
  return new Date(ms).toISOString()
}
