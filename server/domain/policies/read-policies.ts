import type { RelayerPolicies, RelayerPoliciesInput, RelayerPoliciesPatch } from '../../../generated/openapi.ts'
import { badRequest, type Field } from '../errors.ts'
import { mergePatch, readAddress, readAmount } from '../values.ts'

const place = ['policies']
const amounts = [
  'min_balance',
  'gas_price_cap',
  'max_fee_per_transaction',
  'max_fee_per_day',
  'max_value',
  'max_value_per_day',
] as const

/** The policies that are lists: a change replaces all of one. */
export const listPolicies: readonly (keyof RelayerPolicies)[] = [
  ...(['whitelist_receivers', 'allowed_functions', 'token_limits', 'allowed_delegates'] as const),
  'allowed_domain_separators',
]

/** Normalizes policies. Throws DomainError (400) for faults that the contract's schema cannot express. */
export function readPolicies(input: RelayerPoliciesInput): RelayerPolicies {
  const {
    min_balance,
    gas_price_cap,
    max_fee_per_transaction,
    max_fee_per_day,
    max_value,
    max_value_per_day,
    ...others
  } = input
  const {
    whitelist_receivers,
    allowed_delegates,
    allowed_functions,
    token_limits,
    allowed_domain_separators,
    ...flags
  } = others
  const policies: RelayerPolicies = flags
  for (const name of amounts) {
    const given = input[name]
    if (given !== undefined) policies[name] = readAmount(given, [...place, name])
  }
  for (const [name, list] of Object.entries({ whitelist_receivers, allowed_delegates })) {
    if (!list) continue
    policies[name as 'allowed_delegates'] = list.map((address, index) => readAddress(address, [...place, name, index]))
  }
  if (allowed_functions) policies.allowed_functions = readFunctions(allowed_functions)
  if (token_limits) policies.token_limits = readTokenLimits(token_limits)
  if (allowed_domain_separators) {
    policies.allowed_domain_separators = allowed_domain_separators.map(
      (hash) => `0x${hash.replace(/^0x/, '').toLowerCase()}`,
    )
  }
  return policies
}

function readFunctions(input: NonNullable<RelayerPoliciesInput['allowed_functions']>) {
  const own = [...place, 'allowed_functions']
  const functions = input.map(({ address, selectors }, index) => ({
    address: readAddress(address, [...own, index, 'address']),
    selectors: selectors.map((selector) => selector.toLowerCase()),
  }))
  checkOnce(
    functions,
    ({ address }) => address,
    (index) => [...own, index, 'address'],
  )
  return functions
}

function readTokenLimits(input: NonNullable<RelayerPoliciesInput['token_limits']>) {
  const own = [...place, 'token_limits']
  const limits = input.map((limit, index) => {
    const { asset, max_amount_per_transaction = null, max_amount_per_day = null, allow_signatures = false } = limit
    if (allow_signatures && max_amount_per_transaction === null && max_amount_per_day === null) {
      throw badRequest([...own, index, 'allow_signatures'], 'needs max_amount_per_transaction or max_amount_per_day')
    }
    return {
      asset: readAddress(asset, [...own, index, 'asset']),
      max_amount_per_transaction:
        max_amount_per_transaction === null
          ? null
          : readAmount(max_amount_per_transaction, [...own, index, 'max_amount_per_transaction']),
      max_amount_per_day:
        max_amount_per_day === null ? null : readAmount(max_amount_per_day, [...own, index, 'max_amount_per_day']),
      allow_signatures,
    }
  })
  checkOnce(
    limits,
    ({ asset }) => asset,
    (index) => [...own, index, 'asset'],
  )
  return limits
}

/** With two entries for one address it would be ambiguous which one applies. */
function checkOnce<T>(items: T[], keyOf: (item: T) => string, placeOf: (index: number) => Field): void {
  const seen = new Set<string>()
  for (const [index, item] of items.entries()) {
    if (seen.has(keyOf(item))) throw badRequest(placeOf(index), 'is listed twice; each address may have one entry')
    seen.add(keyOf(item))
  }
}

/** RFC 7396 per key: null removes a policy; null for the whole removes all. */
export function mergePolicies(current: RelayerPolicies, patch: RelayerPoliciesPatch | null): RelayerPolicies {
  const given = Object.entries(patch ?? {}).filter(([, value]) => value !== null)
  return mergePatch(current, patch && ({ ...patch, ...readPolicies(Object.fromEntries(given)) } as RelayerPolicies))
}
