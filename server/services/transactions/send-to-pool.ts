import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { DomainError, transactionNotFound } from '../../domain/errors.ts'
import type { PendingAuditEntry, PoolRow, RelayerRow } from '../../domain/rows.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import type { TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { type Commit, createOffers, noRelayer, type PoolParts } from './pick-relayer.ts'
import { stateOf } from './replace.ts'
import type { Accepted, Asker, Complete, Idempotency } from './send-parts.ts'

export type SendToPool = (
  pool: PoolRow,
  body: SendTransactionRequest,
  idempotency: Idempotency | undefined,
  auditEntry: PendingAuditEntry,
  asker: Asker<PoolRow>,
  /** The relayer that the caller names; absent: the service chooses. `nonce`: the one that it must get. */
  by?: { relayer: RelayerRow; nonce: number | undefined },
  complete?: Complete,
) => Promise<Accepted>

/** Accepts a transaction that was never signed again for another relayer of the pool, and withdraws it. Throws DomainError. */
export type MoveInPool = (
  pool: PoolRow,
  from: RelayerRow,
  row: WholeTransactionRow,
  auditEntry: PendingAuditEntry,
  asker: Asker<PoolRow>,
) => Promise<Accepted>

/** Sends through one relayer of a pool. */
export function createSubmitToPool(parts: PoolParts): { sendToPool: SendToPool; moveInPool: MoveInPool } {
  const { store, order } = parts
  const submit = createOffers(parts)

  return {
    async sendToPool(pool, body, idempotency, auditEntry, asker, by, complete) {
      const { row_id: poolRowId } = pool
      const asked = by ? { ...body, from: by.relayer.id, nonce: by.nonce } : body
      const once = idempotency && { body_hash: parts.hashOf(asked), ...idempotency, pool_row_id: poolRowId }
      if (once) {
        const replayed = await store.replayInPool(once.caller, poolRowId, once.key, once.body_hash)
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
      return submit(pool, request, inOrder, more, auditEntry, asker, store.createPoolTransaction, complete)
    },

    async moveInPool(pool, from, row, auditEntry, asker) {
      // An early check. The commit checks again.
      if (row.status !== 'pending' || row.intent !== 'send' || row.hash !== null) throw wasSigned(row)
      // Its user knows it by this id, and a moved transaction gets another one.
      if (row.sponsored) throw new DomainError('conflict', 'The call of a sponsorship stays at its relayer')
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
            throw new DomainError('conflict', 'The transaction has an ordering key, which keeps it at its relayer')
          default:
            return creation
        }
      }
      const accepted = await submit(pool, requestOf(row), inOrder, more, auditEntry, asker, commit)
      parts.wake(from.row_id)
      return accepted
    },
  }
}

const wasSigned = (row: TransactionRow) =>
  new DomainError('conflict', `The transaction is ${stateOf(row)}: it may have been signed, or has ended`)

/** What was asked for, as its row has it. */
function requestOf(row: WholeTransactionRow): TransactionRequest {
  const { to, value, data, fragments, gas_limit, valid_until, access_list, authorization_list, reference, metadata } =
    row
  const { fee_ceiling, tip_ceiling, submission } = row
  const isLegacy = row.gas_price !== null
  return {
    ...{ to, value, data, fragments, valid_until, access_list, authorization_list, reference, metadata },
    gas_limit: row.gas_is_given ? gas_limit : null,
    type: null,
    tier: row.speed?.tier ?? null,
    gas_price: isLegacy ? fee_ceiling : null,
    max_fee_per_gas: isLegacy ? null : fee_ceiling,
    max_priority_fee_per_gas: isLegacy ? null : tip_ceiling,
    ordering_key: null,
    // It moves with the transaction.
    deduplication_id: null,
    submission:
      submission === null ? { mode: 'public' } : { mode: submission.mode, after_blocks: submission.after_blocks },
  }
}
