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
import { dataColumn, withData } from '../transaction-data.ts'
import type { Connection } from './connection.ts'

export interface Events {
  /** The status of a transaction has changed. */
  ofTransaction(transaction: TransactionRow): void
  /** A transaction waits, for the reason that it holds. */
  ofWait(transaction: TransactionRow & { waiting_for: WaitingFor | null }): void
  /** A relayer was changed. An event is written when it is disabled or enabled. */
  ofChange(before: RelayerRow, after: RelayerRow): void
  ofLowBalance(relayer: RelayerRow, balance: string, min_balance: string): void
}

/**
 * Writes an event and its deliveries, inside the database transaction of the change, so that both are committed or neither. The body
 * is serialized here, once, except for a transaction's data: it may be large, and the event names its stored version.
 */
export function createEvents({ db }: Connection, dependencies: StoreDependencies): Events {
  const { showRelayer, observer = {} } = dependencies
  const next = db
    .prepare<[number], number>('SELECT coalesce(max(sequence), 0) + 1 FROM events WHERE relayer_row_id = +?')
    .pluck()
  const insert = db.prepare<[object]>(`
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, created_at)
    VALUES ($id, $relayer_row_id, $sequence, $event, $subject, $body, $data_row_id, $timestamp)`)
  // A disabled notification gets no deliveries. Missed ones can be redelivered after it is enabled.
  const targetOf = db.prepare<[number], { notification_row_id: number; status: string }>(`
    SELECT row_id AS notification_row_id, iif(disabled_reason IS NULL, 'pending', 'failed') AS status
    FROM notifications WHERE id = (SELECT notification_id FROM relayers WHERE row_id = ?)`)
  const deliver = db.prepare<[object]>(`
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    VALUES ($id, $notification_row_id, $event_row_id, $subject, $status, $now, $timestamp)`)

  const write = (its: NewEvent) => {
    const { relayer_row_id, event, subject, data_row_id } = its
    const sequence = next.get(relayer_row_id) as number
    const { id, body, timestamp, now } = serializeEvent(its, sequence, dependencies)
    const { lastInsertRowid: event_row_id } = insert.run({
      id,
      relayer_row_id,
      sequence,
      event,
      subject,
      body,
      data_row_id,
      timestamp,
    })
    const target = targetOf.get(relayer_row_id)
    if (target) deliver.run({ id: dependencies.makeId(), ...target, event_row_id, subject, now, timestamp })
  }

  return {
    ofTransaction(row) {
      write(transactionEvent(row))
      observer.moved?.(row.status)
    },
    ofWait(row) {
      write(waitEvent(row))
      const { relayer_id, id: transaction_id, nonce, waiting_for } = row
      observer.waits?.({
        relayer_id,
        transaction_id,
        nonce,
        waiting_for: waiting_for ?? 'other',
        reason: shownReason(row),
      })
    },
    ofChange(before, after) {
      const event = changeEvent(before, after, showRelayer)
      if (event) write(event)
    },
    ofLowBalance: (row, balance, min_balance) => write(lowBalanceEvent(row, balance, min_balance, showRelayer)),
  }
}

type StoredEvent = EventRow & { data: Uint8Array | null }

export function eventLog({ db }: Connection): Pick<Store, 'events' | 'lastEvent'> {
  const select = db.prepare<[number, number, number], StoredEvent>(`
    SELECT sequence, event, body, ${dataColumn('events')} FROM events WHERE relayer_row_id = +? AND sequence > +? ORDER BY sequence LIMIT +?`)
  const last = db
    .prepare<[number], number>('SELECT coalesce(max(sequence), 0) FROM events WHERE relayer_row_id = +?')
    .pluck()
  return {
    async events(relayer_row_id, after, limit) {
      const events: EventRow[] = []
      let characters = 0
      for (const { data, ...event } of select.iterate(relayer_row_id, after, limit)) {
        const body = withData(event.body, data)
        events.push({ ...event, body })
        characters += body.length
        if (characters >= max_event_characters) break
      }
      return events
    },
    lastEvent: async (relayer_row_id) => last.get(relayer_row_id) as number,
  }
}
