import type { RelayerPolicies } from '../../../generated/openapi.ts'
import { type DomainError, type Fault, refusedBy, type Subject } from '../errors.ts'
import { gwei } from '../fees.ts'
import type { PoolRow, RelayerRow, SharedPolicies } from '../rows.ts'
import type { OverLimit, Spend } from '../transaction-rows.ts'
import { budgetSpending, isOfKey, type KeyBudget } from './budgets.ts'
import { feeSpending } from './fee-policies.ts'
import { coinMoved, isUncounted, type Moving, selectorOf, tokenMoved } from './token-calls.ts'

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

/** Throws DomainError (403) for a relayer that accepts no new transactions, because it is drained. */
export function checkNewTransactions({ allow_transactions }: RelayerPolicies): void {
  if (allow_transactions !== false) return
  const message =
    'The relayer is drained: it accepts no new transactions while its policy allow_transactions is false. To accept them again: `relayer resume`, or PATCH allow_transactions: true'
  throw refusedBy([{ of: 'policies', field: ['allow_transactions'], message }])
}

/** Who signs: a relayer. Its address keeps a pool, which has fewer policies, from being taken for one. */
type Policed = Pick<RelayerRow, 'address' | 'policies' | 'coin_token'>

/**
 * Checks a transaction against the relayer's policies, for every signing path. Throws DomainError (403) with every policy that refuses
 * it. Daily limits are checked by the store, in the database transaction that accepts it.
 */
export function checkPolicies(relayer: Policed, transaction: Judged): void {
  const broken = brokenRules(relayer, transaction, 'policies')
  refuseFor([...broken, ...brokenRelayerRules(relayer.policies, transaction)])
}

/** What has policies that a pool and a relayer can have, on a network. */
type Limited = Pick<PoolRow, 'policies' | 'coin_token'>

/** The same for the policies of a pool. All others are judged for the relayer that sends. */
export function checkPoolPolicies(pool: Limited, transaction: Judged): void {
  refuseFor(brokenRules(pool, transaction, 'pool_policies'))
}

function refuseFor(faults: Fault[]): void {
  if (faults.length > 0) throw refusedBy(faults)
}

/** The rules of policies that a relayer has, and no pool. */
function brokenRelayerRules(policies: RelayerPolicies, judged: Judged): Fault[] {
  const { gas_price, max_fee_per_gas, authorization_list } = judged
  const { gas_price_cap, allow_authorizations } = policies
  const faults: Fault[] = []
  if (authorization_list && allow_authorizations !== true) {
    const message = 'This relayer does not send transactions with authorizations'
    faults.push({ of: 'policies', field: ['allow_authorizations'], message })
  }
  const price = gas_price ?? max_fee_per_gas
  if (gas_price_cap !== undefined && price !== null && BigInt(price) > BigInt(gas_price_cap)) {
    faults.push({
      of: 'policies',
      field: ['gas_price_cap'],
      message: `${gwei(price)} is above the cap of ${gwei(gas_price_cap)}`,
    })
  }
  return faults
}

/** The rules of policies that a relayer and a pool can have. */
function brokenRules({ policies, coin_token: coin }: Limited, judged: Judged, of: Subject): Fault[] {
  const { whitelist_receivers, max_value } = policies
  const { to, data } = judged
  const faults: Fault[] = []
  const refuse = (policy: keyof SharedPolicies, message: string) => faults.push({ of, field: [policy], message })

  if (whitelist_receivers && (to === null || !whitelist_receivers.includes(to))) {
    const message = to === null ? 'A contract cannot be created' : `The receiver ${to} is not in whitelist_receivers`
    refuse('whitelist_receivers', message)
  }
  const moved = coinMoved(coin, judged)
  if (max_value !== undefined && moved > BigInt(max_value)) {
    refuse('max_value', `${moved} wei is above the limit of ${max_value} wei`)
  }
  const selector = selectorOf(data)
  const functions = functionsOf(policies, to)
  if (functions && (selector === undefined || !functions.includes(selector))) {
    const call = selector === undefined ? 'A call without a function selector' : `The function ${selector}`
    refuse('allowed_functions', `${call} is not allowed for ${to}`)
  }
  for (const reason of tokenRules({ policies, coin_token: coin }, judged)) refuse('token_limits', reason)
  for (const policy of ['max_value', 'max_value_per_day'] as const) {
    if (policies[policy] === undefined || !isUncounted(coin, judged) || isListed(policies, judged)) continue
    refuse(
      policy,
      `it cannot count ${nameOf(data)} of the chain's coin, and allowed_functions does not list it for ${to}`,
    )
  }
  return faults
}

/** The reasons why `token_limits` refuses a transaction. */
function tokenRules({ policies, coin_token: coin }: Limited, judged: Judged): string[] {
  return (policies.token_limits ?? []).flatMap(({ asset: token, max_amount_per_transaction }) => {
    const moved = tokenMoved(coin, token, judged)
    if (moved?.kind === 'malformed') return `The arguments of ${selectorOf(judged.data)} are malformed`
    if (moved?.kind === 'counted') {
      if (max_amount_per_transaction === null || moved.amount <= BigInt(max_amount_per_transaction)) return []
      return `${moved.amount} of the token ${token} is above the limit of ${max_amount_per_transaction}`
    }
    if (moved === undefined || isListed(policies, judged)) return []
    return `token_limits cannot count ${nameOf(judged.data)}, and allowed_functions does not list it for ${judged.to}`
  })
}

function isListed(policies: SharedPolicies, { to, data }: Judged): boolean {
  const selector = selectorOf(data)
  return selector !== undefined && functionsOf(policies, to)?.includes(selector) === true
}

function nameOf(data: string | null): string {
  const selector = selectorOf(data)
  return selector === undefined ? 'a call without a function selector' : `the function ${selector}`
}

/**
 * The amounts that the daily limits of a relayer, and the budget of the caller's API key, count. `fee`: the highest possible, in wei;
 * absent while it is unknown.
 */
export const spendingOf = (
  relayer: Policed,
  transaction: Moving,
  { fee = 0n, budget }: { fee?: bigint | undefined; budget: KeyBudget | undefined },
): Spend[] => [
  ...feeSpending(relayer, fee, budget),
  ...valueSpending(relayer, transaction),
  ...budgetSpending(budget, relayer, transaction),
]

/** The amounts that the pool's limits per day count, over all its relayers. */
export const poolSpendingOf = (pool: Limited & { row_id: number }, transaction: Moving): Spend[] =>
  valueSpending(pool, transaction).map((spend) => ({ ...spend, holder: `pool ${pool.row_id}` }))

function valueSpending({ policies, coin_token: coin }: Limited, moving: Moving): Spend[] {
  const { max_value_per_day, token_limits = [] } = policies
  const spending: Spend[] = []
  const wei = coinMoved(coin, moving)
  if (max_value_per_day !== undefined && wei > 0n) {
    spending.push({ policy: 'max_value_per_day', asset: 'wei', amount: `${wei}`, limit: max_value_per_day })
  }
  for (const { asset: token, max_amount_per_day } of token_limits) {
    const moved = tokenMoved(coin, token, moving)
    if (max_amount_per_day === null || moved?.kind !== 'counted' || moved.amount === 0n) continue
    spending.push({ policy: 'token_limits', asset: token, amount: `${moved.amount}`, limit: max_amount_per_day })
  }
  return spending
}

function subjectOf(holder: string | undefined): Subject {
  if (holder === undefined) return 'policies'
  if (isOfKey(holder)) return 'budget'
  return (['sponsorship', 'facilitator'] as const).find((name) => holder.startsWith(name)) ?? 'pool_policies'
}

/** The DomainError (403) for an amount above the remaining part of a daily limit. */
export function overLimit({ spend, left, resets_at }: OverLimit): DomainError {
  const { policy, asset, amount, limit, holder, window } = spend
  const unit = asset === 'wei' || asset === 'fee' ? ' wei' : ''
  const words: Record<string, string> = {
    wei: `${amount} wei`,
    fee: `A fee of up to ${amount} wei`,
    calls: isOfKey(holder) ? 'One more transaction or signature' : 'One more call',
  }
  const spent =
    policy === 'funding' ? `A refill of up to ${amount}` : (words[asset] ?? `${amount} of the token ${asset}`)
  return refusedBy([
    {
      of: subjectOf(holder),
      // Of a rule of a sponsorship or a budget also its member: user_limits/max_fee_per_day.
      field: policy.split('/'),
      message: `${spent} is above the remaining ${left}${unit} of the ${window === 'hour' ? 'hourly' : 'daily'} limit of ${limit}${unit}`,
      ...(resets_at !== undefined && { resets_at }),
    },
  ])
}

const functionsOf = ({ allowed_functions }: SharedPolicies, to: string | null) =>
  allowed_functions?.find(({ address }) => address === to)?.selectors
