import { DomainError, errorOf } from '../../domain/errors.ts'
import type { NewTransaction, PoolInsertResult, PoolTransaction, Replay } from '../../domain/new-transaction.ts'
import { checkPoolPolicies, poolSpendingOf } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../domain/rows.ts'
import type { TransactionRequest } from '../../domain/transaction-request.ts'
import type { SenderContext } from '../../sender/context.ts'
import { type TransactionQuote, tooLittle } from './quote.ts'
import { type Accepted, type Asker, type Complete, type SubmitParts, unchanged } from './send-parts.ts'

export type Commit = (wanted: PoolTransaction, auditEntry: PendingAuditEntry) => Promise<PoolInsertResult>

interface Candidate {
  relayer: RelayerRow
  quote: TransactionQuote
  weight: number
  transaction: NewTransaction
}

/**
 * How many relayers are prepared at once, and compared in the commit: of two, the better one is nearly the best of all. One where nodes
 * must estimate the gas for each.
 */
const preparedAtOnce = { given: 2, estimated: 1 }
const maxAttempts = 5

export interface PoolParts extends SubmitParts {
  order: PoolOrder
  makeId(): string
  /** Throws DomainError for a creation that was refused. */
  accepted(creation: Replay, relayerId: string): Accepted
}

/**
 * Offers a transaction to relayers of a pool. Those that have the fewest unfinished transactions for their weight are asked first. The
 * commit, which takes the nonce, chooses among those that could take it (store/queries/insert-transaction.ts).
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
    const count = preparedAtOnce[request.gas_limit === null ? 'estimated' : 'given']
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
      const { row_id: poolRowId } = pool
      const { ordering_key } = request
      const creation = await commit({ pool_row_id: poolRowId, ordering_key, candidates: wanted }, auditEntry)
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
    for (let count = 0; count < maxAttempts; count += 1) {
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
  !(error instanceof DomainError) || error.code === 'invalid_request' || error.code === 'unprocessable'

const ofRelayer = ['insufficient_funds', 'policy_violation', 'rate_limited', 'not_found']
/** Another relayer may still take it. */
export const isOfRelayer = (error: unknown): boolean => error instanceof DomainError && ofRelayer.includes(error.code)

export interface Member {
  relayer: RelayerRow
  weight: number
}

export interface Order {
  /** The preferred first; at least one. */
  members: Member[]
  /** The request has its answer. */
  done(): void
}

export type PoolOrder = ReturnType<typeof createPoolOrder>

/** The order in which the relayers of pools are asked. */
export function createPoolOrder({ store, findRelayer }: Pick<SenderContext, 'store' | 'findRelayer'>) {
  const loads = createPoolLoads(store)

  /** The members in the order in which they are asked: those that need help with their own transactions come last. */
  async function inOrder(pool: PoolRow, orderingKey: string | null): Promise<Order> {
    const pinned = orderingKey === null ? undefined : await store.pinnedRelayer(pool.row_id, orderingKey)
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

  return { inOrder, chose: loads.chose }
}

export const unavailable = (message: string): DomainError => errorOf('unavailable', 'pool', message)
export const noRelayer = (): DomainError =>
  unavailable('No relayer of the pool can take the transaction now; repeat the request')
const hasLeft = () =>
  unavailable('A relayer that has left the pool has unfinished transactions with this ordering key; repeat the request')

/** What a relayer has to do. It orders the relayers of a pool only: the commit reads the numbers again. */
export interface PoolLoad {
  unfinished: number
  /** Its first unfinished transaction waits for something. */
  is_waiting: boolean
  /** Grows with each choice: the one that was idle the longest has the lowest. */
  chosen: number
}

/** How long a number from the store is used, with this process's own choices added. */
const maxAgeMs = 250

export interface PoolLoads {
  /** Reads the numbers of these relayers if they are old. */
  refresh(relayerRowIds: number[]): Promise<void>
  of(relayerRowId: number): PoolLoad
  /** A request asks this relayer first; it counts as chosen until the returned function is called. */
  ask(relayerRowId: number): () => void
  /** A transaction was accepted for this relayer. */
  chose(relayerRowId: number): void
}

export function createPoolLoads(store: Pick<SenderContext['store'], 'loadsOf'>): PoolLoads {
  const asked = new Map<number, number>()
  const chosen = new Map<number, number>()
  let loads = new Map<number, Omit<PoolLoad, 'chosen'>>()
  let readAt = Number.NEGATIVE_INFINITY
  let choices = 0

  return {
    async refresh(relayerRowIds) {
      const isOld = performance.now() - readAt > maxAgeMs
      if (!isOld && relayerRowIds.every((rowId) => loads.has(rowId))) return
      const read = await store.loadsOf([...new Set([...(isOld ? [] : loads.keys()), ...relayerRowIds])])
      loads = new Map(read.map(({ relayer_row_id, ...load }) => [relayer_row_id, load]))
      readAt = performance.now()
    },
    of(rowId) {
      const { unfinished, is_waiting } = loads.get(rowId) ?? { unfinished: 0, is_waiting: false }
      return { unfinished: unfinished + (asked.get(rowId) ?? 0), is_waiting, chosen: chosen.get(rowId) ?? 0 }
    },
    ask(rowId) {
      asked.set(rowId, (asked.get(rowId) ?? 0) + 1)
      return () => {
        const left = (asked.get(rowId) ?? 1) - 1
        if (left === 0) asked.delete(rowId)
        else asked.set(rowId, left)
      }
    },
    chose(rowId) {
      const load = loads.get(rowId)
      if (load) load.unfinished += 1
      choices += 1
      chosen.set(rowId, choices)
    },
  }
}
