import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { contentHash } from '../../domain/attempts.ts'
import { DomainError } from '../../domain/errors.ts'
import type { Once } from '../../domain/new-transaction.ts'
import type { Idempotency } from '../../domain/operation.ts'
import type { PoolRow, RelayerRow } from '../../domain/rows.ts'
import { isUnmined } from '../../domain/statuses.ts'
import { shownReason } from '../../domain/wait-reason.ts'
import { findPool } from '../../services/pools.ts'
import { replace, underpriced } from '../../services/transactions/replace.ts'
import { hashOfBody, send } from '../../services/transactions/send.ts'
import { sendToPool } from '../../services/transactions/send-to-pool.ts'
import type { WaitPlace } from '../../services/transactions/wait-for-status.ts'
import { readIdempotency } from '../http/query.ts'
import { type Context, checked, type JsonRpcDependencies, type Method } from './context.ts'
import { codes, invalidParams, JsonRpcError } from './errors.ts'
import { Repeats } from './repeats.ts'
import { readTransactionObject, relayerOf } from './transaction-object.ts'

interface Accepted {
  id: string
  relayer: RelayerRow
  /** Whether it replaces the content of a transaction that may be signed already. */
  isReplacement: boolean
}

interface SendCall {
  body: SendTransactionRequest
  nonce: number | undefined
}

/** Shorter than the timeout of every known library. The calls of a batch share it: it begins anew at each signature. */
const signWaitMs = 5_000
/** The least wait of a call: enough to see that the relayer signs again. */
const leastWaitMs = 100

export function sendingMethods(service: JsonRpcDependencies): Record<string, Method> {
  const { store, keyring, contract, unexpected, elapsed } = service
  const repeats = new Repeats(elapsed)

  const sendTransaction: Method = (context) => {
    const { relayers, pool, request, params, index } = context
    const given = readTransactionObject(params[0], context.relayer)
    const wanted = { ...given, body: checked(contract, 'SendTransactionRequest', given.body) }
    // Before anything is accepted.
    const place = context.place()
    // A pool chooses the relayer, unless the caller names one.
    const relayer = pool && wanted.from === undefined ? undefined : relayerOf(wanted.from, relayers)
    if (!relayer && wanted.nonce !== undefined) throw invalidParams('nonce must be given together with from in a pool')
    const ofRequest = readIdempotency(request.header['Idempotency-Key'], request.caller)
    const idempotency =
      ofRequest && index !== undefined ? { ...ofRequest, key: `${ofRequest.key}/${index}` } : ofRequest
    // In the order of the batch: the nonces follow it.
    const accepted = context.inOrder.run(() => {
      if (idempotency) return accept(context, relayer, wanted, idempotency)
      const content = [pool?.row_id, relayer?.row_id, wanted]
      const { id, onClose } = context
      const call = { caller: request.caller.id, content, id, request, onClose }
      return repeats.once(call, () => accept(context, relayer, wanted, undefined))
    })
    return accepted.then((transaction) => afterCommit(context, place, transaction, wanted.body))
  }
  return { eth_sendTransaction: sendTransaction, wallet_sendTransaction: sendTransaction }

  /** `relayer`: undefined in a pool that chooses one. */
  async function accept(
    context: Context,
    relayer: RelayerRow | undefined,
    { body, nonce }: SendCall,
    idempotency: Idempotency | undefined,
  ): Promise<Accepted> {
    const { pool } = context
    const once =
      nonce === undefined
        ? undefined
        : idempotency && { ...idempotency, body_hash: hashOfBody({ ...body, replaces: nonce }) }
    try {
      if (pool) return await acceptInPool(context, pool, { body, by: relayer && { relayer, nonce } }, idempotency)
      const replaced = once && (await store.replay(context.relayer.row_id, once))
      if (replaced?.outcome === 'replayed') return await replaceOnce(context, replaced.transaction.id, body, once)
      return await context.as('sendTransaction', 201, async (its) => {
        const asker = { ...its, idempotency, nodes: context.request.nodes }
        const wanted = nonce === undefined ? { body } : { body, nonce }
        const { id } = await send(service, asker, context.relayer.id, wanted)
        return { id, relayer: context.relayer, isReplacement: false }
      })
    } catch (error) {
      const next = error instanceof DomainError ? error.data.next_nonce : undefined
      if (next !== undefined) {
        if (pool) throw wrongNonce(nonce as number, next)
        return replaceAt(context, { body, nonce: nonce as number, next, once })
      }
      if (isTold(error)) throw error
      unexpected(error)
      // The commit may have succeeded: the code must not make a library send again.
      throw new JsonRpcError(
        codes.outcome_open,
        'an unexpected error; the transaction may have been accepted',
        undefined,
        500,
      )
    }
  }

  async function acceptInPool(
    context: Context,
    pool: PoolRow,
    wanted: Parameters<typeof sendToPool>[3],
    idempotency: Idempotency | undefined,
  ): Promise<Accepted> {
    return context.as('sendPoolTransaction', 201, async ({ auditEntry, authorize }) => {
      const mayUse = async () => findPool(service, pool.id, await authorize())
      const asker = { idempotency, auditEntry, nodes: context.request.nodes, authorize: mayUse }
      const { id, relayer_id } = await sendToPool(service, asker, pool, wanted)
      return { id, relayer: await keyring.findRelayer(relayer_id), isReplacement: false }
    })
  }

  /** As in nodes, a call with the nonce of an unfinished transaction must pay more; otherwise it is refused as a mistake. */
  async function replaceAt(
    context: Context,
    { body, nonce, next, once }: { body: SendTransactionRequest; nonce: number; next: number; once: Once | undefined },
  ): Promise<Accepted> {
    const { relayer } = context
    const row = await store.getTransactionByNonce(relayer.chain_id, relayer.address, nonce)
    if (nonce > next || !row || row.relayer_row_id !== relayer.row_id || !isUnmined(row.status))
      throw wrongNonce(nonce, next)
    const reason = underpriced(row, body)
    if (reason !== undefined) {
      const message = `replacement transaction underpriced: nonce ${nonce} belongs to the unfinished transaction ${row.id}; ${reason}`
      throw new JsonRpcError(codes.invalid_input, message, { transaction_id: row.id, next_nonce: next }, 409)
    }
    return replaceOnce(context, row.id, body, once)
  }

  async function replaceOnce(
    context: Context,
    id: string,
    body: SendTransactionRequest,
    once: Once | undefined,
  ): Promise<Accepted> {
    const { relayer } = context
    return context.as('replaceTransaction', 200, async (its) => {
      its.auditEntry.subject = id
      const asker = { ...its, nodes: context.request.nodes }
      await replace(service, asker, relayer.id, { transactionId: id, body, ifMatch: '*', once })
      return { id, relayer, isReplacement: true }
    })
  }

  /** The transaction is accepted: from now on every failure says so, and none that it may be sent again. */
  async function afterCommit(
    context: Context,
    place: WaitPlace,
    accepted: Accepted,
    body: SendTransactionRequest,
  ): Promise<string> {
    try {
      return await transactionHash(context, place, accepted, body)
    } catch (error) {
      if (error instanceof JsonRpcError) throw error
      if (!isTold(error)) unexpected(error)
      const { id } = accepted
      const message = `the transaction ${id} is accepted, and its hash cannot be read now. It will be sent: do not send it again`
      throw new JsonRpcError(codes.outcome_open, message, { transaction_id: id })
    }
  }

  /**
   * The hash of the bytes that were stored first with the content of the call; a repetition gets the same. Never the hash of a content
   * that another request has put in its place. Of a transaction that was moved, the hash of the one that another relayer sends for it.
   */
  async function transactionHash(
    context: Context,
    place: WaitPlace,
    { id, relayer, isReplacement }: Accepted,
    body: SendTransactionRequest,
  ): Promise<string> {
    const { patience } = context
    const until = patience.get(relayer.row_id) ?? elapsed() + signWaitMs
    patience.set(relayer.row_id, until)
    const waitMs = Math.max(until - elapsed(), leastWaitMs)
    // A replacement is signed when nothing is left to sign again.
    await service.waits.until({ transaction_id: id, until: 'sent', isSigned: isReplacement, wait_ms: waitMs }, place)
    const row = await store.getTransaction(relayer.row_id, id)
    if (!row) throw wasDeleted(id)
    if (row.moved_to_transaction_id !== null)
      return transactionHash(context, place, await findMoved(row.moved_to_transaction_id), body)
    const statusReason = shownReason(row)
    const data = { transaction_id: id, status: row.status, status_reason: statusReason }
    const isWaiting = row.status === 'pending' || (isReplacement && row.resign)
    if (!isWaiting) patience.set(relayer.row_id, elapsed() + signWaitMs)
    const sent = (await store.attempts(row.row_id)).filter(({ purpose }) => purpose === 'send')
    const ordered = isReplacement ? sent.toReversed() : sent
    const wanted = contentHash(contentOf(body))
    const found = isReplacement && isWaiting ? undefined : ordered.find(({ content_hash }) => content_hash === wanted)
    if (found) return found.hash
    if (sent.length > 0 && !isWaiting) {
      const message = `the transaction ${id} was replaced by another content: do not send it again`
      throw new JsonRpcError(codes.outcome_open, message, data)
    }
    const why = statusReason === null ? '' : `: ${statusReason}`
    if (!isUnmined(row.status) && !isWaiting)
      throw new JsonRpcError(codes.transaction_rejected, `the transaction ${id} is ${row.status}${why}`, data)
    const message = `the transaction ${id} is accepted and not signed yet${why}. It will be sent: do not send it again`
    throw new JsonRpcError(codes.outcome_open, message, data)
  }

  async function findMoved(id: string): Promise<Accepted> {
    const row = await store.getTransactionById(id)
    if (!row) throw wasDeleted(id)
    return { id, relayer: await keyring.findRelayer(row.relayer_id), isReplacement: false }
  }
}

const wasDeleted = (id: string): JsonRpcError =>
  new JsonRpcError(codes.outcome_open, `the transaction ${id} was deleted`, { transaction_id: id })

/** `body`: of a call, with its own spelling of hex. */
const contentOf = ({ to, value = '0', data }: SendTransactionRequest) => ({
  to: to?.toLowerCase() ?? null,
  value: `${value}`,
  data: data?.toLowerCase() ?? null,
})

function wrongNonce(nonce: number, next: number): JsonRpcError {
  const text = `nonce too ${nonce > next ? 'high' : 'low'}: the next nonce is ${next}; it is ${nonce}`
  return new JsonRpcError(codes.invalid_input, text, { next_nonce: next }, 409)
}

/** Whether callers see the error; other errors are logged. */
const isTold = (error: unknown): error is DomainError | JsonRpcError =>
  error instanceof JsonRpcError || (error instanceof DomainError && error.code !== 'internal')
