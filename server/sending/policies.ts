import { ApiError } from '../errors.ts'
import type { RelayerRow } from '../store/store.ts'
import type { Tier } from './parts.ts'

/** What a request asks for, in the one form of each value: lower case addresses and bytes, decimal strings. */
export interface Wanted {
  to: string | null
  value: string
  data: string | null
  gas_limit: number | null
  tier: Tier | null
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
  /** RFC 3339, UTC, milliseconds. */
  valid_until: string | null
}

/** What the relayer's policies say of a transaction, however it gets signed. Throws ApiError (403) with the rule. */
export function checkPolicies(
  { policies }: Pick<RelayerRow, 'policies'>,
  { to, gas_price, max_fee_per_gas }: Pick<Wanted, 'to' | 'gas_price' | 'max_fee_per_gas'>,
): void {
  const { whitelist_receivers, gas_price_cap } = policies
  if (whitelist_receivers && (to === null || !whitelist_receivers.includes(to))) {
    throw refused('whitelist_receivers', to === null ? 'A contract cannot be created' : `${to} is no allowed receiver`)
  }
  const given = gas_price ?? max_fee_per_gas
  if (gas_price_cap !== undefined && given !== null && BigInt(given) > BigInt(gas_price_cap)) {
    throw refused('gas_price_cap', `${given} is above the cap of ${gas_price_cap}`)
  }
}

const refused = (policy: string, message: string) =>
  new ApiError('forbidden', 'Forbidden', [{ path: `policies/${policy}`, message }])
