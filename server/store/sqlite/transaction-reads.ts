import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { firstInLine } from './first-in-line.ts'
import { inSteps } from './in-steps.ts'
import { createUnfinished, crowdedBy } from './room.ts'
import { dataColumn, hexOf } from './transaction-data.ts'
import { columns, type Row, read, readWhole, type WholeRow, wholeColumns } from './transaction-rows.ts'

type Reads = Pick<
  Store,
  | 'getTransaction'
  | 'getTransactionByHash'
  | 'getTransactionByNonce'
  | 'dataOf'
  | 'pending'
  | 'firstInLine'
  | 'inFlight'
  | 'mined'
  | 'holders'
  | 'isSettledFrom'
  | 'countUnfinished'
  | 'crowding'
  | 'lastConfirmedAt'
>

/** Transactions as the API and the sender read them: single ones, and those that the sender works on, in steps. */
export function transactionReads(connection: Connection): Reads {
  const { db } = connection
  const byId = db.prepare<[string, number], WholeRow>(
    `SELECT ${wholeColumns} FROM transactions WHERE id = ? AND relayer_key = ?`,
  )
  const byHash = db.prepare<[string, number], WholeRow>(`
    SELECT ${wholeColumns} FROM transactions
    WHERE key IN (SELECT transaction_key FROM attempts WHERE hash = +?) AND relayer_key = +? LIMIT 1`)
  const byNonce = db.prepare<[number, string, number], WholeRow>(
    `SELECT ${wholeColumns} FROM transactions WHERE chain_id = ? AND "from" = ? AND nonce = ?`,
  )
  const dataOf = db
    .prepare<[number], Uint8Array | null>(`SELECT ${dataColumn('transactions')} FROM transactions WHERE key = ?`)
    .pluck()
  const selectPending = db.prepare<[number, number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_key = +? AND status = 'pending' AND nonce >= +? AND nonce < +? ORDER BY nonce LIMIT +?`)
  const selectInFlight = db.prepare<[number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_key = +? AND status IN ('sent', 'submitted') AND nonce > +? ORDER BY nonce LIMIT +?`)
  const selectMined = db.prepare<[number, number, number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_key = +? AND status = 'mined' AND (block_number, key) > (+?, +?) AND block_number <= +?
    ORDER BY block_number, key LIMIT +?`)
  const selectHolders = db.prepare<[number, string, number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE chain_id = +? AND "from" = +? AND nonce >= +? AND nonce < +? ORDER BY nonce LIMIT +?`)
  // Blocks contain nonces in order, so mined transactions come first. A hundred thousand waiting ones may follow.
  const settled = db.prepare<[number, string, number]>(`
    SELECT 1 FROM (
      SELECT status, block_hash FROM transactions
      WHERE chain_id = +? AND "from" = +? AND nonce >= +? ORDER BY nonce LIMIT 1000
    )
    WHERE status IN ('mined', 'confirmed') OR block_hash IS NOT NULL LIMIT 1`)
  const unfinishedOf = createUnfinished(connection)
  const first = firstInLine(connection)
  const lastConfirmed = db
    .prepare<[number], string>(`
      SELECT confirmed_at FROM transactions WHERE relayer_key = +? AND status = 'confirmed'
      ORDER BY sequence DESC LIMIT 1`)
    .pluck()

  return {
    async getTransaction(relayer_key, id) {
      const row = byId.get(id, relayer_key)
      return row && readWhole(row)
    },
    async getTransactionByHash(relayer_key, hash) {
      const row = byHash.get(hash, relayer_key)
      return row && readWhole(row)
    },
    async getTransactionByNonce(chain_id, address, nonce) {
      const row = byNonce.get(chain_id, address, nonce)
      return row && readWhole(row)
    },
    dataOf: async (key) => hexOf(dataOf.get(key) ?? null),
    pending: (relayer_key, from, below, limit) =>
      inSteps(limit, (after, size) =>
        selectPending.all(relayer_key, after === undefined ? from : (after.nonce as number) + 1, below, size).map(read),
      ),
    firstInLine: async (relayer_key) => first(relayer_key),
    inFlight: (relayer_key, limit) =>
      inSteps(limit, (after, size) => selectInFlight.all(relayer_key, after?.nonce ?? -1, size).map(read)),
    mined: (relayer_key, up_to_block, limit) =>
      inSteps(limit, (after, size) => {
        const { block_number = -1, key = 0 } = after ?? {}
        return selectMined.all(relayer_key, block_number ?? -1, key, up_to_block, size).map(read)
      }),
    holders: (chain_id, address, from, to, limit) =>
      inSteps(limit, (after, size) =>
        selectHolders
          .all(chain_id, address, after === undefined ? from : (after.nonce as number) + 1, to, size)
          .map(read),
      ),
    isSettledFrom: async (chain_id, address, nonce) => settled.get(chain_id, address, nonce) !== undefined,
    countUnfinished: async (relayer_key) => unfinishedOf(relayer_key).count,
    crowding: async (relayer_key, bytes, room) => crowdedBy(unfinishedOf(relayer_key), { count: 1, bytes }, room),
    lastConfirmedAt: async (relayer_key) => lastConfirmed.get(relayer_key) ?? null,
  }
}
