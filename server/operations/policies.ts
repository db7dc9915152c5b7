import { getAddress } from 'ethers/address'
import type {
  AmountInput,
  RelayerPolicies,
  RelayerPoliciesInput,
  RelayerPoliciesPatch,
} from '../../generated/openapi.ts'
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
  try {
    return getAddress(input).toLowerCase()
  } catch {
    throw badRequest(path, 'has a wrong checksum (EIP-55)')
  }
}

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
