import { getAddress } from 'ethers/address'
import type { AmountInput, NotificationFilter, NotificationFilterPatch } from '../../generated/openapi.ts'
import { badRequest, type Field } from './errors.ts'

/** No balance is above it. */
export const maxAmount = 2n ** 256n - 1n

/** A decimal string without leading zeros. A number above 2^53 is refused, because it may have lost digits. */
export function readAmount(input: AmountInput, field: Field): string {
  if (typeof input === 'number' && !Number.isSafeInteger(input))
    throw badRequest(field, 'must be a whole number as a decimal string, for example "1000000000000000"')
  const amount = BigInt(input)
  if (amount > maxAmount) throw badRequest(field, 'must be at most 2^256 - 1 (a uint256)')
  return amount.toString()
}

/** Lower case; a mixed-case address must carry its checksum (EIP-55). */
export function readAddress(input: string, field: Field): string {
  // An address in lower case has no checksum; computing one takes 7 us.
  if (/^0x[0-9a-f]{40}$/.test(input)) return input
  try {
    return getAddress(input).toLowerCase()
  } catch {
    throw badRequest(field, 'must have a correct EIP-55 checksum, or be in lower case')
  }
}

/** An address as people compare it with another one: with its checksum (EIP-55). */
export const checksummed = (address: string): string => getAddress(address)

/** `coin`: the coin of the chain. Otherwise a token's address, in lower case. */
export const readAsset = (input: string, field: Field): string => (input === 'coin' ? input : readAddress(input, field))

/** RFC 3339 has four-digit years; an offset can move a time outside of them. */
const firstMs = Date.parse('0000-01-01T00:00:00.000Z')
const lastMs = Date.parse('9999-12-31T23:59:59.999Z')

/** RFC 3339 in UTC with milliseconds. Date.parse does not accept `t` and `z` in lower case. */
export function readTime(input: string, field: Field): string {
  const ms = Date.parse(input.toUpperCase())
  if (!(ms >= firstMs && ms <= lastMs))
    throw badRequest(field, 'must be an RFC 3339 time in the years 0000 to 9999 UTC, for example 2026-01-31T12:00:00Z')
  return new Date(ms).toISOString()
}

/** Stands for what is not shown of an RPC URL. */
export const mask = '***'

/** Masks RPC URLs for responses. Providers put API keys into paths and queries, so only the host is shown. */
export const showRpcUrls = <T extends { url: string }>(rpcUrls: readonly T[]): T[] =>
  rpcUrls.map((rpcUrl) => {
    const { origin, pathname, search, hash } = new URL(rpcUrl.url)
    const bare = pathname === '/' && search === '' && hash === ''
    return { ...rpcUrl, url: bare ? origin : `${origin}/${mask}` }
  })

export type MergePatch<T> = { [Member in keyof T]?: T[Member] | null }

/** RFC 7396 for an object whose members are values: null removes a member, an absent one stays. Null for the whole removes all. */
export function mergePatch<T extends object>(current: T, patch: MergePatch<T> | null): Partial<T> {
  if (patch === null) return {}
  return Object.fromEntries(
    Object.entries({ ...current, ...patch }).filter(([, value]) => value !== null && value !== undefined),
  ) as Partial<T>
}

/** Null: every event. */
export const readFilter = ({ events = null, statuses = null }: NotificationFilterPatch): NotificationFilter | null =>
  events === null && statuses === null ? null : { events, statuses }
