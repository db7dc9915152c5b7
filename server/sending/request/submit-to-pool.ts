import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { ApiError } from '../../core/errors.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../core/rows.ts'
import type { NewTransaction, Replay } from '../../core/sending-rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../core/transaction-request.ts'
import { createPoolLoads } from './pool-loads.ts'
import { type Quote, tooLittle } from './preparation.ts'
import type { Accepted, Authorize, Idempotency, SubmitParts } from './submit-batch.ts'

export type SendToPool = (
  pool: PoolRow,
  body: SendTransactionRequest,
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  authorize: Authorize,
) => Promise<Accepted>

interface Candidate {
  relayer: RelayerRow
  quote: Quote
  weight: number
  transaction: NewTransaction
}

/**
 * How many relayers are prepared at once, and compared in the commit: of two, the better one is nearly the best of all. One where nodes
 * must estimate the gas for each.
 */
const prepared_at_once = { given: 2, estimated: 1 }
const max_attempts = 5

interface Member {
  relayer: RelayerRow
  weight: number
}

interface Order {
  /** The preferred first; at least one. */
  members: Member[]
  /** The request has its answer. */
  done(): void
}

interface PoolParts extends SubmitParts {
  makeId(): string
  /** Throws ApiError for a creation that was refused. */
  accepted(creation: Replay, relayer_id: string): Accepted
}

/**
 * Sends through one relayer of a pool. Those that have the fewest unfinished transactions for their weight are asked first. The commit,
 * which takes the nonce, chooses among those that could take it (store/pool-choice.ts).
 */
export function createSubmitToPool(parts: PoolParts): SendToPool {
  const { store, findRelayer, prepare } = parts
  const loads = createPoolLoads(store)

  /** The members in the order in which they are asked: those that need help with their own transactions come last. */
  async function inOrder(pool: PoolRow, ordering_key: string | null): Promise<Order> {
    const pinned = ordering_key === null ? undefined : await store.pinnedRelayer(pool.row_id, ordering_key)
    if (pinned !== undefined) {
      // The caller's rights are those to the relayers that the pool has now.
      if (!pool.relayers.some(({ relayer_id }) => relayer_id === pinned)) throw hasLeft()
      return { members: [{ relayer: await findRelayer(pinned), weight: 1 }], done() {} }
    }
    const members = await Promise.all(
      pool.relayers
        .filter(({ weight }) => weight > 0)
        .map(async ({ relayer_id, weight }) => ({ relayer: await findRelayer(relayer_id), weight })),
    )
    await loads.refresh(members.map(({ relayer }) => relayer.row_id))
    const ranked = members.map((member) => {
      const { paused, system_disabled, policies, row_id } = member.relayer
      const load = loads.of(row_id)
      const needsHelp = paused || system_disabled || policies.allow_transactions === false || load.is_waiting
      return { member, rank: needsHelp ? 1 : 0, share: load.unfinished / member.weight, chosen: load.chosen }
    })
    ranked.sort((a, b) => a.rank - b.rank || a.share - b.share || a.chosen - b.chosen)
    const [first] = ranked
    if (!first) throw noRelayer()
    // Before any other request looks at the loads.
    return { members: ranked.map((its) => its.member), done: loads.ask(first.member.relayer.row_id) }
  }

  /** Those of some members that can take it, and why the others cannot. */
  async function ask(members: Member[], request: TransactionRequest, id: string, authorize: Authorize) {
    const prepared = await Promise.allSettled(
      members.map(async ({ relayer, weight }) => ({
        weight,
        ...(await prepare(relayer, request, async () => undefined)),
      })),
    )
    await authorize()
    const candidates: Candidate[] = []
    const errors: unknown[] = []
    for (const its of prepared) {
      try {
        if (its.status === 'rejected') throw its.reason
        const { weight, quote } = its.value
        const relayer = await findRelayer(its.value.relayer.id)
        parts.check(relayer, request, quote)
        candidates.push({
          weight,
          relayer,
          quote,
          transaction: { ...parts.newTransaction(relayer, request, quote), id },
        })
      } catch (error) {
        errors.push(error)
      }
    }
    return { candidates, errors }
  }

  /** Undefined when another transaction with the same ordering key got a relayer meanwhile. */
  async function offer(
    members: Member[],
    pool: PoolRow,
    request: TransactionRequest,
    idempotency: NewTransaction['idempotency'],
    auditEntry: PendingAuditEntry,
    authorize: Authorize,
  ): Promise<Accepted | undefined> {
    let refusal: unknown
    const count = prepared_at_once[request.gas_limit === null ? 'estimated' : 'given']
    for (let from = 0; from < members.length; from += count) {
      const asked = members.slice(from, from + count)
      const { candidates, errors } = await ask(asked, request, parts.makeId(), authorize)
      refusal ??= errors[0]
      const [first] = candidates
      if (!first) {
        if (errors.every(isOfRequest)) throw refusal
        continue
      }
      auditEntry.subject = first.transaction.id
      const wanted = candidates.map(({ transaction, weight }) => ({
        transaction: { ...transaction, ...(idempotency && { idempotency }) },
        weight,
      }))
      const { row_id: pool_row_id } = pool
      const { ordering_key } = request
      const creation = await store.createPoolTransaction({ pool_row_id, ordering_key, candidates: wanted }, auditEntry)
      if (creation.outcome === 'pinned') return undefined
      try {
        if (creation.outcome === 'too_little') throw tooLittle(first.relayer, first.quote, BigInt(creation.reserved))
        return parts.accepted(creation, first.relayer.id)
      } catch (error) {
        if (!isOfRelayer(error)) throw error
        refusal ??= error
      }
    }
    throw refusal
  }

  return async (pool, body, idempotency, auditEntry, authorize) => {
    const { row_id: pool_row_id } = pool
    const once = idempotency && { ...idempotency, body_hash: parts.hashOf(body), pool_row_id }
    if (once) {
      const replayed = await store.replayInPool(once.caller, pool_row_id, once.key, once.body_hash)
      if (replayed) return parts.accepted(replayed, pool.id)
    }
    const request = readTransactionRequest(body)
    for (let count = 0; count < max_attempts; count += 1) {
      const { members, done } = await inOrder(pool, request.ordering_key)
      try {
        const accepted = await offer(members, pool, request, once, auditEntry, authorize)
        if (!accepted) continue
        const { row_id } = await findRelayer(accepted.transaction.relayer_id)
        loads.chose(row_id)
        parts.wake(row_id)
        return accepted
      } finally {
        done()
      }
    }
    throw noRelayer()
  }
}

/** It would be the same for every relayer. */
const isOfRequest = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.code === 'invalid_request' || error.code === 'unprocessable'

const of_relayer = ['insufficient_funds', 'policy_violation', 'rate_limited', 'not_found']
/** Another relayer may still take it. */
const isOfRelayer = (error: unknown): boolean => error instanceof ApiError && of_relayer.includes(error.code)

const unavailable = (message: string) => new ApiError('unavailable', 'Service Unavailable', [{ path: 'pool', message }])
const noRelayer = () => unavailable('No relayer of the pool can take the transaction now; repeat the request')
const hasLeft = () =>
  unavailable('A relayer that has left the pool has unfinished transactions with this ordering key; repeat the request')
