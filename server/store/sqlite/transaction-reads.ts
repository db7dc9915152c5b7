import { crowdedBy } from '../room.ts'
import type { Store } from '../store.ts'
import { dataColumn, hexOf } from '../transaction-data.ts'
import { columns, type Row, read, readWhole, type WholeRow, wholeColumns } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'
import { firstInLine } from './first-in-line.ts'
import { inSteps } from './in-steps.ts'
import { createUnfinished } from './room.ts'

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
    `SELECT ${wholeColumns} FROM transactions WHERE id = ? AND relayer_row_id = ?`,
  )
  const byHash = db.prepare<[string, number], WholeRow>(`
    SELECT ${wholeColumns} FROM transactions
    WHERE row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = +?) AND relayer_row_id = +? LIMIT 1`)
  const byNonce = db.prepare<[number, string, number], WholeRow>(
    `SELECT ${wholeColumns} FROM transactions WHERE chain_id = ? AND "from" = ? AND nonce = ?`,
  )
  const dataOf = db
    .prepare<[number], Uint8Array | null>(`SELECT ${dataColumn('transactions')} FROM transactions WHERE row_id = ?`)
    .pluck()
  const selectPending = db.prepare<[number, number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_row_id = +? AND status = 'pending' AND nonce >= +? AND nonce < +? ORDER BY nonce LIMIT +?`)
  const selectInFlight = db.prepare<[number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_row_id = +? AND status IN ('sent', 'submitted') AND nonce > +? ORDER BY nonce LIMIT +?`)
  const selectMined = db.prepare<[number, number, number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_row_id = +? AND status = 'mined' AND (block_number, row_id) > (+?, +?) AND block_number <= +?
    ORDER BY block_number, row_id LIMIT +?`)
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
      SELECT confirmed_at FROM transactions WHERE relayer_row_id = +? AND status = 'confirmed'
      ORDER BY sequence DESC LIMIT 1`)
    .pluck()

  return {
    async getTransaction(relayer_row_id, id) {
      const row = byId.get(id, relayer_row_id)
      return row && readWhole(row)
    },
    async getTransactionByHash(relayer_row_id, hash) {
      const row = byHash.get(hash, relayer_row_id)
      return row && readWhole(row)
    },
    async getTransactionByNonce(chain_id, address, nonce) {
      const row = byNonce.get(chain_id, address, nonce)
      return row && readWhole(row)
    },
    dataOf: async (row_id) => hexOf(dataOf.get(row_id) ?? null),
    pending: (relayer_row_id, from, below, limit) =>
      inSteps(limit, (after, size) =>
        selectPending
          .all(relayer_row_id, after === undefined ? from : (after.nonce as number) + 1, below, size)
          .map(read),
      ),
    firstInLine: async (relayer_row_id) => first(relayer_row_id),
    inFlight: (relayer_row_id, limit) =>
      inSteps(limit, (after, size) => selectInFlight.all(relayer_row_id, after?.nonce ?? -1, size).map(read)),
    mined: (relayer_row_id, up_to_block, limit) =>
      inSteps(limit, (after, size) => {
        const { block_number = -1, row_id = 0 } = after ?? {}
        return selectMined.all(relayer_row_id, block_number ?? -1, row_id, up_to_block, size).map(read)
      }),
    holders: (chain_id, address, from, to, limit) =>
      inSteps(limit, (after, size) =>
        selectHolders
          .all(chain_id, address, after === undefined ? from : (after.nonce as number) + 1, to, size)
          .map(read),
      ),
    isSettledFrom: async (chain_id, address, nonce) => settled.get(chain_id, address, nonce) !== undefined,
    countUnfinished: async (relayer_row_id) => unfinishedOf(relayer_row_id).count,
    crowding: async (relayer_row_id, bytes, room) => crowdedBy(unfinishedOf(relayer_row_id), { count: 1, bytes }, room),
    lastConfirmedAt: async (relayer_row_id) => lastConfirmed.get(relayer_row_id) ?? null,
  }
}
