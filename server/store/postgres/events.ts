import type { WaitingFor } from '../../../generated/openapi.ts'
import {
  changeEvent,
  lowBalanceEvent,
  type NewEvent,
  serializeEvent,
  transactionEvent,
  waitEvent,
} from '../event-bodies.ts'
import type { RelayerRow } from '../rows.ts'
import type { TransactionRow } from '../sending-rows.ts'
import type { StoreWorld } from '../store-world.ts'
import type { Transaction } from './session.ts'
import { sql } from './statement.ts'

/** Writes events. The caller holds the lock of the relayer's row, so that sequences follow each other. */
export interface Events {
  /** The status of each transaction has changed. */
  ofTransactions(transaction: Transaction, rows: TransactionRow[]): Promise<void>
  /** A transaction waits, for the reason that it holds. */
  ofWait(transaction: Transaction, row: TransactionRow & { waiting_for: WaitingFor | null }): Promise<void>
  /** A relayer was changed. An event is written when it is disabled or enabled. */
  ofChange(transaction: Transaction, before: RelayerRow, after: RelayerRow): Promise<void>
  ofLowBalance(transaction: Transaction, row: RelayerRow, balance: string, min_balance: string): Promise<void>
}

const lastSequence = sql<{ last: number }>(
  'SELECT coalesce(max(sequence), 0) AS last FROM events WHERE relayer_row_id = $relayer_row_id',
)
// The lock keeps the notification enabled or disabled until the commit: a disabled one gets no pending deliveries.
const insert = sql(`
  WITH event AS (
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, created_at)
    VALUES ($id, $relayer_row_id, $sequence, $event, $subject, $body, $data_row_id, $timestamp) RETURNING row_id
  ), target AS (
    SELECT row_id, disabled_reason FROM notifications
    WHERE id = (SELECT notification_id FROM relayers WHERE row_id = $relayer_row_id) FOR SHARE
  )
  INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
  SELECT $delivery_id, target.row_id, event.row_id, $subject,
    CASE WHEN disabled_reason IS NULL THEN 'pending' ELSE 'failed' END, $now, $timestamp
  FROM event, target`)

/** Writes an event and its deliveries, inside the database transaction of the change, so that both are committed or neither. */
export function createEvents(world: StoreWorld): Events {
  const { showRelayer, observer = {} } = world
  /** The last sequence of each relayer, as the database transaction has written it. */
  const sequences = new WeakMap<Transaction, Map<number, number>>()

  async function nextSequence(transaction: Transaction, relayer_row_id: number): Promise<number> {
    const known = sequences.get(transaction) ?? new Map<number, number>()
    sequences.set(transaction, known)
    const last = known.get(relayer_row_id) ?? (await transaction.one(lastSequence, { relayer_row_id }))?.last ?? 0
    known.set(relayer_row_id, last + 1)
    return last + 1
  }

  async function write(transaction: Transaction, its: NewEvent): Promise<void> {
    const { relayer_row_id, event, subject, data_row_id } = its
    const sequence = await nextSequence(transaction, relayer_row_id)
    const { id, body, timestamp, now } = serializeEvent(its, sequence, world)
    const row = { id, relayer_row_id, sequence, event, subject, body, data_row_id, timestamp }
    await transaction.run(insert, { ...row, delivery_id: world.makeId(), now })
  }

  return {
    async ofTransactions(transaction, rows) {
      for (const row of rows) await write(transaction, transactionEvent(row))
      transaction.afterCommit(() => {
        for (const { status } of rows) observer.moved?.(status)
      })
    },
    async ofWait(transaction, row) {
      await write(transaction, waitEvent(row))
      const { relayer_id, id: transaction_id, nonce, status_reason: reason, waiting_for } = row
      transaction.afterCommit(() =>
        observer.waits?.({ relayer_id, transaction_id, nonce, waiting_for: waiting_for ?? 'other', reason }),
      )
    },
    async ofChange(transaction, before, after) {
      const event = changeEvent(before, after, showRelayer)
      if (event) await write(transaction, event)
    },
    ofLowBalance: (transaction, row, balance, min_balance) =>
      write(transaction, lowBalanceEvent(row, balance, min_balance, showRelayer)),
  }
}
