import type { PoolPolicies, RelayerPolicies } from '../../../generated/openapi.ts'
import { type ApiError, type Detail, refusedBy } from '../errors.ts'
import { gwei } from '../prices.ts'
import type { RelayerRow } from '../rows.ts'
import type { OverLimit, Spend } from '../sending-rows.ts'
import { feeSpending } from './fee-policies.ts'
import { readTokenCall, selectorOf } from './token-calls.ts'

/** The transaction to sign, in normal form: addresses and data in lower case hex, amounts as decimal strings in wei. */
export interface Judged {
  to: string | null
  value: string
  data: string | null
  gas_price: string | null
  max_fee_per_gas: string | null
  /** Absent: a transaction without authorizations. */
  authorization_list?: unknown[] | null
}

/** Throws ApiError (403) for a relayer that accepts no new transactions, because it is drained. */
export function checkNewTransactions({ allow_transactions }: RelayerPolicies): void {
  if (allow_transactions !== false) return
  const message = 'This relayer accepts no new transactions'
  throw refusedBy([{ path: 'policies/allow_transactions', message }])
}

/** Who signs: a relayer. Its address keeps a pool, which has fewer policies, from being taken for one. */
type Policed = Pick<RelayerRow, 'address' | 'policies'>

/**
 * Checks a transaction against the relayer's policies, for every signing path. Throws ApiError (403) with every policy that refuses
 * it. Daily limits are checked by the store, in the database transaction that accepts it.
 */
export function checkPolicies({ policies }: Policed, transaction: Judged): void {
  refuseFor([...brokenRules(policies, transaction, 'policies'), ...brokenRelayerRules(policies, transaction)])
}

/** The path of a pool's policies in details. */
const pool_place = 'pool/policies'

/** The same for the policies of a pool. All others are judged for the relayer that sends. */
export function checkPoolPolicies({ policies }: { policies: PoolPolicies }, transaction: Judged): void {
  refuseFor(brokenRules(policies, transaction, pool_place))
}

function refuseFor(details: Detail[]): void {
  if (details.length > 0) throw refusedBy(details)
}

/** The rules of policies that a relayer has, and no pool. */
function brokenRelayerRules(policies: RelayerPolicies, judged: Judged): Detail[] {
  const { gas_price, max_fee_per_gas, authorization_list } = judged
  const { gas_price_cap, allow_authorizations } = policies
  const details: Detail[] = []
  if (authorization_list && allow_authorizations !== true) {
    const message = 'This relayer does not send transactions with authorizations'
    details.push({ path: 'policies/allow_authorizations', message })
  }
  const price = gas_price ?? max_fee_per_gas
  if (gas_price_cap !== undefined && price !== null && BigInt(price) > BigInt(gas_price_cap)) {
    details.push({
      path: 'policies/gas_price_cap',
      message: `${gwei(price)} is above the cap of ${gwei(gas_price_cap)}`,
    })
  }
  return details
}

/** The rules of policies that a relayer and a pool can have. */
function brokenRules(policies: PoolPolicies, { to, value, data }: Judged, place: string): Detail[] {
  const { whitelist_receivers, max_value } = policies
  const details: Detail[] = []
  const refuse = (policy: keyof PoolPolicies, message: string) => details.push({ path: `${place}/${policy}`, message })

  if (whitelist_receivers && (to === null || !whitelist_receivers.includes(to))) {
    const message = to === null ? 'A contract cannot be created' : `The receiver ${to} is not in whitelist_receivers`
    refuse('whitelist_receivers', message)
  }
  if (max_value !== undefined && BigInt(value) > BigInt(max_value)) {
    refuse('max_value', `${value} wei is above the limit of ${max_value} wei`)
  }
  const selector = selectorOf(data)
  const functions = functionsOf(policies, to)
  if (functions && (selector === undefined || !functions.includes(selector))) {
    const call = selector === undefined ? 'A call without a function selector' : `The function ${selector}`
    refuse('allowed_functions', `${call} is not allowed for ${to}`)
  }
  const token = tokenRule(policies, to, data)
  if (token !== undefined) refuse('token_limits', token)
  return details
}

/** The reason why `token_limits` refuses a call; undefined when it does not. */
function tokenRule(policies: PoolPolicies, to: string | null, data: string | null): string | undefined {
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
  const name = selector === undefined ? 'a call without a function selector' : `the function ${selector}`
  return `token_limits cannot count ${name}, and allowed_functions does not list it for ${to}`
}

type Counted = Pick<Judged, 'to' | 'value' | 'data'>

/** The amounts that the daily limits of a relayer count. `fee`: the highest possible, in wei; absent while it is unknown. */
export const spendingOf = ({ policies }: Policed, transaction: Counted, fee = 0n): Spend[] => [
  ...feeSpending({ policies }, fee),
  ...valueSpending(policies, transaction),
]

/** The amounts that the pool's limits per day count, over all its relayers. */
export const poolSpendingOf = (pool: { row_id: number; policies: PoolPolicies }, transaction: Counted): Spend[] =>
  valueSpending(pool.policies, transaction).map((spend) => ({ ...spend, holder: `pool ${pool.row_id}` }))

function valueSpending(policies: PoolPolicies, { to, value, data }: Counted): Spend[] {
  const { max_value_per_day } = policies
  const spending: Spend[] = []
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

/** The ApiError (403) for an amount above the remaining part of a daily limit. */
export function overLimit({ spend, left }: OverLimit): ApiError {
  const { policy, asset, amount, limit, holder } = spend
  const unit = asset === 'wei' || asset === 'fee' ? ' wei' : ''
  const spent =
    policy === 'funding'
      ? `A refill of up to ${amount}`
      : asset === 'wei'
        ? `${amount} wei`
        : asset === 'fee'
          ? `A fee of up to ${amount} wei`
          : asset === 'calls'
            ? 'One more call'
            : `${amount} of the token ${asset}`
  return refusedBy([
    {
      path: holder?.startsWith('sponsorship')
        ? `sponsorship/${policy}`
        : `${holder === undefined ? '' : 'pool/'}policies/${policy}`,
      message: `${spent} is above the remaining ${left}${unit} of the daily limit of ${limit}${unit}`,
    },
  ])
}

const functionsOf = ({ allowed_functions }: PoolPolicies, to: string | null) =>
  allowed_functions?.find(({ receiver }) => receiver === to)?.selectors

const limitOf = ({ token_limits }: PoolPolicies, to: string | null) => token_limits?.find(({ token }) => token === to)
