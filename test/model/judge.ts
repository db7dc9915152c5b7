import type { RelayerPoliciesInput, Transaction } from '../../client/index.ts'
import { parse, type SignedTransaction } from './chain.ts'
import type { History } from './run-scenario.ts'
import type { World } from './world.ts'

const day_ms = 86_400_000
const default_multiple = 5n
/** Two raises by a tenth above a price that the caller gave: its cancellation, and that of a replacement. */
const given_percent = 125n

type Names = Map<bigint, string>

/** Which promises are broken, a line each. */
export async function judge(world: World, history: History, policies: RelayerPoliciesInput): Promise<string[]> {
  const path = { relayer_id: world.relayer_id }
  const rows = await world.ask(async (client) => {
    const query = { per_page: 1_000 }
    return (await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path, query })).data
  })
  const idOf: Names = new Map([...history.asked].flatMap(([id, { values }]) => values.map((value) => [value, id])))
  const signed = new Map(world.signed().map((raw) => [parse(raw).hash, parse(raw)]))
  for (const [hash, { transaction }] of world.sent) signed.set(hash, transaction)
  return [
    ...world.undurable.map(({ nonce, value }) => `not durable: nonce ${nonce}, value ${value} was sent`),
    ...signedTwice(history, [...signed.values()], idOf),
    ...paidWrong(world, history, rows, idOf),
    ...unasked(history, rows, [...signed.values()], world),
    ...tooExpensive(history, [...signed.values()], world),
    ...overLimit(world, history, policies, idOf),
    ...history.internal_errors.map((message) => `internal error: ${message}`),
    ...history.unfinished.map(
      ({ nonce, status, status_reason }) => `unfinished: nonce ${nonce} is ${status} (${status_reason})`,
    ),
  ]
}

/** What was asked once is signed at one nonce only, unless something else provably used the first nonce. */
function signedTwice({ foreign }: History, signed: SignedTransaction[], idOf: Names): string[] {
  const taken = new Set([...foreign.values()].map(({ nonce }) => nonce))
  const byId = Map.groupBy(signed, ({ value }) => idOf.get(value))
  return [...byId].flatMap(([id, own]) => {
    const nonces = [...new Set(own.map(({ nonce }) => nonce))].sort((a, b) => a - b)
    const unproven = id === undefined ? [] : nonces.slice(0, -1).filter((nonce) => !taken.has(nonce))
    return unproven.map((nonce) => `signed twice: ${id} at nonces ${nonces.join(', ')}, and ${nonce} was free`)
  })
}

/** Each transaction moves what was asked at most once, and its row says whether it did. */
function paidWrong({ chain, address, nodes }: World, history: History, rows: Transaction[], idOf: Names): string[] {
  const paid = chain.mined().filter(({ transaction }) => transaction.from === address && transaction.to !== address)
  const own = paid.filter(({ transaction }) => !history.foreign.has(transaction.hash))
  const byId = Map.groupBy(own, ({ transaction }) => idOf.get(transaction.value))
  const wrong: string[] = []
  const hasHonestNodes = nodes.urls.length > 1
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
    if (status === 'failed' && hasHonestNodes && /refused it/.test(status_reason ?? '')) {
      wrong.push(`failed, though most nodes would take it: ${row.id} (${status_reason})`)
    }
    if (status === 'canceled' && !history.asked.get(row.id)?.may_end_withdrawn)
      wrong.push(`canceled unasked: ${row.id}`)
  }
  return wrong
}

/**
 * Self-transfers are signed for withdrawals that somebody asked for, and for nonces that somebody else gave back. One at a nonce
 * that somebody else has used can never be paid.
 */
function unasked(history: History, rows: Transaction[], signed: SignedTransaction[], { address }: World): string[] {
  const rowAt = new Map(rows.map((row) => [row.nonce, row]))
  const selfTransfers = new Set(
    signed.filter(({ to, value }) => to === address && value === 0n).map(({ nonce }) => nonce),
  )
  const used = new Set([...history.foreign.values()].map(({ nonce }) => nonce))
  const wrong = [...selfTransfers].filter((nonce) => {
    if (used.has(nonce)) return false
    const row = rowAt.get(nonce)
    const asked = row && history.asked.get(row.id)
    // One that was signed while every node refused the original, which was mined after all, is not paid.
    if (asked) return !asked.may_end_withdrawn && !fair.has(row.status)
    return !history.was_foreign_removed && !history.was_lie_healed
  })
  return wrong.length === 0
    ? []
    : [`unasked self-transfers: ${wrong.length}, at nonces ${wrong.slice(0, 20).join(', ')}`]
}

/**
 * No signature pays more than the policy's multiple of the market, unless the caller gave its price. A cancellation pays a tenth
 * more than what it replaces, so that nodes take it.
 */
function tooExpensive(history: History, signed: SignedTransaction[], { address }: World): string[] {
  const { peak_base_fee, given_price, was_price_lie_told } = history
  if (was_price_lie_told) return []
  const market = 2n * peak_base_fee + 1_000_000_000n
  const given = (given_price * given_percent) / 100n
  const wrong = signed.filter(({ to, max_fee }) => {
    const percent = to === address ? 110n : 100n
    return max_fee > given && max_fee * 100n > market * default_multiple * percent
  })
  const highest = highestOf(wrong.map(({ max_fee }) => max_fee))
  const times = Number((highest * 100n) / market) / 100
  return wrong.length > 0 ? [`too expensive: ${highest} wei a unit is ${times} times the market`] : []
}

/** What was moved of what was accepted within any day stays below the limit. */
function overLimit({ chain }: World, history: History, policies: RelayerPoliciesInput, idOf: Names): string[] {
  const limit = BigInt(policies.max_value_per_day ?? 2n ** 255n)
  const moved = chain.mined().flatMap(({ transaction: { value, hash } }) => {
    const id = idOf.get(value)
    const asked = id === undefined ? undefined : history.asked.get(id)
    return asked && !history.foreign.has(hash) ? [{ value, at_ms: asked.accepted_at_ms }] : []
  })
  for (const { at_ms: from_ms } of moved) {
    const within = moved.filter(({ at_ms }) => at_ms >= from_ms && at_ms < from_ms + day_ms)
    const sum = within.reduce((total, { value }) => total + value, 0n)
    if (sum > limit) return [`over the limit: ${sum} wei in a day, and ${limit} are allowed`]
  }
  return []
}

const highestOf = (amounts: bigint[]) => amounts.sort((a, b) => (a < b ? 1 : -1))[0] ?? 0n

const fair: ReadonlySet<string> = new Set(['failed', 'confirmed'])
