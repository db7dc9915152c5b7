import { createHash } from 'node:crypto'
import type { SendTransactionRequest, Transaction } from '../../../generated/openapi.ts'
import { badRequest, withBatchIndex } from '../../domain/errors.ts'
import type { NewTransaction, PoolTransaction } from '../../domain/new-transaction.ts'
import { checkPoolPolicies } from '../../domain/policies/transaction-policies.ts'
import type { PoolRow, RelayerRow } from '../../domain/rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { idempotencyScope } from '../../store/queries/insert-rules.ts'
import type { Store } from '../../store/store.ts'
import { checkPause } from './check-request.ts'
import { type Member, membersInOrder, noRelayer } from './pick-relayer.ts'
import {
  type Asker,
  hashOfBody,
  keepsChanging,
  maxQuotes,
  mismatch,
  newTransaction,
  type Prepared,
  prepare,
  recheck,
  refusalOfInsert,
  type TransactionsContext,
} from './send.ts'
import { countedBy, isForAll, isOfRelayer, type MemberRefusal } from './send-to-pool.ts'

const maxAttempts = 5
/** How many transactions the nodes are asked about at once. */
const quotedAtOnce = 10

/** A failure names the member. */
const ofMember = <T>(index: number, work: () => T | Promise<T>): Promise<T> =>
  withBatchIndex('transactions', index, work)

type Once = NewTransaction['idempotency']

/** Accepts several transactions or none, at consecutive nonces, in one database transaction. */
export async function sendBatch(
  context: TransactionsContext,
  asker: Asker,
  relayerId: string,
  bodies: SendTransactionRequest[],
): Promise<Transaction[]> {
  const found = await context.keyring.findRelayer(relayerId)
  const once = asker.idempotency && { ...asker.idempotency, body_hash: hashOfAll(bodies) }
  const before = await replayed(context.store, asker, once, found.row_id)
  if (before) return before
  checkPause(found)
  const requests = await readAll(bodies)
  const prepared = await prepareAll(context, asker, found, requests)
  const accepted = await acceptAll(context, asker, found, { requests, prepared, once, inPool: (its) => its })
  return accepted as Transaction[]
}

/** Accepts several transactions or none for one relayer of a pool. */
export async function sendBatchToPool(
  context: TransactionsContext,
  asker: Asker<PoolRow>,
  pool: PoolRow,
  bodies: SendTransactionRequest[],
): Promise<Transaction[]> {
  const { row_id: poolRowId } = pool
  const once = asker.idempotency && { ...asker.idempotency, body_hash: hashOfAll(bodies), pool_row_id: poolRowId }
  const before = await replayed(context.store, asker, once, idempotencyScope(0, poolRowId))
  if (before) return before
  const requests = await readAll(bodies)
  const orderingKey = onlyKeyOf(requests)
  await checkAll(pool, requests)
  for (let count = 0; count < maxAttempts; count += 1) {
    const { members, done } = await membersInOrder(context, pool, orderingKey)
    try {
      const accepted = await offerAll(context, asker, members, { pool, requests, once })
      if (accepted) return accepted
    } finally {
      done()
    }
  }
  throw noRelayer()
}

/** Undefined: the members were chosen before another transaction with the same ordering key was accepted. */
async function offerAll(
  context: TransactionsContext,
  asker: Asker<PoolRow>,
  members: Member[],
  { pool, requests, once }: { pool: PoolRow; requests: TransactionRequest[]; once: Once },
): Promise<Transaction[] | undefined> {
  let refusal: MemberRefusal | undefined
  let now = pool
  const authorize = async () => {
    now = await asker.authorize()
    await checkAll(now, requests)
  }
  for (const { relayer, weight } of members) {
    asker.auditEntry.relayer_id = relayer.id
    const inPool: Batch['inPool'] = (its, request) => ({
      ...{ pool_row_id: pool.row_id, pool_id: pool.id, ordering_key: request.ordering_key },
      candidates: [{ transaction: countedBy(now, request, its), weight }],
    })
    let prepared: Prepared[]
    try {
      prepared = await prepareAll(context, { ...asker, authorize }, relayer, requests)
    } catch (error) {
      if (isForAll(error)) throw error
      refusal ??= { error, relayer_id: relayer.id }
      continue
    }
    try {
      const accepted = await acceptAll(context, asker, relayer, { requests, prepared, once, inPool })
      if (accepted) context.loads.chose(relayer.row_id, accepted.length)
      return accepted
    } catch (error) {
      if (!isOfRelayer(error)) throw error
      refusal ??= { error, relayer_id: relayer.id }
    }
  }
  asker.auditEntry.relayer_id = refusal?.relayer_id ?? null
  throw refusal?.error
}

interface Batch {
  requests: TransactionRequest[]
  prepared: Prepared[]
  once: Once
  inPool(its: NewTransaction, request: TransactionRequest): NewTransaction | PoolTransaction
}

/** Undefined: in a pool, another relayer got a transaction with the same ordering key meanwhile. */
async function acceptAll(
  context: TransactionsContext,
  asker: Asker,
  found: RelayerRow,
  { requests, prepared, once, inPool }: Batch,
): Promise<Transaction[] | undefined> {
  const wanted = prepared.map((its, index) => {
    const request = requests[index] as TransactionRequest
    return inPool(newTransaction(context, its, request), request)
  })
  const created = await context.store.createTransactions(asker.auditEntry, wanted, once)
  if (created.outcome === 'mismatch') throw mismatch(created)
  if (created.outcome === 'refused') {
    const { index, creation } = created
    if (creation.outcome === 'pinned') return undefined
    return ofMember(index, () => {
      throw refusalOfInsert(creation, prepared[index] as Prepared)
    })
  }
  asker.auditEntry.replayed = created.outcome === 'replayed'
  context.wake(found.row_id)
  return created.transactions
}

async function prepareAll(
  context: TransactionsContext,
  asker: Asker,
  found: RelayerRow,
  requests: TransactionRequest[],
): Promise<Prepared[]> {
  const prepared: Prepared[] = []
  while (prepared.length < requests.length) {
    const from = prepared.length
    const some = requests.slice(from, from + quotedAtOnce)
    const quoted = some.map((request, index) =>
      ofMember(from + index, () => prepare(context, asker, { relayer: found, request })),
    )
    prepared.push(...(await Promise.all(quoted)))
  }
  for (let count = 0; count < maxQuotes; count += 1) {
    // The last member may have been prepared long after the first.
    await asker.authorize()
    const relayer = await context.keyring.findRelayer(found.id)
    for (const [index, request] of requests.entries()) {
      const its = prepared[index] as Prepared
      prepared[index] = await ofMember(index, () => recheck(context, asker, its, { relayer, request }))
    }
    if (prepared.every((its) => its.relayer === relayer)) return prepared
  }
  throw keepsChanging()
}

async function readAll(bodies: SendTransactionRequest[]): Promise<TransactionRequest[]> {
  const requests: TransactionRequest[] = []
  for (const [index, body] of bodies.entries()) {
    // Reading an ABI takes up to 12 ms.
    if (body.call) await yieldToEventLoop()
    requests.push(await ofMember(index, () => readTransactionRequest(body)))
  }
  return requests
}

async function checkAll(pool: PoolRow, requests: TransactionRequest[]): Promise<void> {
  for (const [index, request] of requests.entries()) await ofMember(index, () => checkPoolPolicies(pool, request))
}

/** `holder`: the relayer or the pool that the key belongs to. */
async function replayed(store: Store, { auditEntry }: Pick<Asker, 'auditEntry'>, once: Once, holder: number) {
  const known = once && (await store.replayBatch(holder, once))
  if (known?.outcome === 'mismatch') throw mismatch(known)
  auditEntry.replayed = known !== undefined
  return known?.transactions
}

/** One relayer takes the whole batch, so at most one order can be kept. Null: none is wanted. */
function onlyKeyOf(requests: TransactionRequest[]): string | null {
  const keys = [...new Set(requests.flatMap(({ ordering_key }) => ordering_key ?? []))]
  if (keys.length > 1) throw badRequest(['transactions'], 'must have one ordering_key: one relayer takes all of them')
  return keys[0] ?? null
}

const hashOfAll = (bodies: SendTransactionRequest[]): string =>
  createHash('sha256')
    .update(`batch ${bodies.map((body) => hashOfBody(body)).join()}`)
    .digest('hex')
