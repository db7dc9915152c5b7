import type { Event, Relayer, WaitingFor } from '../../../generated/openapi.ts'
import { shownTransaction } from '../../shown-transaction.ts'
import type { Observer } from '../../telemetry/observer.ts'
import type { EventRow, RelayerRow } from '../rows.ts'
import type { TransactionRow } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { dataColumn, withData } from './transaction-data.ts'

/** The store's view of the outside world: the wall clock (milliseconds since the Unix epoch), unique ids, and the contract. */
export interface StoreWorld {
  now(): number
  makeId(): string
  /** Checks an event against the contract's schema; undefined when it is valid. */
  checkEvent(event: unknown): string | undefined
  /** Turns a relayer row into its public form, because its RPC URLs may contain secrets. */
  showRelayer(relayer: RelayerRow): Relayer
  observer?: Observer
  /** Checkpoints run in a thread of their own: for a store that serves requests. */
  checkpointsApart?: boolean
  /** Called when the disk has failed: this process must not write any more. */
  broken?(error: unknown): void
}

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
export function createEvents(
  { db }: Connection,
  { now, makeId, checkEvent, showRelayer, observer = {} }: StoreWorld,
): Events {
  const next = db
    .prepare<[number], number>('SELECT coalesce(max(sequence), 0) + 1 FROM events WHERE relayer_row_id = +?')
    .pluck()
  const insert = db.prepare<[object]>(`
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, created_at)
    VALUES ($id, $relayer_row_id, $sequence, $event, $subject, $body, $data_row_id, $timestamp)`)
  // A disabled notification gets no deliveries. Missed ones can be redelivered after it is enabled.
  const target = db.prepare<[number], { notification_row_id: number; status: string }>(`
    SELECT row_id AS notification_row_id, iif(disabled_reason IS NULL, 'pending', 'failed') AS status
    FROM notifications WHERE id = (SELECT notification_id FROM relayers WHERE row_id = ?)`)
  const deliver = db.prepare<[object]>(`
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    VALUES ($id, $notification_row_id, $event_row_id, $subject, $status, $now, $timestamp)`)

  const write = (
    relayer_row_id: number,
    event: Event['event'],
    subject: string,
    payload: Event['payload'],
    data_row_id: number | null = null,
  ) => {
    const time = now()
    const timestamp = new Date(time).toISOString()
    const sequence = next.get(relayer_row_id) as number
    const whole: Event = { id: makeId(), event, payload, timestamp, sequence }
    const wrong = checkEvent(whole)
    if (wrong !== undefined) throw new Error(`An event breaks the contract: ${wrong}`)
    const body = JSON.stringify(whole)
    const { lastInsertRowid: event_row_id } = insert.run({
      id: whole.id,
      relayer_row_id,
      sequence,
      event,
      subject,
      body,
      data_row_id,
      timestamp,
    })
    const its = target.get(relayer_row_id)
    if (its) deliver.run({ id: makeId(), ...its, event_row_id, subject, now: time, timestamp })
  }

  const writeState = ({ row_id, id }: RelayerRow, payload: Event['payload']) =>
    write(row_id, 'relayer_state_update', `relayer ${id}`, payload)

  return {
    ofTransaction(row) {
      const payload: Event['payload'] = { payload_type: 'transaction', ...withoutData(row) }
      write(row.relayer_row_id, 'transaction_update', row.id, payload, row.data_row_id)
      observer.moved?.(row.status)
    },
    ofWait(row) {
      const waiting_for = row.waiting_for ?? 'other'
      const payload: Event['payload'] = { payload_type: 'transaction_waiting', waiting_for, ...withoutData(row) }
      write(row.relayer_row_id, 'transaction_waiting', row.id, payload, row.data_row_id)
      const { relayer_id, id: transaction_id, nonce, status_reason } = row
      observer.waits?.({ relayer_id, transaction_id, nonce, waiting_for, reason: status_reason })
    },
    ofChange(before, after) {
      const stopped = (relayer: RelayerRow) => relayer.paused || relayer.system_disabled
      const relayer = showRelayer(after)
      if (stopped(after) && (!stopped(before) || before.disabled_reason !== after.disabled_reason)) {
        const disable_reason = after.disabled_reason ?? 'Paused by request'
        writeState(after, { payload_type: 'relayer_disabled', relayer, disable_reason })
      } else if (stopped(before) && !stopped(after)) {
        writeState(after, { payload_type: 'relayer_enabled', relayer, retry_count: 0 })
      }
    },
    ofLowBalance: (row, balance, min_balance) =>
      writeState(row, { payload_type: 'relayer_low_balance', relayer: showRelayer(row), balance, min_balance }),
  }
}

const withoutData = (row: TransactionRow) => shownTransaction({ ...row, data: null })

type StoredEvent = EventRow & { data: Uint8Array | null }

/** The most bytes of events that are read at once: an event may contain 128 KB of data as hex. */
const max_characters = 500_000

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
        if (characters >= max_characters) break
      }
      return events
    },
    lastEvent: async (relayer_row_id) => last.get(relayer_row_id) as number,
  }
}
