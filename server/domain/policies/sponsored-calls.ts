import type { Authorization, Sponsorship } from '../../../generated/openapi.ts'
import { type AccountCall, nonceKeyOf, readAccountBatch, readForwardRequest } from '../decoding/sponsored-data.ts'
import { readSignedCall } from '../encoding/signed-calls.ts'
import { badRequest, refusedBy } from '../errors.ts'
import type { PoolRow, RelayerRow, SharedPolicies } from '../rows.ts'
import type { Spend } from '../transaction-rows.ts'
import { selectorOf } from './token-calls.ts'
import { checkPolicies, checkPoolPolicies, poolSpendingOf, spendingOf } from './transaction-policies.ts'

/** What a sponsorship pays for. Addresses and selectors in lower case, amounts as decimal strings in wei. */
export type SponsorshipRules = Pick<
  Sponsorship,
  | (
      | 'targets'
      | 'forwarders'
      | 'delegates'
      | 'keyed_nonce_delegates'
      | 'max_gas_per_call'
      | 'max_fee_per_call'
      | 'max_fee_per_day'
    )
  | ('user_limits' | 'origins')
>

/** A call in normal form: addresses and data in lower case hex. `authorization`: of the account `to`. */
export interface AskedCall {
  to: string
  data: string
  authorization?: Authorization | undefined
}

/**
 * A call that the rules pay for, before the chain was asked. `user`: whose it is, once the chain has checked the signature.
 * `exclusive_key`: only one unfinished call on a chain may have it, because their order is that of a nonce there; null: no signature is
 * known in it. `exclusive_by_nonce_key`: the same where the code of the account has nonce keys. `signed`: equal requests are the same call.
 * `receivers`: every address that it calls; none may be a relayer's (checkReceivers). `value`: what it moves, in wei.
 */
interface JudgedCall {
  kind: 'plain' | 'forward' | 'account'
  user: string | null
  exclusive_key: string | null
  exclusive_by_nonce_key?: string | undefined
  signed: boolean
  receivers: string[]
  value: bigint
  /** The end of what was signed, in RFC 3339. */
  valid_until: string | null
}

/** Throws DomainError (400, 403) for a call that the rules do not pay for. `now`: in milliseconds since the Unix epoch. */
export function judgeCall(rules: SponsorshipRules, asked: AskedCall, now: number): JudgedCall {
  const { deadlines, ...judged } = judge(rules, asked)
  // biome-ignore lint/complexity/useMathMinMax: Math.min knows no bigint.
  const end = deadlines.reduce((first, its) => (its < first ? its : first), never)
  if (end * 1_000n <= BigInt(now)) throw badRequest(['data'], 'the deadline of what was signed has passed')
  return { ...judged, valid_until: end === never ? null : new Date(Number(end) * 1_000).toISOString() }
}

/** The end of the year 9999, in seconds since the Unix epoch: no later time is one in RFC 3339. */
const never = 253_402_300_799n

type Judged = Omit<JudgedCall, 'valid_until'> & { deadlines: bigint[] }

function judge(rules: SponsorshipRules, { to, data, authorization }: AskedCall): Judged {
  if (rules.forwarders.includes(to)) {
    if (authorization) throw badRequest(['authorization_list'], 'cannot be given for a forwarder')
    const request = readForwardRequest(data)
    if (!request)
      throw badRequest(['data'], 'must be a call of execute((address,address,uint256,uint256,uint48,bytes,bytes))')
    if (request.value !== 0n) throw refusedCall('targets', 'a forward request must have the value 0')
    if (request.gas > BigInt(rules.max_gas_per_call))
      throw refusedCall(
        'max_gas_per_call',
        `the forward request asks for ${request.gas} gas; at most ${rules.max_gas_per_call} is paid for`,
      )
    checkTarget(rules, request)
    const deadlines = [request.deadline, ...deadlinesOf([request])]
    return {
      kind: 'forward',
      user: request.from,
      exclusive_key: `${to} ${request.from}`,
      signed: true,
      receivers: [to, request.to],
      value: 0n,
      deadlines,
    }
  }
  if (rules.targets.some(({ address }) => address === to)) {
    if (authorization) throw badRequest(['authorization_list'], 'cannot be given for a plain call')
    checkTarget(rules, { to, data })
    const part = readSignedCall(data)
    const exclusiveKey = part ? `${to} ${part.order}` : null
    const deadlines = deadlinesOf([{ data }])
    return {
      kind: 'plain',
      user: null,
      exclusive_key: exclusiveKey,
      signed: false,
      receivers: [to],
      value: 0n,
      deadlines,
    }
  }
  if (rules.delegates.length === 0) throw notListed(to)
  const batch = readAccountBatch(data)
  if (!batch)
    throw refusedCall(
      'targets',
      `${to} is not listed, and the data is no call of execute(bytes32,bytes) of an account (ERC-7821)`,
    )
  const { calls } = batch
  for (const call of calls) checkTarget(rules, call)
  const key = nonceKeyOf(batch)
  const byNonceKey = key === undefined ? undefined : `${to} ${key}`
  const receivers = [to, ...new Set(calls.map((call) => call.to))]
  const value = calls.reduce((sum, call) => sum + call.value, 0n)
  const deadlines = deadlinesOf(calls)
  const exclusive = { exclusive_key: to, exclusive_by_nonce_key: byNonceKey }
  return { kind: 'account', user: to, ...exclusive, signed: true, receivers, value, deadlines }
}

/**
 * Throws DomainError (403) when a call reaches the address of a relayer. A delegated relayer (EIP-7702) that calls its own address needs no
 * signature: the call would move its own coin. `isRelayer`: whether a relayer has the address, on any chain.
 */
export async function checkReceivers(
  { receivers }: Pick<JudgedCall, 'receivers'>,
  isRelayer: (address: string) => Promise<boolean>,
): Promise<void> {
  for (const receiver of receivers) {
    if (await isRelayer(receiver)) throw refusedCall('targets', `${receiver} is the address of a relayer`)
  }
}

const deadlinesOf = (calls: Pick<AccountCall, 'data'>[]): bigint[] =>
  calls.flatMap(({ data }) => readSignedCall(data)?.deadline ?? [])

/**
 * The key that only this call may have while it is unfinished. `delegate`: the code that its account runs already; undefined: none, or a
 * call that is not an account's. Only code that is known to have nonce keys checks them: elsewhere their place is the sender's to fill.
 */
export const exclusiveKeyOf = (
  { keyed_nonce_delegates }: SponsorshipRules,
  { exclusive_key, exclusive_by_nonce_key }: JudgedCall,
  delegate: string | undefined,
): string | null =>
  (delegate !== undefined && keyed_nonce_delegates.includes(delegate) ? exclusive_by_nonce_key : undefined) ??
  exclusive_key

/** Throws DomainError (403) unless the function is paid for. */
function checkTarget({ targets }: SponsorshipRules, { to, data }: Pick<AccountCall, 'to' | 'data'>): void {
  const target = targets.find(({ address }) => address === to)
  if (!target) throw notListed(to)
  const selector = selectorOf(data)
  if (selector === undefined || !target.selectors.includes(selector)) {
    throw refusedCall('targets', `the function ${selector ?? 'without a selector'} of ${to} is not listed`)
  }
}

/**
 * The code that the account runs. Throws DomainError (403) unless it may be run. `delegate`: undefined: it runs none.
 */
export function checkDelegate({ delegates }: SponsorshipRules, account: string, delegate: string | undefined): string {
  if (delegate !== undefined && delegates.includes(delegate)) return delegate
  const runs =
    delegate === undefined ? 'is not listed, and runs no code of another contract' : `runs the code of ${delegate}`
  throw refusedCall('delegates', `${account} ${runs}; delegates lists what accounts may run`)
}

/** The amounts that the limits of a sponsorship count for a call that is accepted. Throws DomainError (403) when its user is not known. */
export function sponsoredSpending(
  sponsorshipRowId: number,
  { max_fee_per_call, max_fee_per_day, user_limits }: SponsorshipRules,
  user: string | null,
): Spend[] {
  const holder = usageKey(sponsorshipRowId, null)
  const spending: Spend[] = [
    { policy: 'max_fee_per_day', asset: 'fee', amount: max_fee_per_call, limit: max_fee_per_day, holder },
  ]
  if (!user_limits) return spending
  if (user === null)
    throw refusedCall('user_limits', 'a plain call needs a user, which only an API key with the scope send may give')
  const own = usageKey(sponsorshipRowId, user)
  const { max_calls_per_day: count, max_fee_per_day: fee } = user_limits
  if (fee !== null)
    spending.push({
      policy: 'user_limits/max_fee_per_day',
      asset: 'fee',
      amount: max_fee_per_call,
      limit: fee,
      holder: own,
    })
  if (count !== null)
    spending.push({
      policy: 'user_limits/max_calls_per_day',
      asset: 'calls',
      amount: '1',
      limit: `${count}`,
      holder: own,
    })
  return spending
}

/**
 * What an account moves for its user counts for the limits of the sender, as if the sender moved it. Throws DomainError (403) above
 * `max_value`. `value`: in wei.
 */
export function valueSpending(
  { relayer, pool }: { relayer: RelayerRow; pool: PoolRow | undefined },
  value: bigint,
): Spend[] {
  const moved = { to: null, value: `${value}`, data: null, gas_price: null, max_fee_per_gas: null }
  const own = { ...relayer, policies: valueLimits(relayer) }
  checkPolicies(own, moved)
  const spending = spendingOf(own, moved, { budget: undefined })
  if (!pool) return spending
  const shared = { ...pool, policies: valueLimits(pool) }
  checkPoolPolicies(shared, moved)
  return [...spending, ...poolSpendingOf(shared, moved)]
}

const valueLimits = ({ policies: { max_value, max_value_per_day } }: Pick<PoolRow, 'policies'>): SharedPolicies => ({
  ...(max_value !== undefined && { max_value }),
  ...(max_value_per_day !== undefined && { max_value_per_day }),
})

/** The place of what all calls of a sponsorship paid, under which its budget counts it. */
export const sponsorshipBudget = ({
  row_id,
  chain_id,
  max_fee_per_day,
}: {
  row_id: number
  chain_id: number
  max_fee_per_day: string
}) => ({ chain_id, holder: usageKey(row_id, null), asset: 'fee', limit: max_fee_per_day })

/** Under which name the amounts of a sponsorship, or of one of its users, are counted. */
export const usageKey = (sponsorshipRowId: number, user: string | null): string =>
  `sponsorship ${sponsorshipRowId}${user === null ? '' : ` ${user}`}`

export const refusedCall = (rule: keyof SponsorshipRules | 'paused', message: string) =>
  refusedBy([{ of: 'sponsorship', field: [rule], message }])

const notListed = (to: string) => refusedCall('targets', `the contract ${to} is not listed`)
