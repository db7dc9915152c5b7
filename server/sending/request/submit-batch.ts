import { createHash } from 'node:crypto'
import type { AcceptedTransaction, SendTransactionRequest } from '../../../generated/openapi.ts'
import type { PendingAuditEntry, RelayerRow } from '../../core/rows.ts'
import type { Creation, NewTransaction } from '../../core/sending-rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../core/transaction-request.ts'
import { nextTurn } from '../../next-turn.ts'
import type { SendingDependencies } from '../dependencies.ts'
import { checkPause } from './admission.ts'
import { type Quote, tooLittle } from './preparation.ts'

export interface Idempotency {
  caller: string
  key: string
}

export interface Accepted {
  transaction: AcceptedTransaction
  row_id: number
}

/** The parts of the submission of one transaction. */
export interface SubmitParts {
  store: SendingDependencies['store']
  findRelayer(relayer_id: string): Promise<RelayerRow>
  prepare(
    relayer: RelayerRow,
    request: TransactionRequest,
    authorize: Authorize,
  ): Promise<{ relayer: RelayerRow; quote: Quote }>
  /** The checks of the relayer's present state. Throws ApiError. */
  check(relayer: RelayerRow, request: TransactionRequest, quote: Quote): void
  newTransaction(relayer: RelayerRow, request: TransactionRequest, quote: Quote): NewTransaction
  hashOf(body: SendTransactionRequest): string
  /** Something was accepted for the relayer. */
  wake(relayer_row_id: number): void
}

interface BatchParts extends SubmitParts {
  /** Throws ApiError for a creation that was refused. */
  failed(creation: Creation, relayer_id: string): never
}

/** Checks the rights of the caller as they are now. Throws ApiError (401, 403, 404). */
export type Authorize = () => Promise<unknown>

/** Runs the work for a member; a failure names the member. */
export type OfMember = <T>(index: number, work: () => T | Promise<T>) => Promise<T>

export type SendBatch = (
  relayer_id: string,
  bodies: SendTransactionRequest[],
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  authorize: Authorize,
  ofMember: OfMember,
) => Promise<AcceptedTransaction[]>

/** How many transactions the nodes are asked about at once. */
const quoted_at_once = 10

/** Accepts several transactions or none, at consecutive nonces, in one database transaction. */
export function createSubmitBatch(parts: BatchParts): SendBatch {
  const { store, findRelayer, prepare } = parts

  async function prepareAll(
    found: RelayerRow,
    requests: TransactionRequest[],
    authorize: Authorize,
    ofMember: OfMember,
  ) {
    const prepared: { relayer: RelayerRow; quote: Quote }[] = []
    while (prepared.length < requests.length) {
      const from = prepared.length
      const some = requests.slice(from, from + quoted_at_once)
      const quoted = some.map((request, index) => ofMember(from + index, () => prepare(found, request, authorize)))
      prepared.push(...(await Promise.all(quoted)))
    }
    // The last member may have been prepared long after the first.
    await authorize()
    const relayer = await findRelayer(found.id)
    for (const [index, request] of requests.entries()) {
      await ofMember(index, () => parts.check(relayer, request, (prepared[index] as (typeof prepared)[number]).quote))
    }
    return prepared
  }

  return async (relayer_id, bodies, idempotency, auditEntry, authorize, ofMember) => {
    const found = await findRelayer(relayer_id)
    const once = idempotency && { ...idempotency, body_hash: hashOfAll(bodies.map(parts.hashOf)) }
    if (once) {
      const replayed = await store.replayBatch(once.caller, found.row_id, once.key, once.body_hash)
      if (replayed?.outcome === 'mismatch') parts.failed(replayed, relayer_id)
      if (replayed) return replayed.transactions
    }
    checkPause(found)
    const requests: TransactionRequest[] = []
    for (const [index, body] of bodies.entries()) {
      // Reading an ABI takes up to 12 ms.
      if (body.call) await nextTurn()
      requests.push(await ofMember(index, () => readTransactionRequest(body)))
    }
    const prepared = await prepareAll(found, requests, authorize, ofMember)
    const transactions = prepared.map(({ relayer, quote }, index) =>
      parts.newTransaction(relayer, requests[index] as TransactionRequest, quote),
    )
    const created = await store.createTransactions(auditEntry, transactions, once)
    if (created.outcome === 'mismatch') parts.failed(created, relayer_id)
    if (created.outcome === 'refused') {
      const { index, creation } = created
      return ofMember(index, () => {
        if (creation.outcome !== 'too_little') return parts.failed(creation, relayer_id)
        const { relayer, quote } = prepared[index] as (typeof prepared)[number]
        throw tooLittle(relayer, quote, BigInt(creation.reserved))
      })
    }
    parts.wake(found.row_id)
    return created.transactions
  }
}

const hashOfAll = (hashes: string[]): string => createHash('sha256').update(`batch ${hashes.join()}`).digest('hex')
