import type { TransactionRow } from '../store.ts'
import type { Connection } from './connection.ts'
import { shownOf } from './transaction-rows.ts'

/** What a store needs of the world: the time in milliseconds of the epoch, and ids that nobody else makes. */
export interface StoreWorld {
  now(): number
  makeId(): string
}

/** Writes what happened to a transaction, as the API shows it now, inside the database transaction of the change. */
export function createEvents({ db }: Connection, { now, makeId }: StoreWorld): (transaction: TransactionRow) => void {
  const insert = db.prepare<[object]>(`
    INSERT INTO events (id, relayer_key, sequence, event, payload, created_at)
    VALUES ($id, $relayer_key,
      (SELECT coalesce(max(sequence), 0) + 1 FROM events WHERE relayer_key = $relayer_key),
      'transaction_update', $payload, $created_at)`)

  return (transaction) => {
    insert.run({
      id: makeId(),
      relayer_key: transaction.relayer_key,
      payload: JSON.stringify({ payload_type: 'transaction', ...shownOf(transaction) }),
      created_at: new Date(now()).toISOString(),
    })
  }
}
