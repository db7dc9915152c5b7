import { hexOf } from '../transaction-data.ts'
import type { Connection } from './connection.ts'

/**
 * The data of transactions, each version stored once, as bytes. Transactions, events and first responses name their version
 * (`data_row_id`); triggers delete a version that nothing names any more.
 */
export function createTransactionData({ db }: Pick<Connection, 'db'>) {
  const insert = db.prepare<[Uint8Array]>('INSERT INTO transaction_data (data) VALUES (?)')
  const select = db.prepare<[number], Uint8Array>('SELECT data FROM transaction_data WHERE row_id = ?').pluck()

  return {
    /** Stores a version, and returns its row id. */
    add: (data: string | null): number | null =>
      data === null ? null : Number(insert.run(Buffer.from(data.slice(2), 'hex')).lastInsertRowid),
    read: (data_row_id: number | null): string | null =>
      data_row_id === null ? null : hexOf(select.get(data_row_id) ?? null),
  }
}
