import { createHash } from 'node:crypto'
import pLimit from 'p-limit'
import type { AmountUsage, NetworkNode, Problem, ProblemKind } from '../../generated/openapi.ts'
import type { NodeHealth } from '../chain/node-health.ts'
import type { Fault } from '../domain/errors.ts'
import { isBlocked } from '../domain/funding.ts'
import type { RelayerRow } from '../domain/rows.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { checksummed } from '../domain/values.ts'
import { type ChainPace, nextStep, reasonToWait, shownReason, standsStill } from '../domain/wait-reason.ts'
import { BoundedMap } from '../lib/cache.ts'
import { withTimeout, yieldToEventLoop } from '../lib/timers.ts'
import type { ExternalTransactions } from '../store/queries/accounts.ts'
import type { FundingNote } from '../store/queries/funding.ts'
import type { Refusals } from '../store/queries/refusals.ts'
import type { Failures, NotificationState } from '../store/queries/service.ts'
import type { SponsorshipRow } from '../store/queries/sponsorships.ts'

/** A transaction that is not mined after this time is a problem, even without a known reason. */
const slowMs = 5 * 60_000
const slowOnStillChainMs = 60_000
/** The first retry of a delivery starts within 6 s of the failure. A failure that it ends is no problem. */
const retriedMs = 10_000

/** All problems, the most urgent first. Pure, but for the turns that it gives to other work. */
export async function findProblems(facts: Facts): Promise<FoundProblem[]> {
  const byRowId = new Map(facts.relayers.map((relayer) => [relayer.row_id, relayer]))
  const problems = [
    ...facts.unready.map(({ of, message }) =>
      problem('service', of, { summary: `A part of the service does not work: ${of}`, reason: message }),
    ),
    ...[...facts.nodes].flatMap(([network, nodes]) => (nodes instanceof Error ? [] : ofNodes(network, nodes.nodes))),
    ...ofStillChains(facts),
    ...facts.relayers.flatMap(ofState),
    ...facts.external.flatMap((its) =>
      facts.relayers.filter((relayer) => isOn(relayer, its)).map((one) => ofExternal(one, its)),
    ),
    ...facts.relayers.flatMap((relayer) => ofFunding(relayer, facts.funding.get(relayer.row_id))),
  ]
  await yieldToEventLoop()
  problems.push(...facts.queues.flatMap((queue) => ofQueue(queue, paceOf(queue.relayer, facts))))
  for (const relayer of facts.relayers) {
    const account = facts.accounts.get(relayer.id)
    if (account && !(account instanceof Error)) problems.push(...ofAccount(relayer, account))
  }
  await yieldToEventLoop()
  for (const failures of facts.failures) {
    const relayer = byRowId.get(failures.relayer_row_id)
    if (relayer) problems.push(ofFailures(relayer, failures))
  }
  problems.push(...facts.notifications.flatMap((state) => ofNotification(state, facts.now)))
  problems.push(...facts.sponsorships.flatMap(ofSponsorship), ...facts.refusals.map(ofRefusals))
  return problems.sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || startOf(a.since) - startOf(b.since))
}

const startOf = (since: string | null) => (since === null ? Number.MAX_VALUE : Date.parse(since))

/** The chain of a relayer, by the newest block of the network's nodes. */
function paceOf({ network }: RelayerRow, { now, nodes }: Facts): ChainPace {
  const seen = nodes.get(network)
  if (!seen || seen instanceof Error) return { now, head_at: undefined, average_blocktime_ms: undefined }
  const times = seen.nodes.flatMap(({ block_at }) => (block_at === null ? [] : [Date.parse(block_at)]))
  const headAt = times.length === 0 ? undefined : Math.max(...times)
  return { now, head_at: headAt, average_blocktime_ms: seen.average_blocktime_ms }
}

function ofNodes(network: string, nodes: NetworkSeen['nodes']): FoundProblem[] {
  const bad = nodes.filter(({ status }) => status !== 'healthy')
  if (bad.length === 0) return []
  const isAll = bad.length === nodes.length
  const summary = isAll
    ? `${network}: no node is healthy`
    : `${network}: ${bad.length} of ${nodes.length} nodes ${bad.length === 1 ? 'is' : 'are'} not healthy`
  const reason = bad.map(({ url, status, error }) => `${url}: ${words(status)}${error ? ` (${error})` : ''}`).join('; ')
  const its = { network_id: `evm:${network}`, summary, reason, count: bad.length }
  return [problem(isAll ? 'network_down' : 'node_unhealthy', '', its)]
}

/**
 * Networks whose nodes show no new block, while transactions wait for one: a development chain makes none without transactions. A relayer
 * with nodes of its own may see blocks that they do not show.
 */
function ofStillChains(facts: Facts): FoundProblem[] {
  const heads = new Map<string, number>()
  for (const { relayer, first } of facts.queues) {
    if (relayer.custom_rpc_urls.length > 0) continue
    const pace = paceOf(relayer, facts)
    const isHeld = first.status === 'submitted' && isSlow(first, pace) && reasonToWait(first, pace) === null
    if (isHeld && pace.head_at !== undefined && standsStill(pace)) heads.set(relayer.network, pace.head_at)
  }
  return [...heads].map(([network, headAt]) =>
    problem('network_still', '', {
      network_id: `evm:${network}`,
      summary: `${network}: no new blocks`,
      reason:
        'Transactions wait for the next block, and a higher price does not help. Check the network and its nodes.',
      since: new Date(headAt).toISOString(),
    }),
  )
}

function ofState({ id, paused, system_disabled, disabled_reason }: RelayerRow): FoundProblem[] {
  if (system_disabled) {
    const reason = disabled_reason ?? 'No reason was recorded.'
    return [problem('relayer_disabled', '', { relayer_id: id, summary: `${id} is disabled`, reason })]
  }
  if (!paused) return []
  const reason = 'It signs and sends nothing until someone resumes it.'
  return [problem('relayer_paused', '', { relayer_id: id, summary: `${id} is paused`, reason })]
}

function ofFunding({ id }: RelayerRow, note: FundingNote | undefined): FoundProblem[] {
  if (!note || !isBlocked(note.status)) return []
  const summary = `${id} is not being refilled (${words(note.status)})`
  return [
    problem('funding', note.status, {
      relayer_id: id,
      summary,
      reason: note.status_reason ?? summary,
      since: note.since,
    }),
  ]
}

const isOn = ({ chain_id, address }: RelayerRow, its: ExternalTransactions) =>
  chain_id === its.chain_id && address === its.address

/** Of another program, or of another copy of the database. */
function ofExternal({ id }: RelayerRow, { nonce, hash, noticed_at, unknown }: ExternalTransactions): FoundProblem {
  const last = nonce === null ? '' : `The last one has nonce ${nonce}${hash === null ? '' : ` and hash ${hash}`}. `
  const reason =
    `${last}Stop the other program that uses the key, or the other copy of this database. After a restore of this database, compare those that GET /api/v1/relayers/${id}/external-transactions lists, and ` +
    `acknowledge them with POST /api/v1/relayers/${id}/external-transactions/acknowledge, or relayer reconcile ${id} --acknowledge-external FILE.`
  return problem('external_transactions', `${nonce}`, {
    relayer_id: id,
    count: Math.max(1, unknown),
    since: noticed_at,
    summary: `${id}: transactions with its key were not sent by this service`,
    reason,
  })
}

const isSlow = ({ created_at }: TransactionRow, pace: ChainPace): boolean =>
  pace.now - Date.parse(created_at) > (standsStill(pace) ? slowOnStillChainMs : slowMs)

function ofQueue({ relayer: { id }, unfinished, first }: Facts['queues'][number], pace: ChainPace): FoundProblem[] {
  const { created_at, nonce, reference } = first
  const name = reference === null ? `${id} · nonce ${nonce}` : `${id}: ${reference}`
  const waitReason = reasonToWait(first, pace)
  if (waitReason === null && !isSlow(first, pace)) return []
  const behind = unfinished > 1 ? `, and ${unfinished - 1} more behind it` : ''
  const its = {
    relayer_id: id,
    transaction_id: first.id,
    count: unfinished,
    // Not since the last change of the reason: the queue is stuck as long as its first.
    since: created_at,
  }
  if (waitReason === null) {
    const reason = shownReason({ ...first, wait_reason: waitReason }) ?? sentence(nextStep(first, pace).text)
    return [
      problem('transaction_slow', first.id, {
        ...its,
        summary: `${name} is not mined${behind}`,
        reason,
      }),
    ]
  }
  const summary = `${name} waits (${words(waitReason)})${behind}`
  return [problem('transaction_waiting', first.id, { ...its, summary, reason: first.wait_text ?? words(waitReason) })]
}

function ofAccount(
  { id, address, policies, system_disabled }: RelayerRow,
  { balance, nonces }: Account,
): FoundProblem[] {
  const found: FoundProblem[] = []
  const min = BigInt(policies.min_balance ?? 0)
  if (balance < min) {
    const reason = `The balance is ${balance} wei, below the minimum of ${min} wei: send funds to ${checksummed(address)}.`
    found.push(problem('balance_low', '', { relayer_id: id, summary: `${id} is low on funds`, reason }))
  } else if (balance === 0n) {
    const reason = `It cannot pay for a transaction. Send funds to ${checksummed(address)}.`
    found.push(problem('balance_empty', '', { relayer_id: id, summary: `${id} has no funds`, reason }))
  }
  if (nonces.status === 'in_step' || nonces.status === 'unreachable' || system_disabled) return found
  const summary = `${id}: its nonces do not match the chain (${words(nonces.status)})`
  return [...found, problem('nonces', nonces.status, { relayer_id: id, summary, reason: nonces.explanation })]
}

function ofFailures({ id }: RelayerRow, { count, transaction_id, reason: why }: Failures): FoundProblem {
  const summary = `${id}: ${count === 1 ? 'a transaction' : `${count} transactions`} failed in the last 24 hours`
  const reason = why === null ? 'Open it for the reason.' : count === 1 ? why : `The last one: ${why}`
  return problem('transactions_failed', transaction_id ?? '', {
    relayer_id: id,
    transaction_id,
    count,
    summary,
    reason,
  })
}

function ofNotification(state: NotificationState, now: number): FoundProblem[] {
  const { id, created_by, disabled_reason, failing_since, pending, failed } = state
  const its = { notification_id: id, created_by, since: failing_since }
  if (disabled_reason !== null) {
    const summary = `Notification ${id} is disabled`
    return [problem('notification_disabled', '', { ...its, summary, reason: disabled_reason })]
  }
  if (failing_since !== null && now - Date.parse(failing_since) >= retriedMs) {
    const reason = `${pending === 1 ? '1 delivery waits' : `${pending} deliveries wait`}. Each is retried later; once one succeeds, the others follow.`
    const about = { ...its, summary: `Notification ${id} is failing`, reason, count: Math.max(1, pending) }
    return [problem('notification_failing', failing_since, about)]
  }
  if (failed === 0) return []
  const summary = `Notification ${id}: ${failed} deliveries failed`
  const reason = 'No attempts are left. "Redeliver deliveries" sends them again.'
  return [problem('deliveries_failed', `${failed}`, { ...its, summary, reason, count: failed })]
}

/** The next call may cost `max_fee_per_call`. */
function ofSponsorship({ id, max_fee_per_call, paused, usage }: Facts['sponsorships'][number]): FoundProblem[] {
  if (paused || BigInt(usage.remaining) >= BigInt(max_fee_per_call)) return []
  const room = usage.resets_at === null ? '' : ` Calls are possible again at ${usage.resets_at}.`
  const reason = `${usage.used} of ${usage.limit} wei were used in the last 24 hours, and a call may cost ${max_fee_per_call} wei, so calls are refused.${room}`
  const summary = `Sponsorship ${id} has used up its budget`
  return [problem('sponsorship_used_up', '', { sponsorship_id: id, summary, reason })]
}

function ofRefusals(its: Refusals): FoundProblem {
  const { resource, id, rule, count, caller, caller_name, changed_by, changed_by_name, changed_at, since, last_at } =
    its
  const at = (time: number) => new Date(time).toISOString()
  const times = count === 1 ? 'a request' : `${count} requests`
  const changed = changed_at === null ? '' : ` Last changed by ${changed_by_name}, ${at(changed_at)}.`
  return problem('requests_refused', `${rule} ${since}`, {
    [`${resource}_id`]: id,
    count,
    since: at(since),
    summary: `${id} refused ${times} (${words(rule)})`,
    reason: `The last one, from ${caller_name}: ${its.reason || 'it is paused'}.${changed}`,
    refusal: {
      rule,
      last_at: at(last_at),
      last_caller: caller,
      changed_by,
      changed_at: changed_at === null ? null : at(changed_at),
    },
    ended: its.is_acknowledged,
  })
}

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}.`
const words = (code: string): string => code.replaceAll('_', ' ')

/** A problem as it is found; `created_by`: of its notification; `ended`: it is listed as long as it is acknowledged. */
export interface FoundProblem extends Omit<Problem, 'acknowledgement'> {
  created_by?: string
  ended?: boolean
}

/** The account of a relayer on its chain. */
export interface Account {
  balance: bigint
  nonces: { status: string; explanation: string }
}

/** The nodes of a network. */
export interface NetworkSeen {
  nodes: (NodeHealth & Pick<NetworkNode, 'url'>)[]
  average_blocktime_ms: number | null
}

/** What problems are found in. An Error: it could not be found out. */
export interface Facts {
  /** Milliseconds since the Unix epoch. */
  now: number
  relayers: RelayerRow[]
  queues: { relayer: RelayerRow; unfinished: number; first: TransactionRow }[]
  failures: Failures[]
  accounts: ReadonlyMap<string, Account | Error>
  /** By the name of the network. */
  nodes: ReadonlyMap<string, NetworkSeen | Error>
  notifications: NotificationState[]
  /** By the relayer's row id. */
  funding: ReadonlyMap<number, FundingNote>
  external: ExternalTransactions[]
  refusals: Refusals[]
  sponsorships: (SponsorshipRow & { usage: AmountUsage })[]
  unready: Fault[]
}

const maxText = 1_000

/**
 * The most urgent first: what keeps more from being sent. The order of one severity is that of this list, and within a kind the longest
 * standing is first.
 */
const severities: Record<ProblemKind, Problem['severity']> = {
  service: 'critical',
  network_down: 'critical',
  network_still: 'critical',
  relayer_disabled: 'critical',
  balance_empty: 'critical',
  balance_low: 'critical',
  transaction_waiting: 'critical',
  nonces: 'critical',
  external_transactions: 'critical',
  sponsorship_used_up: 'critical',
  funding: 'warning',
  transaction_slow: 'warning',
  node_unhealthy: 'warning',
  transactions_failed: 'warning',
  requests_refused: 'warning',
  deliveries_failed: 'warning',
  notification_disabled: 'warning',
  notification_failing: 'warning',
  unchecked: 'warning',
  relayer_paused: 'info',
}
const kinds = Object.keys(severities)

interface Its extends Partial<Omit<FoundProblem, 'id' | 'kind' | 'severity'>> {
  summary: string
  reason: string
}

/** `cause`: what makes it another problem than the last of its kind and resource. */
export function problem(kind: ProblemKind, cause: string, its: Its): FoundProblem {
  const about = [kind, its.relayer_id, its.network_id, its.notification_id, its.pool_id, its.sponsorship_id, cause]
  return {
    id: createHash('sha256').update(JSON.stringify(about)).digest('base64url').slice(0, 22),
    kind,
    severity: severities[kind],
    relayer_id: null,
    network_id: null,
    notification_id: null,
    pool_id: null,
    sponsorship_id: null,
    transaction_id: null,
    refusal: null,
    count: 1,
    since: null,
    ...its,
    summary: its.summary.slice(0, maxText),
    reason: its.reason.slice(0, 2 * maxText),
  }
}

interface Seen<Value> {
  at: number
  value?: Value
  error?: string
}

const maxKnown = 10_000
const maxAtOnce = 100
const patienceMs = 2_000
const late = () => new Error('not answered yet')

/** Answers that are looked at again: each is kept for `freshMs`, and a failed question for a sixth of it. */
export class LastSeen<Value> {
  readonly #freshMs: number
  readonly #elapsed: () => number
  readonly #known = new BoundedMap<string, Seen<Value>>(maxKnown)
  readonly #asking = new Map<string, Promise<void>>()
  readonly #limit = pLimit(maxAtOnce)

  constructor(freshMs: number, elapsed: () => number) {
    this.#freshMs = freshMs
    this.#elapsed = elapsed
  }

  /** The answers by key, as far as they come within `patienceMs`; a later call has the others. A failure is its message. */
  async read<Key extends string>(questions: ReadonlyMap<Key, () => Promise<Value>>): Promise<Map<Key, Value | Error>> {
    const asked = [...questions].flatMap(([key, question]) => {
      const seen = this.#known.get(key)
      return seen && this.#isFresh(seen) ? [] : [this.#ask(key, question)]
    })
    await withTimeout(patienceMs, late, () => Promise.all(asked)).catch(() => undefined)
    return new Map(
      [...questions.keys()].map((key): [Key, Value | Error] => {
        const seen = this.#known.get(key)
        // An answer of before stays until the next one comes, but not for long.
        if (!seen || this.#elapsed() - seen.at > 2 * this.#freshMs) return [key, late()]
        return [key, seen.error === undefined ? (seen.value as Value) : new Error(seen.error)]
      }),
    )
  }

  #ask(key: string, question: () => Promise<Value>): Promise<void> {
    const running = this.#asking.get(key)
    if (running) return running
    const asked = this.#limit(question)
      .then(
        (value) => void this.#known.set(key, { at: this.#elapsed(), value }),
        (error: Error) => void this.#known.set(key, { at: this.#elapsed(), error: error.message }),
      )
      .finally(() => this.#asking.delete(key))
    this.#asking.set(key, asked)
    return asked
  }

  #isFresh({ at, error }: Seen<Value>) {
    return this.#elapsed() - at < (error === undefined ? this.#freshMs : this.#freshMs / 6)
  }
}
