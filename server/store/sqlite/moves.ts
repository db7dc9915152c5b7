import type { Move, TransactionRow } from '../../core/sending-rows.ts'
import { batchesOfMoves, movedRow } from '../move-rules.ts'
import { reservedOf } from '../reservation.ts'
import type { Store } from '../store.ts'
import { bytesOf, columns, encode, type Row, read } from '../transaction-rows.ts'
import { createAttempts } from './attempts.ts'
import type { Connection } from './connection.ts'
import type { Events } from './events.ts'
import { firstInLine } from './first-in-line.ts'
import { groupCommit } from './group-commit.ts'
import { createReservations } from './reservations.ts'
import { createTransactionData } from './transaction-data.ts'
import type { TransactionSpending } from './transaction-spending.ts'

/** Compare-and-set of one transaction with its event, inside a database transaction; undefined when the revision has changed. */
export function createMove(
  connection: Connection,
  events: Events,
  spendings: TransactionSpending,
  now: () => number,
): (move: Move) => TransactionRow | undefined {
  const { db } = connection
  const reservations = createReservations(db)
  const versions = createTransactionData(connection)
  const first = firstInLine(connection)
  const writeAttempts = createAttempts(connection, now)

  const byRowId = db.prepare<[number], Row>(`SELECT ${columns} FROM transactions WHERE row_id = ?`)
  const setDataRowId = db.prepare<[number | null, number]>('UPDATE transactions SET data_row_id = ? WHERE row_id = ?')
  const setWaitsTold = db.prepare<[string, number]>('UPDATE transactions SET waits_told = ? WHERE row_id = ?')
  const setNonceOf = db.prepare<[number | null, number]>('UPDATE transactions SET nonce = ? WHERE row_id = ?')
  const setReceiver = db.prepare<[string | null, string | null, number]>(
    'UPDATE transactions SET "to" = ?, reference = ? WHERE row_id = ?',
  )
  // Without the nonce, the receiver and the reference: setting a column, even to its present value, rewrites its indexes.
  const update = db.prepare<[object]>(`
    UPDATE transactions SET hash = $hash, value = $value, data_bytes = $data_bytes, gas_limit = $gas_limit,
      gas_price = $gas_price, max_fee_per_gas = $max_fee_per_gas, max_priority_fee_per_gas = $max_priority_fee_per_gas,
      status = $status, status_reason = $status_reason, sent_at = $sent_at, confirmed_at = $confirmed_at,
      signature = $signature, speed = $speed, receipt = $receipt, error = $error,
      access_list = $access_list, authorization_list = $authorization_list, valid_until = $valid_until, intent = $intent, resign = $resign,
      type = $type, fee_ceiling = $fee_ceiling, tip_ceiling = $tip_ceiling, replaces_foreign = $replaces_foreign,
      block_number = $block_number, block_hash = $block_hash, waiting_for = $waiting_for, wait_text = $wait_text, waits_told = $waits_told,
      reserved = $reserved, changed_at = $changed_at,
      reprice_at = $reprice_at, revision = $revision
    WHERE row_id = $row_id`)

  /**
   * Writes an event for a reason to wait, once per transaction and reason, and only for the first in line. The transactions behind it
   * wait for it, and may be thousands.
   */
  const tellWait = (row: TransactionRow): void => {
    const { row_id, waiting_for, waits_told } = row
    if (waiting_for === null || waits_told.includes(waiting_for) || first(row.relayer_row_id)?.row_id !== row_id) return
    row.waits_told = [...waits_told, waiting_for]
    setWaitsTold.run(JSON.stringify(row.waits_told), row_id)
    events.ofWait(row)
  }

  return ({ row_id, revision, set, spending, ...attempts }: Move): TransactionRow | undefined => {
    const row = byRowId.get(row_id)
    if (row?.revision !== revision) return undefined
    if (spending && spendings.takeMore(row, spending)) return undefined
    const before = read(row)
    const { data } = set
    const after = movedRow(before, set, now())
    if (data !== undefined && data !== versions.read(row.data_row_id)) {
      after.data_bytes = bytesOf(data)
      after.data_row_id = versions.add(data)
      setDataRowId.run(after.data_row_id, row_id)
    }
    after.reserved = reservedOf(after)
    update.run(encode(after))
    reservations.change({ chain_id: row.chain_id, address: row.from }, row.reserved, after.reserved)
    if (after.nonce !== before.nonce) setNonceOf.run(after.nonce, row_id)
    const { to, reference } = after
    if (to !== before.to || reference !== before.reference) setReceiver.run(to, reference, row_id)
    writeAttempts(before, attempts)
    if (after.status !== before.status) events.ofTransaction(after)
    tellWait(after)
    return after
  }
}

/** Moves in group commits, which are split where they are large. */
export function moves(connection: Connection, move: (move: Move) => TransactionRow | undefined): Pick<Store, 'move'> {
  const moveBatch = groupCommit(connection, (batch: Move[]) => batch.map(move))

  const moveInBatches = async (moves: Move[]): Promise<(TransactionRow | undefined)[]> => {
    const moved: (TransactionRow | undefined)[] = []
    for (const batch of batchesOfMoves(moves)) moved.push(...(await moveBatch(batch)))
    return moved
  }

  return { move: moveInBatches }
}
