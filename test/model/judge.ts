import type { PoolPoliciesInput, RelayerPoliciesInput, ReplaceFundingRequest, Transaction } from '../../client/index.ts'
import type { SignedTransaction } from './chain.ts'
import type { History } from './history.ts'
import type { Attempt, World } from './world.ts'

const dayMs = 86_400_000
const defaultMultiple = 5n

type Names = Map<bigint, string>

/** The limits that hold. */
interface Limits {
  /** Of the main relayer. */
  relayer: RelayerPoliciesInput
  pool: PoolPoliciesInput
  funding: Omit<ReplaceFundingRequest, 'treasury_id'>
}

/** Which promises are broken, a line each. */
export async function judge(world: World, history: History, limits: Limits): Promise<string[]> {
  const rows = await world.ask(
    async (client) => (await client.get('/api/v1/transactions', { query: { per_page: 1_000 } })).data,
  )
  const idOf: Names = new Map([...history.asked].flatMap(([id, { values }]) => values.map((value) => [value, id])))
  const attempts = world.attempts()
  const signed = new Map(attempts.map(({ transaction }) => [transaction.hash, transaction]))
  for (const [hash, { transaction }] of world.sent) signed.set(hash, transaction)
  // A fork asks for more gas than their limit: every node refuses them for good.
  const outdated = new Set(
    attempts
      .filter(({ transaction: { from, to, gas_limit } }) => to !== from && gas_limit < history.peak_gas)
      .map((one) => one.transaction_id),
  )
  return [
    ...world.undurable.map(({ nonce, value }) => `not durable: nonce ${nonce}, value ${value} was sent`),
    ...signedTwice(history, [...signed.values()], idOf),
    ...paidWrong(world, history, rows, { idOf, outdated }),
    ...twoSenders(attempts),
    ...told(world, history),
    ...unasked(history, rows, { attempts, outdated }),
    ...tooExpensive(history, attempts),
    ...overLimit(world, history, limits, idOf),
    ...refilledWrong(world, history, rows, limits.funding),
    ...history.internal_errors.map((message) => `internal error: ${message}`),
    ...history.unfinished.map(
      ({ nonce, status, status_reason }) => `unfinished: nonce ${nonce} is ${status} (${status_reason})`,
    ),
  ]
}

/** A transaction is signed at one nonce only, unless something else provably used the first nonce. */
function signedTwice({ foreign }: History, signed: SignedTransaction[], idOf: Names): string[] {
  const taken = new Set([...foreign.values()].map(({ nonce }) => nonce))
  const byId = Map.groupBy(signed, ({ value }) => idOf.get(value))
  return [...byId].flatMap(([id, own]) => {
    const nonces = [...new Set(own.map(({ nonce }) => nonce))].sort((a, b) => a - b)
    const unproven = id === undefined ? [] : nonces.slice(0, -1).filter((nonce) => !taken.has(nonce))
    return unproven.map((nonce) => `signed twice: ${id} at nonces ${nonces.join(', ')}, and ${nonce} was free`)
  })
}

/** Each transaction transfers its value at most once, and its row states whether it did. */
function paidWrong(
  { chain, accounts }: World,
  history: History,
  rows: Transaction[],
  { idOf, outdated }: { idOf: Names; outdated: ReadonlySet<string> },
): string[] {
  const ownAddresses = new Set(accounts.map(({ address }) => address))
  const paid = chain.mined().filter(({ transaction: { from, to } }) => ownAddresses.has(from) && to !== from)
  const own = paid.filter(({ transaction }) => !history.foreign.has(transaction.hash))
  const byId = Map.groupBy(own, ({ transaction }) => idOf.get(transaction.value))
  const wrong: string[] = []
  for (const { transaction } of byId.get(undefined) ?? []) wrong.push(`unknown payment of ${transaction.value}`)
  for (const row of rows) {
    const payments = byId.get(row.id) ?? []
    if (!history.asked.has(row.id)) continue
    if (payments.length > 1) wrong.push(`paid ${payments.length} times: ${row.id}`)
    const isPaid = payments.length > 0
    const { status, status_reason, value } = row
    if (status === 'confirmed' && !isPaid) wrong.push(`confirmed, and not on chain: ${row.id} (${status_reason})`)
    if (['failed', 'canceled', 'expired'].includes(status) && isPaid) wrong.push(`${status}, and on chain: ${row.id}`)
    if (status === 'confirmed' && isPaid && payments[0]?.transaction.value !== BigInt(value)) {
      wrong.push(`the row says ${value}, and the chain moved ${payments[0]?.transaction.value}: ${row.id}`)
    }
    // Only a minority lies, or the only node. That one ends a transaction when it has refused it for minutes.
    if (status === 'failed' && !outdated.has(row.id) && /refused it(?! again and again)/.test(status_reason ?? '')) {
      wrong.push(`failed, though only liars refused it: ${row.id} (${status_reason})`)
    }
    if (status === 'canceled' && !history.asked.get(row.id)?.may_end_withdrawn)
      wrong.push(`canceled unasked: ${row.id}`)
  }
  return wrong
}

/**
 * Self-transfers are signed for withdrawals that somebody asked for, and at nonces that somebody else had used and a
 * reorganization gave back. The only node is trusted so far: what it has refused for minutes is withdrawn, and a nonce that it has
 * called used for an hour, without showing by what, is filled when it is free after all. What was told to have failed for that reason
 * must not be paid afterwards: its nonce is used up as well.
 */
function unasked(
  history: History,
  rows: Transaction[],
  { attempts, outdated }: { attempts: Attempt[]; outdated: ReadonlySet<string> },
): string[] {
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  const words = /nonce (\d+) is used, but none of them shows/
  const givenUp = new Set(rows.map(({ status_reason }) => words.exec(status_reason ?? '')?.[1]).map(Number))
  const wrong = attempts.filter(({ transaction: { from, to, value, nonce }, transaction_id }) => {
    if (to !== from || value !== 0n) return false
    const wasGivenUp = /Check the chain|refused it again and again/
    const { status, status_reason } = rowOf.get(transaction_id) ?? {}
    if (wasGivenUp.test(status_reason ?? '') || outdated.has(transaction_id)) return false
    // What was withdrawn because of that word, and mined after all in an earlier version.
    if (history.did_only_node_refuse && status === 'confirmed') return false
    const asked = history.asked.get(transaction_id)
    return asked ? !asked.may_end_withdrawn : !history.given_back.has(nonce) && !givenUp.has(nonce)
  })
  const nonces = [...new Set(wrong.map(({ transaction }) => transaction.nonce))]
  return nonces.length === 0
    ? []
    : [`unasked self-transfers: ${nonces.length}, at nonces ${nonces.slice(0, 20).join(', ')}`]
}

/**
 * No signature pays more than the policy's multiple of the market or the price that the caller gave, with one exception: a
 * cancellation or a replacement that somebody asked for may outbid, by the tenth that nodes require, bytes that a node has taken.
 */
function tooExpensive(history: History, attempts: Attempt[]): string[] {
  const { peak_base_fee, was_price_lie_told } = history
  if (was_price_lie_told) return []
  const market = 2n * peak_base_fee + 1_000_000_000n
  const wrong = [...Map.groupBy(attempts, ({ transaction_id }) => transaction_id)].flatMap(([id, own]) => {
    const { given_price = 0n, values = [] } = history.asked.get(id) ?? {}
    return own.filter(({ transaction: { max_fee, nonce, from, to }, number }) => {
      if (max_fee <= given_price || max_fee <= market * defaultMultiple) return false
      const before = own.filter((one) => one.isTaken && one.number < number && one.transaction.nonce === nonce)
      const outbid = highestOf(before.map(({ transaction }) => transaction.max_fee))
      const isAsked = to === from || values.length > 1
      return !isAsked || max_fee * 100n > outbid * 110n + 100n
    })
  })
  const highest = highestOf(wrong.map(({ transaction }) => transaction.max_fee))
  const times = Number((highest * 100n) / market) / 100
  return wrong.length > 0 ? [`too expensive: ${highest} wei a unit is ${times} times the market`] : []
}

/** The transferred value of the transactions accepted within any day stays below the limit. */
function overLimit({ chain, relayer_id }: World, history: History, { relayer, pool }: Limits, idOf: Names): string[] {
  const moved = chain.mined().flatMap(({ transaction: { value, hash } }) => {
    const id = idOf.get(value)
    const asked = id === undefined ? undefined : history.asked.get(id)
    return asked && !history.foreign.has(hash) ? [{ value, at_ms: asked.accepted_at_ms, asked }] : []
  })
  const ofRelayer = moved.filter(({ asked }) => asked.relayer_id === relayer_id)
  const ofPool = moved.filter(({ asked }) => asked.in_pool)
  return [
    ...perDay('over the limit', ofRelayer, relayer.max_value_per_day ?? null),
    ...perDay('over the limit, of the pool', ofPool, pool.max_value_per_day ?? null),
  ]
}

function perDay(
  what: string,
  amounts: { value: bigint; at_ms: number }[],
  limit: bigint | number | string | null,
): string[] {
  for (const { at_ms: fromMs } of amounts) {
    const within = amounts.filter(({ at_ms }) => at_ms >= fromMs && at_ms < fromMs + dayMs)
    const sum = within.reduce((total, { value }) => total + value, 0n)
    if (limit !== null && sum > BigInt(limit)) return [`${what}: ${sum} wei in a day, and ${limit} are allowed`]
  }
  return []
}

/** A private transaction is shown to private relays only. */
const told = ({ told_publicly }: World, { asked }: History): string[] =>
  [...asked].flatMap(([id, { is_private, values }]) =>
    is_private && values.some((value) => told_publicly.has(value)) ? [`told publicly: ${id}`] : [],
  )

/** What was signed by one relayer is never signed by another. */
function twoSenders(attempts: Attempt[]): string[] {
  return [...Map.groupBy(attempts, ({ transaction_id }) => transaction_id)].flatMap(([id, own]) =>
    new Set(own.map(({ transaction }) => transaction.from)).size > 1 ? [`two senders: ${id}`] : [],
  )
}

/** A relayer gets one refill at a time, all together cost the treasury at most the limit, and each is on the chain as its row says. */
function refilledWrong(
  { chain, treasury, accounts }: World,
  history: History,
  rows: Transaction[],
  funding: Limits['funding'],
) {
  if (!treasury) return []
  const refills = rows.filter(({ relayer_id }) => relayer_id === treasury.relayer_id)
  const wrong: string[] = []
  const known = new Set(accounts.map(({ address }) => address))
  for (const { id, to } of refills) if (!known.has(to ?? '')) wrong.push(`refill of a stranger: ${id}`)
  const costs = refills.map(({ value, gas_limit, max_fee_per_gas, gas_price, created_at }) => ({
    value: BigInt(value) + BigInt(gas_limit ?? 0) * BigInt(max_fee_per_gas ?? gas_price ?? 0),
    at_ms: Date.parse(created_at),
  }))
  wrong.push(...perDay('refills over the limit', costs, funding.max_amount_per_day))
  const mined = chain.mined().filter(({ transaction: { from, to } }) => from === treasury.address && to !== from)
  const confirmed = refills.filter(({ status }) => status === 'confirmed')
  if (mined.length !== confirmed.length) wrong.push(`refills on chain ${mined.length}, confirmed ${confirmed.length}`)
  // A refill that such a reorganization removes is sent again beside the next one.
  if (history.was_final_block_removed) return wrong
  for (const own of Map.groupBy(refills, ({ to }) => to).values()) {
    const inOrder = own.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at))
    for (const [index, { id, created_at }] of inOrder.entries()) {
      const before = inOrder[index - 1]
      if (before && (before.ended_at === null || Date.parse(before.ended_at) > Date.parse(created_at)))
        wrong.push(`refilled twice: ${id} beside ${before.id}`)
    }
  }
  return wrong
}

const highestOf = (amounts: bigint[]) => amounts.sort((a, b) => (a < b ? 1 : -1))[0] ?? 0n
