import type { RelayerPolicies, RelayerPoliciesInput, RelayerPoliciesPatch } from '../../generated/openapi.ts'
import { readAddress, readAmount } from './values.ts'

export function readPolicies(input: RelayerPoliciesInput): RelayerPolicies {
  const { min_balance, gas_price_cap, whitelist_receivers, ...rest } = input
  const policies: RelayerPolicies = rest
  if (min_balance !== undefined) policies.min_balance = readAmount(min_balance, '/body/policies/min_balance')
  if (gas_price_cap !== undefined) policies.gas_price_cap = readAmount(gas_price_cap, '/body/policies/gas_price_cap')
  if (whitelist_receivers !== undefined) {
    policies.whitelist_receivers = whitelist_receivers.map((address, index) =>
      readAddress(address, `/body/policies/whitelist_receivers/${index}`),
    )
  }
  return policies
}

/** RFC 7396, key by key: null removes; null for the whole removes all. */
export function mergePolicies(current: RelayerPolicies, patch: RelayerPoliciesPatch | null): RelayerPolicies {
  if (patch === null) return {}
  const removed = new Set(
    Object.entries(patch)
      .filter(([, value]) => value === null)
      .map(([name]) => name),
  )
  const given = Object.entries(patch).filter(([, value]) => value !== null)
  const kept = Object.entries(current).filter(([name]) => !removed.has(name))
  return { ...Object.fromEntries(kept), ...readPolicies(Object.fromEntries(given)) }
}
