import { bytesOfMove, max_move_bytes, movedRow } from '../move-rules.ts'
import { reservedOf } from '../reservation.ts'
import type { Move, TransactionRow } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import { bytesOf, columns, encode, type Row, read } from '../transaction-rows.ts'
import { writeAttempts } from './attempts.ts'
import { type Connection, sql, type Transaction } from './connection.ts'
import type { Events } from './events.ts'
import { firstInLine } from './first-in-line.ts'
import { groupCommit } from './group-commit.ts'
import { changeReservation } from './reservations.ts'
import type { Spending } from './spending.ts'
import { addData, readData } from './transaction-data.ts'

export const rowById = sql<Row>(`SELECT ${columns} FROM transactions WHERE row_id = $row_id`)
const setWaitsTold = sql('UPDATE transactions SET waits_told = $waits_told WHERE row_id = $row_id')
const update = sql(`
  UPDATE transactions SET hash = $hash, value = $value, data_bytes = $data_bytes, data_row_id = $data_row_id,
    gas_limit = $gas_limit, gas_price = $gas_price, max_fee_per_gas = $max_fee_per_gas,
    max_priority_fee_per_gas = $max_priority_fee_per_gas, status = $status, status_reason = $status_reason,
    sent_at = $sent_at, confirmed_at = $confirmed_at, signature = $signature, speed = $speed, receipt = $receipt,
    error = $error, access_list = $access_list, authorization_list = $authorization_list, valid_until = $valid_until,
    intent = $intent, resign = $resign, block_number = $block_number, block_hash = $block_hash,
    waiting_for = $waiting_for, waits_told = $waits_told, reserved = $reserved, changed_at = $changed_at,
    reprice_at = $reprice_at, nonce = $nonce, "to" = $to, reference = $reference, revision = $revision
  WHERE row_id = $row_id AND revision = $known_revision`)

export type MoveOne = (transaction: Transaction, move: Move) => Promise<TransactionRow | undefined>

/**
 * Compare-and-set of one transaction with its event, inside a database transaction that holds the lock of its relayer; undefined when the
 * revision has changed.
 */
export function createMove(events: Events, spending: Spending, now: () => number): MoveOne {
  /**
   * Writes an event for a reason to wait, once per transaction and reason, and only for the first in line. The transactions behind it
   * wait for it, and may be thousands.
   */
  async function tellWait(transaction: Transaction, row: TransactionRow): Promise<void> {
    const { row_id, waiting_for, waits_told } = row
    if (waiting_for === null || waits_told.includes(waiting_for)) return
    if ((await firstInLine(transaction, row.relayer_row_id))?.row_id !== row_id) return
    row.waits_told = [...waits_told, waiting_for]
    await transaction.run(setWaitsTold, { row_id, waits_told: JSON.stringify(row.waits_told) })
    await events.ofWait(transaction, row)
  }

  return async (transaction, { row_id, revision, set, spending: spends, ...attempts }) => {
    const row = await transaction.one(rowById, { row_id })
    if (row?.revision !== revision) return undefined
    if (spends && (await spending.takeMore(transaction, row, spends))) return undefined
    const before = read(row)
    const { data } = set
    const after = movedRow(before, set, now())
    if (data !== undefined && data !== (await readData(transaction, row.data_row_id))) {
      after.data_bytes = bytesOf(data)
      after.data_row_id = await addData(transaction, data)
    }
    after.reserved = reservedOf(after)
    const changed = await transaction.run(update, { ...encode(after), known_revision: revision })
    // The lock of the relayer excludes other moves, so the row is the one that was read.
    if (changed !== 1) throw new Error('A transaction changed while its relayer was locked')
    await changeReservation(transaction, { chain_id: row.chain_id, address: row.from }, row.reserved, after.reserved)
    await writeAttempts(transaction, before, attempts, now())
    if (after.status !== before.status) await events.ofTransactions(transaction, [after])
    await tellWait(transaction, after)
    return after
  }
}

/** Moves in group commits, which are split where they are large. */
export function moves(connection: Connection, move: MoveOne): Pick<Store, 'move'> {
  const moveBatch = groupCommit(
    connection,
    (batch: Move[]) => ({ transactions: batch.map(({ row_id }) => row_id) }),
    async (transaction, batch) => {
      const moved: (TransactionRow | undefined)[] = []
      for (const one of batch) moved.push(await move(transaction, one))
      return moved
    },
  )

  return {
    async move(moves) {
      const moved: (TransactionRow | undefined)[] = []
      while (moved.length < moves.length) {
        const batch: Move[] = []
        let bytes = 0
        while (moved.length + batch.length < moves.length && bytes < max_move_bytes) {
          const next = moves[moved.length + batch.length] as Move
          batch.push(next)
          bytes += bytesOfMove(next)
        }
        moved.push(...(await moveBatch(batch)))
      }
      return moved
    },
  }
}
