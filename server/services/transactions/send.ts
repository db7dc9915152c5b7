import { createHash } from 'node:crypto'
import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { readCall } from '../../domain/decoding/decoded-call.ts'
import { alreadySent, conflict, errorOf, NonceTaken, relayerNotFound } from '../../domain/errors.ts'
import { percentileOf, priceColumns } from '../../domain/fees.ts'
import type { NewTransaction, Replay } from '../../domain/new-transaction.ts'
import { checkFees, feeOf } from '../../domain/policies/fee-policies.ts'
import { overLimit, spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { PendingAuditEntry, RelayerRow } from '../../domain/rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import type { SenderContext } from '../../sender/context.ts'
import { createSweep, type Sweep } from '../funding/sweep.ts'
import { capacityOf, ceilingColumns, checkPause, checkRequest, dataBytes, tooMany } from './check-request.ts'
import type { PoolOrder } from './pick-relayer.ts'
import { checkFunds, costColumns, defaultTier, type Preparation, type TransactionQuote, tooLittle } from './quote.ts'
import { createReplace, type Prepare, type Replace } from './replace.ts'
import { createSubmitBatch, type SendBatch, type SendBatchToPool } from './send-batch.ts'
import { type Accepted, type Asker, type Complete, type Idempotency, unchanged } from './send-parts.ts'
import { createSubmitToPool, type MoveInPool, type SendToPool } from './send-to-pool.ts'
import { warningsOf } from './warnings.ts'

export interface SubmitDependencies
  extends Pick<SenderContext, 'store' | 'findRelayer' | 'clientFor' | 'makeId' | 'now'> {
  preparation: Preparation
  order: PoolOrder
  /** Called after every change; wakes requests that wait for a status. */
  changed(): void
  /** Starts the background work of the relayer. */
  wake(relayerRowId: number): void
}

export interface Submit {
  send(
    relayerId: string,
    body: SendTransactionRequest,
    idempotency: Idempotency | undefined,
    auditEntry: PendingAuditEntry,
    asker: Asker,
    more?: {
      /** The nonce that it must get; absent: any. Throws NonceTaken when another one is next. */
      nonce?: number
      complete?: Complete
    },
  ): Promise<Accepted>
  sendBatch: SendBatch
  sendBatchToPool: SendBatchToPool
  sendToPool: SendToPool
  moveInPool: MoveInPool
  sweep: Sweep
  replace: Replace
}

/** The request half of sending: every check that can fail early, and then one database transaction that assigns the nonce. */
export function createSubmit(dependencies: SubmitDependencies): Submit {
  const { store, findRelayer, clientFor, preparation, wake, makeId, now } = dependencies

  /**
   * Runs the checks before the commit. The relayer and the rights of the caller may change while the chain answers, so their last state
   * is checked.
   */
  const prepare: Prepare = async (before, request, asker, replaced, isNew = replaced === undefined) => {
    checkRequest(before, request, now(), isNew)
    const quote = await preparation.quote(asker.nodes, before, request, replaced)
    // They read the generation at the same time.
    const [relayer] = await Promise.all([findRelayer(before.id), asker.authorize()])
    check(relayer, request, quote, isNew)
    return { relayer, quote }
  }

  function check(relayer: RelayerRow, request: TransactionRequest, quote: TransactionQuote, isNew = true): void {
    checkRequest(relayer, request, now(), isNew)
    checkFees(relayer, quote)
    checkFunds(relayer, quote)
  }

  function newTransaction(relayer: RelayerRow, request: TransactionRequest, quote: TransactionQuote): NewTransaction {
    const spending = spendingOf(relayer, request, feeOf(quote))
    const tier = request.tier ?? defaultTier
    return {
      id: makeId(),
      relayer_row_id: relayer.row_id,
      relayer_id: relayer.id,
      chain_id: relayer.chain_id,
      from: relayer.address,
      to: request.to,
      value: request.value,
      data: request.data,
      gas_limit: quote.gas_limit,
      gas_is_given: request.gas_limit !== null,
      ...costColumns(quote),
      type: quote.type,
      ...ceilingColumns(request),
      ...priceColumns(quote.prices),
      speed: { tier, percentile: percentileOf[tier] },
      valid_until: request.valid_until ?? null,
      reference: request.reference ?? null,
      fragments: quote.fragments,
      call: readCall(quote.fragments, request.data),
      metadata: request.metadata ?? null,
      submission: quote.submission,
      access_list: request.access_list,
      authorization_list: request.authorization_list,
      intent: 'send',
      status_reason: null,
      capacity: capacityOf(relayer),
      funds: quote.funds.toString(),
      warnings: warningsOf(relayer, request, quote),
      ...(request.deduplication_id !== null && { deduplication_id: request.deduplication_id }),
      ...(spending.length > 0 && { spending }),
    }
  }

  const parts = {
    ...{ store, findRelayer, prepare, check, newTransaction },
    hashOf: (body: object) => hashOf(body, undefined),
    wake(relayerRowId: number) {
      wake(relayerRowId)
      dependencies.changed()
    },
  }

  const batches = createSubmitBatch({
    ...parts,
    order: dependencies.order,
    failed(creation, relayerId) {
      if (creation.outcome !== 'too_little') unwrapInsert(creation, relayerId)
      throw new Error('A batch was accepted and reported as refused')
    },
  })

  return {
    ...batches,
    ...createSubmitToPool({ ...parts, order: dependencies.order, makeId, accepted: unwrapInsert }),
    sweep: createSweep({ ...parts, clientFor, accepted: unwrapInsert }),
    async send(relayerId, body, idempotency, auditEntry, asker, { nonce, complete = unchanged } = {}) {
      const found = await findRelayer(relayerId)
      // A repeated request gets its first response, even if the relayer was changed since.
      const once = idempotency && { body_hash: hashOf(body, nonce), ...idempotency }
      if (once) {
        const replayed = await store.replay(once.caller, found.row_id, once.key, once.body_hash)
        if (replayed) return unwrapInsert(replayed, found.id)
      }
      checkPause(found)
      // An early check, for a nonce that is used already. The commit checks again.
      if (nonce !== undefined) {
        const { next_nonce } = await store.getAccount(found.chain_id, found.address)
        if (nonce < next_nonce) throw new NonceTaken(next_nonce)
      }
      const request = readTransactionRequest(body)
      // An early check, before the chain is asked. The commit checks again.
      const exceeded = await store.exceededCapacity(found.row_id, dataBytes(request), capacityOf(found))
      if (exceeded) throw tooMany(exceeded)
      const { relayer, quote } = await prepare(found, request, asker)

      const transaction = complete(newTransaction(relayer, request, quote), quote, relayer)
      auditEntry.subject = transaction.id
      const creation = await store.createTransaction(
        {
          ...transaction,
          ...(once && { idempotency: once }),
          ...(nonce !== undefined && { expected_nonce: nonce }),
        },
        auditEntry,
      )
      if (creation.outcome === 'too_little') throw tooLittle(relayer, quote, BigInt(creation.reserved))
      parts.wake(relayer.row_id)
      return unwrapInsert(creation, relayer.id)
    },

    replace: createReplace({ store, findRelayer, prepare, wake, now }),
  }
}

function unwrapInsert(creation: Replay, relayerId: string): Accepted {
  switch (creation.outcome) {
    case 'mismatch':
      throw errorOf('unprocessable', 'idempotency_key', 'was used with another body')
    case 'relayer_gone':
      throw relayerNotFound(relayerId)
    case 'over_limit':
      throw overLimit(creation)
    case 'at_capacity':
      throw tooMany(creation)
    case 'other_nonce':
      throw new NonceTaken(creation.next_nonce)
    case 'already_sent':
      throw alreadySent(creation.sent)
    case 'lane_taken':
      throw conflict(['data'], 'another call of this user waits, and a nonce orders them; send it afterwards')
    case 'refilled':
      throw errorOf('conflict', 'refill', 'another refill of the relayer was accepted')
    case 'held':
      throw new Error('Another transaction holds the next nonce')
    default:
      return creation
  }
}

/** Serializes a body with sorted members, nested ones too, so that the order of members does not matter. */
export const hashOf = (body: object, nonce: number | undefined): string =>
  createHash('sha256')
    .update(JSON.stringify(body, sorted))
    .update(nonce === undefined ? '' : `${nonce}`)
    .digest('hex')

const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    : value
