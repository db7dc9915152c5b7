import type { SendTransactionRequest, Transaction } from '../../../generated/openapi.ts'
import { DomainError, invalidTransaction, transactionNotFound } from '../../domain/errors.ts'
import type { NewTransaction, PoolInsertResult, PoolTransaction } from '../../domain/new-transaction.ts'
import { checkOwnTransaction } from '../../domain/policies/budgets.ts'
import { checkPoolPolicies, poolSpendingOf } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../domain/rows.ts'
import { stateText } from '../../domain/statuses.ts'
import { askedSubmission } from '../../domain/submission.ts'
import { contentOfRow, readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import type { TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { type Member, membersInOrder, noRelayer, type Order } from './pick-relayer.ts'
import {
  type Asker,
  type Complete,
  hashOfBody,
  newTransaction,
  type Prepared,
  prepare,
  recheck,
  refusalOfInsert,
  type TransactionsContext,
  unchanged,
  unwrapInsert,
  unwrapReplay,
} from './send.ts'

/** Sends through one relayer of a pool. */
export async function sendToPool(
  context: TransactionsContext,
  asker: Asker<PoolRow>,
  pool: PoolRow,
  /** `by`: the relayer that the caller names; absent: the service chooses. `nonce`: the one that it must get. */
  {
    body,
    by,
    complete = unchanged,
  }: {
    body: SendTransactionRequest
    by?: { relayer: RelayerRow; nonce: number | undefined } | undefined
    complete?: Complete
  },
): Promise<Transaction> {
  const { store } = context
  const { row_id: poolRowId } = pool
  const asked = by ? { ...body, from: by.relayer.id, nonce: by.nonce } : body
  const once = asker.idempotency && { body_hash: hashOfBody(asked), ...asker.idempotency, pool_row_id: poolRowId }
  if (once) {
    const replayed = await store.replayInPool(poolRowId, once)
    if (replayed) return unwrapReplay(replayed, asker.auditEntry)
  }
  const request = readTransactionRequest(body)
  return offerInTurn(context, asker, pool, {
    request,
    inOrder: async () =>
      by
        ? { members: [{ relayer: by.relayer, weight: 1 }], done() {} }
        : membersInOrder(context, pool, request.ordering_key),
    more: {
      status_reason: null,
      ...(once && { idempotency: once }),
      ...(by?.nonce !== undefined && { expected_nonce: by.nonce }),
    },
    commit: store.createPoolTransaction,
    complete,
  })
}

/**
 * Accepts a transaction that was never signed again for another relayer of the pool, and withdraws it. `relayer` finds the one that has it,
 * which may be deleted when the request is repeated. Throws DomainError.
 */
export async function moveInPool(
  context: TransactionsContext,
  asker: Asker<PoolRow>,
  pool: PoolRow,
  { relayer, row }: { relayer(): Promise<RelayerRow>; row: WholeTransactionRow },
): Promise<Transaction> {
  const once = asker.idempotency && {
    ...asker.idempotency,
    body_hash: hashOfBody({ move: row.id }),
    pool_row_id: pool.row_id,
  }
  if (once) {
    const replayed = await context.store.replayInPool(pool.row_id, once)
    if (replayed) return unwrapReplay(replayed, asker.auditEntry)
  }
  const from = await relayer()
  checkOwnTransaction(await context.budgets.ofCaller(asker.auditEntry.caller), row.caller)
  // An early check. The commit checks again.
  if (row.status !== 'pending' || row.intent !== 'send' || row.hash !== null) throw wasSigned(row)
  // Its user knows it by this id, and a moved transaction gets another one.
  if (row.sponsored) throw invalidTransaction('the call of a sponsorship stays at its relayer')
  const moved = { relayer_row_id: from.row_id, id: row.id }
  const accepted = await offerInTurn(context, asker, pool, {
    request: requestOf(row),
    async inOrder() {
      const { members, done } = await membersInOrder(context, pool, null)
      const others = members.filter(({ relayer }) => relayer.row_id !== from.row_id)
      if (others.length > 0) return { members: others, done }
      done()
      throw noRelayer()
    },
    more: {
      is_moved: true,
      status_reason: `Moved from the relayer ${from.id}, where it was ${row.id}`,
      ...(once && { idempotency: once }),
    },
    async commit(wanted, entry) {
      const creation = await context.store.moveInPool(moved, wanted, entry)
      switch (creation.outcome) {
        case 'missing':
          throw transactionNotFound(row.id)
        case 'signed':
          throw wasSigned(creation.row)
        case 'ordered':
          throw invalidTransaction('the transaction has an ordering key, which keeps it at its relayer')
        default:
          return creation
      }
    },
    complete: unchanged,
  })
  context.wake(from.row_id)
  return accepted
}

const wasSigned = (row: TransactionRow) =>
  invalidTransaction(`the transaction is ${stateText(row)}: it may have been signed, or has ended`)

/** What was asked for, as its row has it. */
function requestOf(row: WholeTransactionRow): TransactionRequest {
  const { fee_ceiling, tip_ceiling, submission, valid_until, reference, metadata, deduplication_id } = row
  const isLegacy = row.gas_price !== null
  return {
    ...contentOfRow(row),
    ...{ valid_until, reference, metadata, deduplication_id },
    type: null,
    tier: row.speed,
    gas_price: isLegacy ? fee_ceiling : null,
    max_fee_per_gas: isLegacy ? null : fee_ceiling,
    max_priority_fee_per_gas: isLegacy ? null : tip_ceiling,
    submission: askedSubmission(submission),
  }
}

/** What is offered to relayers of a pool, and how one of them gets it. */
interface Offer {
  request: TransactionRequest
  inOrder(): Promise<Order>
  more: Pick<NewTransaction, 'idempotency' | 'expected_nonce' | 'status_reason' | 'is_moved'>
  commit(wanted: PoolTransaction, auditEntry: PendingAuditEntry): Promise<PoolInsertResult>
  complete: Complete
}

interface Candidate extends Prepared {
  weight: number
  transaction: NewTransaction
}

/**
 * How many relayers are prepared at once, and compared in the commit: of two, the better one is nearly the best of all. One where nodes
 * must estimate the gas for each.
 */
const preparedAtOnce = { given: 2, estimated: 1 }
const maxAttempts = 5

/**
 * Offers a transaction to the relayers of a pool in their order until one takes it. Those that have the fewest unfinished transactions for
 * their weight are asked first. The commit, which takes the nonce, chooses among those that could take it
 * (store/queries/insert-rules.ts).
 */
async function offerInTurn(
  context: TransactionsContext,
  asker: Asker<PoolRow>,
  pool: PoolRow,
  offer: Offer,
): Promise<Transaction> {
  // An early check, before the chain is asked.
  checkPoolPolicies(pool, offer.request)
  for (let count = 0; count < maxAttempts; count += 1) {
    const { members, done } = await offer.inOrder()
    try {
      const accepted = await offerTo(context, asker, members, { ...offer, pool })
      if (!accepted) continue
      const { row_id } = await context.keyring.findRelayer(accepted.relayer_id)
      context.loads.chose(row_id)
      context.wake(row_id)
      return accepted
    } finally {
      done()
    }
  }
  throw noRelayer()
}

/** Undefined when another transaction with the same ordering key got a relayer meanwhile. */
async function offerTo(
  context: TransactionsContext,
  asker: Asker<PoolRow>,
  members: Member[],
  offer: Offer & { pool: PoolRow },
): Promise<Transaction | undefined> {
  const { auditEntry } = asker
  const { request, pool, more } = offer
  let refusal: MemberRefusal | undefined
  const count = preparedAtOnce[request.gas_limit === null ? 'estimated' : 'given']
  for (let from = 0; from < members.length; from += count) {
    const asked = members.slice(from, from + count)
    const { candidates, errors } = await candidatesOf(context, asker, asked, offer)
    refusal ??= errors[0]
    const [first] = candidates
    if (!first) {
      if (errors.every(({ error }) => isForAll(error))) break
      continue
    }
    const wanted = candidates.map(({ transaction, weight }) => ({ transaction: { ...transaction, ...more }, weight }))
    const creation = await offer.commit(
      { pool_row_id: pool.row_id, pool_id: pool.id, ordering_key: request.ordering_key, candidates: wanted },
      auditEntry,
    )
    if (creation.outcome === 'pinned') return undefined
    if ('row_id' in creation) return unwrapInsert(creation, first, auditEntry)
    const error = refusalOfInsert(creation, first)
    if (!isOfRelayer(error)) throw error
    refusal ??= { error, relayer_id: first.relayer.id }
  }
  auditEntry.relayer_id = refusal?.relayer_id ?? null
  throw refusal?.error
}

export interface MemberRefusal {
  error: unknown
  relayer_id: string
}

/** Those of some members that can take it, and why the others cannot. */
async function candidatesOf(
  context: TransactionsContext,
  { nodes, authorize, auditEntry }: Asker<PoolRow>,
  members: Member[],
  { request, complete }: Offer,
) {
  const id = context.makeId()
  const asker = { nodes, auditEntry, authorize: async () => undefined }
  const prepared = await Promise.allSettled(
    members.map(async ({ relayer, weight }) => ({ weight, ...(await prepare(context, asker, { relayer, request })) })),
  )
  const pool = await authorize()
  checkPoolPolicies(pool, request)
  const candidates: Candidate[] = []
  const errors: MemberRefusal[] = []
  const checkOne = async ({ weight, ...its }: Prepared & { weight: number }): Promise<Candidate> => {
    const relayer = await context.keyring.findRelayer(its.relayer.id)
    const checked = await recheck(context, asker, its, { relayer, request })
    const transaction = countedBy(pool, request, newTransaction(context, checked, request))
    return { ...checked, weight, transaction: complete({ ...transaction, id }, checked.quote, checked.relayer) }
  }
  for (const [index, its] of prepared.entries()) {
    const [result] = its.status === 'rejected' ? [its] : await Promise.allSettled([checkOne(its.value)])
    if (result.status === 'fulfilled') candidates.push(result.value)
    else errors.push({ error: result.reason, relayer_id: members[index]?.relayer.id as string })
  }
  return { candidates, errors }
}

/** A relayer's transaction that the pool's limits count too. */
export function countedBy(pool: PoolRow, request: TransactionRequest, its: NewTransaction): NewTransaction {
  const spending = poolSpendingOf(pool, request)
  return { ...its, ...(spending.length > 0 && { spending: [...(its.spending ?? []), ...spending] }) }
}

const isOfPool = ({ faults }: DomainError): boolean =>
  faults.some(({ of }) => of === 'pool_policies' || of === 'budget')

const ofRequest = ['invalid_request', 'idempotency_mismatch', 'unauthorized', 'forbidden']
/** What refuses it before the commit would be the same for every relayer. Otherwise another one is asked. */
export const isForAll = (error: unknown): boolean =>
  !(error instanceof DomainError) || ofRequest.includes(error.code) || isOfPool(error)

const ofRelayer = ['insufficient_funds', 'policy_violation', 'rate_limited', 'not_found']
/** The commit refused it for a reason of the relayer: another one may still take it. Any other failure may have accepted it. */
export const isOfRelayer = (error: unknown): boolean =>
  error instanceof DomainError && ofRelayer.includes(error.code) && !isOfPool(error)
