import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { ApiError, transactionNotFound } from '../../core/errors.ts'
import { checkPolicies, spendingOf } from '../../core/policies/transaction-policies.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../core/rows.ts'
import type {
  NewTransaction,
  PoolCreation,
  PoolTransaction,
  Replay,
  Spend,
  TransactionRow,
  WholeTransactionRow,
} from '../../core/sending-rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../core/transaction-request.ts'
import { type Member, noRelayer, type Order, type PoolOrder } from './pool-order.ts'
import { type Quote, tooLittle } from './preparation.ts'
import { stateOf } from './replace.ts'
import { type Accepted, type Complete, type Idempotency, type SubmitParts, unchanged } from './submit-parts.ts'

export type SendToPool = (
  pool: PoolRow,
  body: SendTransactionRequest,
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  authorize: AuthorizePool,
  /** The relayer that the caller names; absent: the service chooses. `nonce`: the one that it must get. */
  by?: { relayer: RelayerRow; nonce: number | undefined },
  complete?: Complete,
) => Promise<Accepted>

/** Accepts a transaction that was never signed again for another relayer of the pool, and withdraws it. Throws ApiError. */
export type MoveInPool = (
  pool: PoolRow,
  from: RelayerRow,
  row: WholeTransactionRow,
  auditEntry: PendingAuditEntry,
  authorize: AuthorizePool,
) => Promise<Accepted>

type Commit = (wanted: PoolTransaction, auditEntry: PendingAuditEntry) => Promise<PoolCreation>

/** Checks the rights of the caller as they are now, and resolves to the pool as it is now. Throws ApiError (401, 403, 404). */
export type AuthorizePool = () => Promise<PoolRow>

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
 * Sends through one relayer of a pool. Those that have the fewest unfinished transactions for their weight are asked first. The commit,
 * which takes the nonce, chooses among those that could take it (store/pool-choice.ts).
 */
export function createSubmitToPool(parts: PoolParts): { sendToPool: SendToPool; moveInPool: MoveInPool } {
  const { store, findRelayer, prepare, order } = parts
  /** Those of some members that can take it, and why the others cannot. */
  async function ask(
    members: Member[],
    request: TransactionRequest,
    id: string,
    authorize: AuthorizePool,
    complete: Complete,
  ) {
    const prepared = await Promise.allSettled(
      members.map(async ({ relayer, weight }) => ({
        weight,
        ...(await prepare(relayer, request, async () => undefined)),
      })),
    )
    const pool = await authorize()
    checkPolicies(pool, request, place)
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
    authorize: AuthorizePool,
    commit: Commit,
    complete: Complete,
  ): Promise<Accepted | undefined> {
    let refusal: unknown
    const count = prepared_at_once[request.gas_limit === null ? 'estimated' : 'given']
    for (let from = 0; from < members.length; from += count) {
      const asked = members.slice(from, from + count)
      const { candidates, errors } = await ask(asked, request, parts.makeId(), authorize, complete)
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
    authorize: AuthorizePool,
    commit: Commit,
    complete: Complete = unchanged,
  ): Promise<Accepted> {
    // An early check, before the chain is asked.
    checkPolicies(pool, request, place)
    for (let count = 0; count < max_attempts; count += 1) {
      const { members, done } = await inOrder()
      try {
        const accepted = await offer(members, pool, request, more, auditEntry, authorize, commit, complete)
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

  return {
    async sendToPool(pool, body, idempotency, auditEntry, authorize, by, complete) {
      const { row_id: pool_row_id } = pool
      const asked = by ? { ...body, from: by.relayer.id, nonce: by.nonce } : body
      const once = idempotency && { body_hash: parts.hashOf(asked), ...idempotency, pool_row_id }
      if (once) {
        const replayed = await store.replayInPool(once.caller, pool_row_id, once.key, once.body_hash)
        if (replayed) return parts.accepted(replayed, pool.id)
      }
      const request = readTransactionRequest(body)
      const inOrder = async () =>
        by
          ? { members: [{ relayer: by.relayer, weight: 1 }], done() {} }
          : await order.inOrder(pool, request.ordering_key)
      const more = {
        status_reason: null,
        ...(once && { idempotency: once }),
        ...(by?.nonce !== undefined && { expected_nonce: by.nonce }),
      }
      return submit(pool, request, inOrder, more, auditEntry, authorize, store.createPoolTransaction, complete)
    },

    async moveInPool(pool, from, row, auditEntry, authorize) {
      // An early check. The commit checks again.
      if (row.status !== 'pending' || row.intent !== 'send' || row.hash !== null) throw wasSigned(row)
      // Its user knows it by this id, and a moved transaction gets another one.
      if (row.sponsored) throw new ApiError('conflict', 'The call of a sponsorship stays at its relayer')
      const inOrder = async () => {
        const { members, done } = await order.inOrder(pool, null)
        const others = members.filter(({ relayer }) => relayer.row_id !== from.row_id)
        if (others.length > 0) return { members: others, done }
        done()
        throw noRelayer()
      }
      const more = { status_reason: `Moved from the relayer ${from.id}, where it was ${row.id}` }
      const moved = { relayer_row_id: from.row_id, id: row.id }
      const commit: Commit = async (wanted, entry) => {
        const creation = await store.moveInPool(moved, wanted, entry)
        switch (creation.outcome) {
          case 'missing':
            throw transactionNotFound(row.id)
          case 'signed':
            throw wasSigned(creation.row)
          case 'ordered':
            throw new ApiError('conflict', 'The transaction has an ordering key, which keeps it at its relayer')
          default:
            return creation
        }
      }
      const accepted = await submit(pool, requestOf(row), inOrder, more, auditEntry, authorize, commit)
      parts.wake(from.row_id)
      return accepted
    },
  }
}

const wasSigned = (row: TransactionRow) =>
  new ApiError('conflict', `The transaction is ${stateOf(row)}: it may have been signed, or has ended`)

/** What was asked for, as its row has it. */
function requestOf(row: WholeTransactionRow): TransactionRequest {
  const { to, value, data, fragments, gas_limit, valid_until, access_list, authorization_list, reference, metadata } =
    row
  const { fee_ceiling, tip_ceiling, submission } = row
  const isLegacy = row.gas_price !== null
  return {
    ...{ to, value, data, fragments, gas_limit, valid_until, access_list, authorization_list, reference, metadata },
    type: null,
    tier: row.speed?.tier ?? null,
    gas_price: isLegacy ? fee_ceiling : null,
    max_fee_per_gas: isLegacy ? null : fee_ceiling,
    max_priority_fee_per_gas: isLegacy ? null : tip_ceiling,
    ordering_key: null,
    submission:
      submission === null ? { mode: 'public' } : { mode: submission.mode, after_blocks: submission.after_blocks },
  }
}

/** The path of a pool's policies in details. */
export const place = 'pool/policies'

/** The amounts that the pool's limits per day count, over all its relayers. */
export const poolSpendingOf = (pool: PoolRow, request: TransactionRequest): Spend[] =>
  spendingOf(pool, request).map((spend) => ({ ...spend, holder: `pool ${pool.row_id}` }))

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
