import { createHash } from 'node:crypto'
import type { AcceptedTransaction, SendTransactionRequest } from '../../../generated/openapi.ts'
import { badRequest } from '../../domain/errors.ts'
import type { InsertResult, NewTransaction, PoolTransaction } from '../../domain/new-transaction.ts'
import { checkPoolPolicies } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../domain/rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { idempotencyScope } from '../../store/queries/insert-transaction.ts'
import { checkPause } from './check-request.ts'
import { countedBy, isOfRelayer, type Member, noRelayer, type PoolOrder } from './pick-relayer.ts'
import { type TransactionQuote, tooLittle } from './quote.ts'
import type { Asker, Idempotency, SubmitParts } from './send-parts.ts'

interface BatchParts extends SubmitParts {
  order: PoolOrder
  /** Throws DomainError for a creation that was refused. */
  failed(creation: InsertResult, id: string): never
}

/** Runs the work for a member; a failure names the member. */
export type OfMember = <T>(index: number, work: () => T | Promise<T>) => Promise<T>

export type SendBatch = (
  relayerId: string,
  bodies: SendTransactionRequest[],
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  asker: Asker,
  ofMember: OfMember,
) => Promise<AcceptedTransaction[]>

export type SendBatchToPool = (
  pool: PoolRow,
  bodies: SendTransactionRequest[],
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  asker: Asker<PoolRow>,
  ofMember: OfMember,
) => Promise<AcceptedTransaction[]>

const maxAttempts = 5
/** How many transactions the nodes are asked about at once. */
const quotedAtOnce = 10

/** Accepts several transactions or none, at consecutive nonces, in one database transaction. */
export function createSubmitBatch(parts: BatchParts): { sendBatch: SendBatch; sendBatchToPool: SendBatchToPool } {
  const { store, findRelayer, prepare } = parts

  async function prepareAll(found: RelayerRow, requests: TransactionRequest[], asker: Asker, ofMember: OfMember) {
    const prepared: { relayer: RelayerRow; quote: TransactionQuote }[] = []
    while (prepared.length < requests.length) {
      const from = prepared.length
      const some = requests.slice(from, from + quotedAtOnce)
      const quoted = some.map((request, index) => ofMember(from + index, () => prepare(found, request, asker)))
      prepared.push(...(await Promise.all(quoted)))
    }
    // The last member may have been prepared long after the first.
    await asker.authorize()
    const relayer = await findRelayer(found.id)
    for (const [index, request] of requests.entries()) {
      await ofMember(index, () => parts.check(relayer, request, (prepared[index] as (typeof prepared)[number]).quote))
    }
    return prepared
  }

  async function readAll(bodies: SendTransactionRequest[], ofMember: OfMember): Promise<TransactionRequest[]> {
    const requests: TransactionRequest[] = []
    for (const [index, body] of bodies.entries()) {
      // Reading an ABI takes up to 12 ms.
      if (body.call) await yieldToEventLoop()
      requests.push(await ofMember(index, () => readTransactionRequest(body)))
    }
    return requests
  }

  /** Undefined: in a pool, another relayer got a transaction with the same ordering key meanwhile. */
  async function acceptAll(
    found: RelayerRow,
    requests: TransactionRequest[],
    once: NewTransaction['idempotency'],
    auditEntry: PendingAuditEntry,
    asker: Asker,
    ofMember: OfMember,
    inPool: (its: NewTransaction, request: TransactionRequest) => NewTransaction | PoolTransaction = (its) => its,
  ): Promise<AcceptedTransaction[] | undefined> {
    const prepared = await prepareAll(found, requests, asker, ofMember)
    const wanted = prepared.map(({ relayer, quote }, index) => {
      const request = requests[index] as TransactionRequest
      return inPool(parts.newTransaction(relayer, request, quote), request)
    })
    const created = await store.createTransactions(auditEntry, wanted, once)
    if (created.outcome === 'mismatch') parts.failed(created, found.id)
    if (created.outcome === 'refused') {
      const { index, creation } = created
      if (creation.outcome === 'pinned') return undefined
      return ofMember(index, () => {
        if (creation.outcome !== 'too_little') return parts.failed(creation, found.id)
        const { relayer, quote } = prepared[index] as (typeof prepared)[number]
        throw tooLittle(relayer, quote, BigInt(creation.reserved))
      })
    }
    parts.wake(found.row_id)
    return created.transactions
  }

  async function replayed(once: NewTransaction['idempotency'], holder: number, id: string) {
    const known = once && (await store.replayBatch(once.caller, holder, once.key, once.body_hash))
    if (known?.outcome === 'mismatch') parts.failed(known, id)
    return known?.transactions
  }

  return {
    async sendBatch(relayerId, bodies, idempotency, auditEntry, asker, ofMember) {
      const found = await findRelayer(relayerId)
      const once = idempotency && { ...idempotency, body_hash: hashOfAll(bodies.map(parts.hashOf)) }
      const before = await replayed(once, found.row_id, relayerId)
      if (before) return before
      checkPause(found)
      const requests = await readAll(bodies, ofMember)
      const accepted = await acceptAll(found, requests, once, auditEntry, asker, ofMember)
      return accepted as AcceptedTransaction[]
    },

    async sendBatchToPool(pool, bodies, idempotency, auditEntry, asker, ofMember) {
      const { row_id: poolRowId } = pool
      const bodyHash = hashOfAll(bodies.map(parts.hashOf))
      const once = idempotency && { ...idempotency, body_hash: bodyHash, pool_row_id: poolRowId }
      const before = await replayed(once, idempotencyScope(0, poolRowId), pool.id)
      if (before) return before
      const requests = await readAll(bodies, ofMember)
      const orderingKey = onlyKeyOf(requests)
      const checkAll = async (its: PoolRow) => {
        for (const [index, request] of requests.entries()) {
          await ofMember(index, () => checkPoolPolicies(its, request))
        }
      }
      await checkAll(pool)
      let now = pool

      /** Undefined: the members were chosen before another transaction with the same ordering key was accepted. */
      async function offer(members: Member[]): Promise<AcceptedTransaction[] | undefined> {
        let refusal: unknown
        for (const { relayer, weight } of members) {
          auditEntry.relayer_id = relayer.id
          const authorize = async () => {
            now = await asker.authorize()
            await checkAll(now)
          }
          try {
            return await acceptAll(
              relayer,
              requests,
              once,
              auditEntry,
              { ...asker, authorize },
              ofMember,
              (its, request) => ({
                ...{ pool_row_id: poolRowId, ordering_key: request.ordering_key },
                candidates: [{ transaction: countedBy(now, request, its), weight }],
              }),
            )
          } catch (error) {
            if (!isOfRelayer(error)) throw error
            refusal ??= error
          }
        }
        throw refusal
      }

      for (let count = 0; count < maxAttempts; count += 1) {
        const { members, done } = await parts.order.inOrder(pool, orderingKey)
        try {
          const accepted = await offer(members)
          if (accepted) return accepted
        } finally {
          done()
        }
      }
      throw noRelayer()
    },
  }
}

/** One relayer takes the whole batch, so at most one order can be kept. Null: none is wanted. */
function onlyKeyOf(requests: TransactionRequest[]): string | null {
  const keys = [...new Set(requests.flatMap(({ ordering_key }) => ordering_key ?? []))]
  if (keys.length > 1) throw badRequest(['transactions'], 'must have one ordering_key: one relayer takes all of them')
  return keys[0] ?? null
}

const hashOfAll = (hashes: string[]): string => createHash('sha256').update(`batch ${hashes.join()}`).digest('hex')
