import { ApiError } from '../../core/errors.ts'
import type { NewTransaction, PoolCreation, PoolTransaction, Replay } from '../../core/new-transaction.ts'
import { checkPoolPolicies, poolSpendingOf } from '../../core/policies/transaction-policies.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../core/rows.ts'
import type { TransactionRequest } from '../../core/transaction-request.ts'
import { type Member, noRelayer, type Order, type PoolOrder } from './pool-order.ts'
import { type Quote, tooLittle } from './preparation.ts'
import { type Accepted, type Asker, type Complete, type SubmitParts, unchanged } from './submit-parts.ts'

export type Commit = (wanted: PoolTransaction, auditEntry: PendingAuditEntry) => Promise<PoolCreation>

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

export interface PoolParts extends SubmitParts {
  order: PoolOrder
  makeId(): string
  /** Throws ApiError for a creation that was refused. */
  accepted(creation: Replay, relayer_id: string): Accepted
}

/**
 * Offers a transaction to relayers of a pool. Those that have the fewest unfinished transactions for their weight are asked first. The
 * commit, which takes the nonce, chooses among those that could take it (store/pool-choice.ts).
 */
export function createOffers(parts: PoolParts) {
  const { findRelayer, prepare, order } = parts

  /** Those of some members that can take it, and why the others cannot. */
  async function ask(
    members: Member[],
    request: TransactionRequest,
    id: string,
    asker: Asker<PoolRow>,
    complete: Complete,
  ) {
    const prepared = await Promise.allSettled(
      members.map(async ({ relayer, weight }) => ({
        weight,
        ...(await prepare(relayer, request, { ...asker, authorize: async () => undefined })),
      })),
    )
    const pool = await asker.authorize()
    checkPoolPolicies(pool, request)
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
          transaction: complete(
            { ...countedBy(pool, request, parts.newTransaction(relayer, request, quote)), id },
            quote,
            relayer,
          ),
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
    more: Pick<NewTransaction, 'idempotency' | 'expected_nonce' | 'status_reason'>,
    auditEntry: PendingAuditEntry,
    asker: Asker<PoolRow>,
    commit: Commit,
    complete: Complete,
  ): Promise<Accepted | undefined> {
    let refusal: unknown
    const count = prepared_at_once[request.gas_limit === null ? 'estimated' : 'given']
    for (let from = 0; from < members.length; from += count) {
      const asked = members.slice(from, from + count)
      const { candidates, errors } = await ask(asked, request, parts.makeId(), asker, complete)
      refusal ??= errors[0]
      const [first] = candidates
      if (!first) {
        if (errors.every(isOfRequest)) throw refusal
        continue
      }
      auditEntry.subject = first.transaction.id
      const wanted = candidates.map(({ transaction, weight }) => ({
        transaction: { ...transaction, ...more },
        weight,
      }))
      const { row_id: pool_row_id } = pool
      const { ordering_key } = request
      const creation = await commit({ pool_row_id, ordering_key, candidates: wanted }, auditEntry)
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

  /** Offers it to the relayers in their order until one takes it. */
  async function submit(
    pool: PoolRow,
    request: TransactionRequest,
    inOrder: () => Promise<Order>,
    more: Pick<NewTransaction, 'idempotency' | 'expected_nonce' | 'status_reason'>,
    auditEntry: PendingAuditEntry,
    asker: Asker<PoolRow>,
    commit: Commit,
    complete: Complete = unchanged,
  ): Promise<Accepted> {
    // An early check, before the chain is asked.
    checkPoolPolicies(pool, request)
    for (let count = 0; count < max_attempts; count += 1) {
      const { members, done } = await inOrder()
      try {
        const accepted = await offer(members, pool, request, more, auditEntry, asker, commit, complete)
        if (!accepted) continue
        const { row_id } = await findRelayer(accepted.transaction.relayer_id)
        order.chose(row_id)
        parts.wake(row_id)
        return accepted
      } finally {
        done()
      }
    }
    throw noRelayer()
  }

  return submit
}

/** A relayer's transaction that the pool's limits count too. */
export function countedBy(pool: PoolRow, request: TransactionRequest, its: NewTransaction): NewTransaction {
  const spending = poolSpendingOf(pool, request)
  return { ...its, ...(spending.length > 0 && { spending: [...(its.spending ?? []), ...spending] }) }
}

/** It would be the same for every relayer. */
const isOfRequest = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.code === 'invalid_request' || error.code === 'unprocessable'

const of_relayer = ['insufficient_funds', 'policy_violation', 'rate_limited', 'not_found']
/** Another relayer may still take it. */
export const isOfRelayer = (error: unknown): boolean => error instanceof ApiError && of_relayer.includes(error.code)
