import type { RelayerPolicies } from '../../generated/openapi.ts'
import { type ApiError, type Detail, refusedBy } from '../errors.ts'
import type { OverLimit, RelayerRow, Spend } from '../store/rows.ts'
import { feeSpending } from './fee-policies.ts'
import { readTokenCall, selectorOf } from './token-calls.ts'

/** What is to be signed, in the one form of each value: lower case addresses and bytes, decimal strings. */
export interface Judged {
  to: string | null
  value: string
  data: string | null
  gas_price: string | null
  max_fee_per_gas: string | null
}

type Policed = Pick<RelayerRow, 'policies'>

/**
 * What the relayer's policies say of a transaction, however it gets signed. Throws ApiError (403) with every rule that is
 * against it. What limits per day have to count is for the store to judge, in the commit that accepts it.
 */
export function checkPolicies({ policies }: Policed, transaction: Judged): void {
  const details = brokenRules(policies, transaction)
  if (details.length > 0) throw refusedBy(details)
}

function brokenRules(policies: RelayerPolicies, { to, value, data, gas_price, max_fee_per_gas }: Judged): Detail[] {
  const { whitelist_receivers, gas_price_cap, max_value } = policies
  const details: Detail[] = []
  const refuse = (policy: keyof RelayerPolicies, message: string) =>
    details.push({ path: `policies/${policy}`, message })

  if (whitelist_receivers && (to === null || !whitelist_receivers.includes(to))) {
    refuse('whitelist_receivers', to === null ? 'A contract cannot be created' : `${to} is no allowed receiver`)
  }
  const price = gas_price ?? max_fee_per_gas
  if (gas_price_cap !== undefined && price !== null && BigInt(price) > BigInt(gas_price_cap)) {
    refuse('gas_price_cap', `${price} is above the cap of ${gas_price_cap}`)
  }
  if (max_value !== undefined && BigInt(value) > BigInt(max_value)) {
    refuse('max_value', `${value} is above the limit of ${max_value}`)
  }
  const selector = selectorOf(data)
  const functions = functionsOf(policies, to)
  if (functions && (selector === undefined || !functions.includes(selector))) {
    refuse('allowed_functions', `${selector ?? 'A call that names no function'} is not allowed for ${to}`)
  }
  const token = tokenRule(policies, to, data)
  if (token !== undefined) refuse('token_limits', token)
  return details
}

/** What the limit of a token has against a call of it. */
function tokenRule(policies: RelayerPolicies, to: string | null, data: string | null): string | undefined {
  const limit = limitOf(policies, to)
  if (!limit) return undefined
  const call = readTokenCall(data)
  if (call.kind === 'malformed') return `The arguments of ${selectorOf(data)} are malformed`
  if (call.kind === 'counted') {
    const { max_amount } = limit
    if (max_amount === undefined || call.amount <= BigInt(max_amount)) return undefined
    return `${call.amount} of the token ${to} is above the limit of ${max_amount}`
  }
  const selector = selectorOf(data)
  if (selector !== undefined && functionsOf(policies, to)?.includes(selector)) return undefined
  return `${selector ?? 'A call that names no function'} is not counted, and allowed_functions does not list it for ${to}`
}

/** What of a transaction limits per day count. `fee`: the highest possible, in wei; absent while it is not known. */
export function spendingOf(
  { policies }: Policed,
  { to, value, data }: Pick<Judged, 'to' | 'value' | 'data'>,
  fee = 0n,
): Spend[] {
  const { max_value_per_day } = policies
  const spending: Spend[] = feeSpending({ policies }, fee)
  if (max_value_per_day !== undefined && value !== '0') {
    spending.push({ policy: 'max_value_per_day', asset: 'wei', amount: value, limit: max_value_per_day })
  }
  const limit = limitOf(policies, to)
  const call = readTokenCall(data)
  if (limit?.max_amount_per_day !== undefined && call.kind === 'counted' && call.amount > 0n) {
    const amount = call.amount.toString()
    spending.push({ policy: 'token_limits', asset: limit.token, amount, limit: limit.max_amount_per_day })
  }
  return spending
}

/** The refusal of what a limit per day leaves no room for. */
export function overLimit({ spend, left }: OverLimit): ApiError {
  const { policy, asset, amount, limit } = spend
  const what =
    asset === 'wei' ? amount : asset === 'fee' ? `A fee of up to ${amount}` : `${amount} of the token ${asset}`
  return refusedBy([
    { path: `policies/${policy}`, message: `${what} is above what is left of ${limit} a day: ${left}` },
  ])
}

const functionsOf = ({ allowed_functions }: RelayerPolicies, to: string | null) =>
  allowed_functions?.find(({ receiver }) => receiver === to)?.selectors

const limitOf = ({ token_limits }: RelayerPolicies, to: string | null) =>
  token_limits?.find(({ token }) => token === to)
