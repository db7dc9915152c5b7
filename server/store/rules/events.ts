import type { WaitingFor } from '../../../generated/openapi.ts'
import { type EventRow, max_event_characters, type RelayerRow } from '../../core/rows.ts'
import type { TransactionRow } from '../../core/sending-rows.ts'
import { shownReason } from '../../core/wait-reason.ts'
import {
  changeEvent,
  lowBalanceEvent,
  type NewEvent,
  serializeEvent,
  transactionEvent,
  waitEvent,
} from '../event-bodies.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Database } from './database.ts'
import type { Transaction } from './session.ts'
import { sql } from './statement.ts'
import { dataColumn, withData } from './transaction-data.ts'

/** Events that are read at once: an event may contain 128 KB of data as hex. */
const step_rows = 20

const select = sql<EventRow & { data: Uint8Array | null }>(`
  SELECT sequence, event, body, ${dataColumn('events')} FROM events
  WHERE relayer_row_id = $relayer_row_id AND sequence > $after ORDER BY sequence LIMIT $limit`)
const last = sql<{ last: number }>(
  'SELECT coalesce(max(sequence), 0) AS last FROM events WHERE relayer_row_id = $relayer_row_id',
)

export function eventLog({ read }: Database): Pick<Store, 'events' | 'lastEvent'> {
  return {
    async events(relayer_row_id, after, limit) {
      const events: EventRow[] = []
      let characters = 0
      while (events.length < limit && characters < max_event_characters) {
        const size = Math.min(step_rows, limit - events.length)
        const from = events.at(-1)?.sequence ?? after
        const rows = await read.all(select, { relayer_row_id, after: from, limit: size })
        for (const { data, ...event } of rows) {
          if (characters >= max_event_characters) break
          const body = withData(event.body, data)
          events.push({ ...event, body })
          characters += body.length
        }
        if (rows.length < size) break
      }
      return events
    },
    lastEvent: async (relayer_row_id) => (await read.one(last, { relayer_row_id }))?.last ?? 0,
  }
}

/** Writes events. The caller holds the lock of the relayer's row, so that sequences follow each other. */
export interface Events {
  /** Reads ahead what events of these relayers need. */
  prepare(transaction: Transaction, relayer_row_ids: number[]): Promise<unknown>
  /** The status of each transaction has changed. */
  ofTransactions(transaction: Transaction, rows: TransactionRow[]): Promise<void>
  /** A transaction waits, for the reason that it holds. */
  ofWait(transaction: Transaction, row: TransactionRow & { waiting_for: WaitingFor | null }): Promise<void>
  /** A relayer was changed. An event is written when it is disabled or enabled. */
  ofChange(transaction: Transaction, before: RelayerRow, after: RelayerRow): Promise<void>
  ofLowBalance(transaction: Transaction, row: RelayerRow, balance: string, min_balance: string): Promise<void>
}

const lastOf = (relayer_row_id: string) => `
  SELECT ${relayer_row_id} AS relayer_row_id, coalesce(max(sequence), 0) AS last
  FROM events WHERE events.relayer_row_id = ${relayer_row_id}`
const lastSequences = sql<{ relayer_row_id: number; last: number }>({
  sqlite: lastOf('$relayer_row_id'),
  postgres: `
    SELECT its.* FROM json_to_recordset($rows::json) AS wanted (relayer_row_id bigint),
      LATERAL (${lastOf('wanted.relayer_row_id')}) AS its`,
})
const insert = sql({
  sqlite: `
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, created_at)
    VALUES ($id, $relayer_row_id, $sequence, $event, $subject, $body, $data_row_id, $timestamp)`,
  postgres: `
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, created_at)
    SELECT id, relayer_row_id, sequence, event, subject, body, data_row_id, timestamp
    FROM json_to_recordset($rows::json) AS row (place bigint, id text, relayer_row_id bigint, sequence bigint,
      event text, subject text, body text, data_row_id bigint, timestamp text) ORDER BY place`,
})
const eventOf = (row: string) =>
  `(SELECT row_id FROM events WHERE relayer_row_id = ${row}relayer_row_id AND sequence = ${row}sequence)`
/** A disabled notification gets no pending deliveries. Missed ones can be redelivered after it is enabled. */
const statusOf = `CASE WHEN disabled_reason IS NULL THEN 'pending' ELSE 'failed' END`
const deliver = sql({
  sqlite: `
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    SELECT $delivery_id, row_id, ${eventOf('$')}, $subject, ${statusOf}, $now, $timestamp
    FROM notifications WHERE id = (SELECT notification_id FROM relayers WHERE row_id = $relayer_row_id)`,
  // The lock keeps the notification enabled or disabled until the commit.
  postgres: `
    WITH new AS MATERIALIZED (
      SELECT * FROM json_to_recordset($rows::json) AS row (place bigint, relayer_row_id bigint, sequence bigint,
        subject text, timestamp text, delivery_id text, now bigint)
    ), target AS (
      SELECT relayers.row_id AS relayer_row_id, notifications.row_id, notifications.disabled_reason
      FROM relayers JOIN notifications ON notifications.id = notification_id
      WHERE relayers.row_id IN (SELECT relayer_row_id FROM new)
      ORDER BY notifications.row_id FOR SHARE OF notifications
    )
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    SELECT delivery_id, target.row_id, ${eventOf('new.')}, subject, ${statusOf}, now, timestamp
    FROM new JOIN target USING (relayer_row_id) ORDER BY place`,
})

/** Writes an event and its deliveries, inside the database transaction of the change, so that both are committed or neither. */
export function createEvents(dependencies: StoreDependencies): Events {
  const { showRelayer, observer = {} } = dependencies
  /** The last sequence of each relayer, as the database transaction has written it. */
  const sequences = new WeakMap<Transaction, Map<number, number>>()

  async function sequencesOf(transaction: Transaction, relayer_row_ids: number[]): Promise<Map<number, number>> {
    const known = sequences.get(transaction) ?? new Map<number, number>()
    sequences.set(transaction, known)
    const unknown = [...new Set(relayer_row_ids)].filter((row_id) => !known.has(row_id))
    if (unknown.length === 0) return known
    const wanted = unknown.map((relayer_row_id) => ({ relayer_row_id }))
    for (const { relayer_row_id, last } of await transaction.allOf(lastSequences, wanted)) {
      known.set(relayer_row_id, last)
    }
    return known
  }

  async function write(transaction: Transaction, all: NewEvent[]): Promise<void> {
    if (all.length === 0) return
    const known = await sequencesOf(
      transaction,
      all.map(({ relayer_row_id }) => relayer_row_id),
    )
    const rows = all.map((its, place) => {
      const { relayer_row_id, event, subject, data_row_id } = its
      const sequence = (known.get(relayer_row_id) ?? 0) + 1
      known.set(relayer_row_id, sequence)
      const serialized = serializeEvent(its, sequence, dependencies)
      return {
        place,
        relayer_row_id,
        sequence,
        event,
        subject,
        data_row_id,
        ...serialized,
        delivery_id: dependencies.makeId(),
      }
    })
    // They are sent together, and run one after the other.
    await Promise.all([
      transaction.runOf(insert, rows),
      transaction.runOf(
        deliver,
        rows.map(({ body: _, ...row }) => row),
      ),
    ])
  }

  return {
    prepare: sequencesOf,
    async ofTransactions(transaction, rows) {
      await write(transaction, rows.map(transactionEvent))
      transaction.afterCommit(() => {
        for (const { status } of rows) observer.moved?.(status)
      })
    },
    async ofWait(transaction, row) {
      await write(transaction, [waitEvent(row)])
      const { relayer_id, id: transaction_id, nonce, waiting_for } = row
      const reason = shownReason(row)
      transaction.afterCommit(() =>
        observer.waits?.({ relayer_id, transaction_id, nonce, waiting_for: waiting_for ?? 'other', reason }),
      )
    },
    async ofChange(transaction, before, after) {
      const event = changeEvent(before, after, showRelayer)
      if (event) await write(transaction, [event])
    },
    ofLowBalance: (transaction, row, balance, min_balance) =>
      write(transaction, [lowBalanceEvent(row, balance, min_balance, showRelayer)]),
  }
}
