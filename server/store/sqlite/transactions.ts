import type { TransactionStatus } from '../../../generated/openapi.ts'
import type { AuditEntry } from '../rows.ts'
import type { Attempt, AttemptRow, Move, OverLimit, Spend, TransactionRow } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { createEvents, type StoreWorld } from './events.ts'
import { groupCommit } from './group-commit.ts'
import { inSteps } from './in-steps.ts'
import { lotWithdrawal } from './lot-withdrawal.ts'
import { nonceCounter } from './nonce-counter.ts'
import { createReservations, reservedOf } from './reservations.ts'
import { createUnfinished, crowdedBy } from './room.ts'
import { createSpending, withoutFees } from './spending.ts'
import { bytesOf, columns, encode, type Row, read, readWhole, type WholeRow, wholeColumns } from './transaction-rows.ts'

/** The most bytes that the moves of one database transaction write: some milliseconds. */
const max_move_bytes = 1_000_000

type Transactions = Pick<
  Store,
  | 'getTransaction'
  | 'getTransactionByNonce'
  | 'dataOf'
  | 'renumber'
  | 'pending'
  | 'firstInLine'
  | 'inFlight'
  | 'mined'
  | 'holders'
  | 'isSettledFrom'
  | 'countUnfinished'
  | 'crowding'
  | 'lastConfirmedAt'
  | 'attempts'
  | 'rawOf'
  | 'move'
  | 'replaceTransaction'
  | 'withdraw'
  | 'withdrawLot'
  | 'relayersAtWork'
>

export function transactions(connection: Connection, world: StoreWorld): Transactions {
  const { db, write, record } = connection
  const events = createEvents(connection, world)
  const spendings = createSpending(connection, world.now)
  const reservations = createReservations(db)
  const timestamp = () => new Date(world.now()).toISOString()

  const { nextNonce, setNonce } = nonceCounter(db)
  const byKey = db.prepare<[number], Row>(`SELECT ${columns} FROM transactions WHERE key = ?`)
  const byId = db.prepare<[string, number], WholeRow>(
    `SELECT ${wholeColumns} FROM transactions WHERE id = ? AND relayer_key = ?`,
  )
  const dataOf = db.prepare<[number], string>('SELECT data FROM transaction_data WHERE transaction_key = ?').pluck()
  const setData = db.prepare<[number, string]>(`
    INSERT INTO transaction_data (transaction_key, data) VALUES (?, ?) ON CONFLICT DO UPDATE SET data = excluded.data`)
  const removeData = db.prepare<[number]>('DELETE FROM transaction_data WHERE transaction_key = ?')
  const bytesStored = db.prepare<[number], number>('SELECT data_bytes FROM transactions WHERE key = ?').pluck()
  const byNonce = db.prepare<[number, string, number], WholeRow>(
    `SELECT ${wholeColumns} FROM transactions WHERE chain_id = ? AND "from" = ? AND nonce = ?`,
  )
  const spentOf = db.prepare<[number], string | null>('SELECT spent FROM transactions WHERE key = ?').pluck()
  const setSpent = db.prepare<[string | null, number]>('UPDATE transactions SET spent = ? WHERE key = ?')
  const setWaitsTold = db.prepare<[string, number]>('UPDATE transactions SET waits_told = ? WHERE key = ?')
  const setNonceOf = db.prepare<[number | null, number]>('UPDATE transactions SET nonce = ? WHERE key = ?')
  // Without the nonce, which hardly ever changes: to set it, even to what it is, writes an index anew.
  const update = db.prepare<[object]>(`
    UPDATE transactions SET hash = $hash, "to" = $to, value = $value, data_bytes = $data_bytes, gas_limit = $gas_limit,
      gas_price = $gas_price, max_fee_per_gas = $max_fee_per_gas, max_priority_fee_per_gas = $max_priority_fee_per_gas,
      status = $status, status_reason = $status_reason, sent_at = $sent_at, confirmed_at = $confirmed_at,
      signature = $signature, speed = $speed, valid_until = $valid_until, intent = $intent, resign = $resign,
      block_number = $block_number, block_hash = $block_hash, waiting_for = $waiting_for, waits_told = $waits_told,
      reserved = $reserved,
      reprice_at = $reprice_at, revision = $revision
    WHERE key = $key`)
  const insertAttempt = db.prepare<[object]>(`
    INSERT INTO attempts (transaction_key, number, purpose, nonce, hash, raw, gas_price, max_fee_per_gas,
      max_priority_fee_per_gas, created_at)
    VALUES ($transaction_key, $number, $purpose, $nonce, $hash, $raw, $gas_price, $max_fee_per_gas, $max_priority_fee_per_gas,
      $created_at)`)
  const setTaken = db.prepare<[string, number, number]>(
    'UPDATE attempts SET taken_at = ?, refusal = NULL WHERE transaction_key = ? AND number = ? AND taken_at IS NULL',
  )
  const setRefusal = db.prepare<[string, number, number]>(
    'UPDATE attempts SET refusal = ? WHERE transaction_key = ? AND number = ?',
  )
  const rawOf = db
    .prepare<[number, number], Uint8Array>('SELECT raw FROM attempts WHERE transaction_key = ? AND number = ?')
    .pluck()
  const selectAttempts = db.prepare<[number], AttemptRow>(`
    SELECT number, purpose, nonce, hash, gas_price, max_fee_per_gas, max_priority_fee_per_gas, taken_at, refusal
    FROM attempts WHERE transaction_key = +? ORDER BY number`)
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
  // Blocks take nonces in their order, so what is settled comes first. Behind it there may be a hundred thousand that wait.
  const settled = db.prepare<[number, string, number]>(`
    SELECT 1 FROM (
      SELECT status, block_hash FROM transactions
      WHERE chain_id = +? AND "from" = +? AND nonce >= +? ORDER BY nonce LIMIT 1000
    )
    WHERE status IN ('mined', 'confirmed') OR block_hash IS NOT NULL LIMIT 1`)
  // By the indexes of what is unfinished, named: left to itself SQLite takes for one of them the index of all there ever were.
  const unfinished = [
    `transactions INDEXED BY transactions_pending WHERE status = 'pending'`,
    `transactions INDEXED BY transactions_flying WHERE status IN ('sent', 'submitted')`,
    `transactions INDEXED BY transactions_mined WHERE status = 'mined'`,
  ]
  const unfinishedOf = createUnfinished(connection)
  const lastConfirmed = db
    .prepare<[number], string>(`
      SELECT confirmed_at FROM transactions WHERE relayer_key = +? AND status = 'confirmed'
      ORDER BY sequence DESC LIMIT 1`)
    .pluck()
  // Jumps from relayer to relayer in the index, so it costs the number of relayers at work and not of transactions.
  const atWork = unfinished.map((rows) =>
    db
      .prepare<[], number>(`
        WITH RECURSIVE at_work (relayer_key) AS (
          SELECT min(relayer_key) FROM ${rows}
          UNION ALL
          SELECT (SELECT min(relayer_key) FROM ${rows} AND relayer_key > at_work.relayer_key)
          FROM at_work WHERE at_work.relayer_key IS NOT NULL
        )
        SELECT relayer_key FROM at_work WHERE relayer_key IS NOT NULL`)
      .pluck(),
  )

  const watched = db.prepare<[], number>('SELECT relayer_key FROM watches').pluck()

  /** The unfinished transaction of a relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
  const first = (relayer_key: number): TransactionRow | undefined => {
    const rows = [selectInFlight.get(relayer_key, -1, 1), selectPending.get(relayer_key, 0, Number.MAX_SAFE_INTEGER, 1)]
    const [row] = rows.filter((one) => one !== undefined).sort((a, b) => (a.nonce as number) - (b.nonce as number))
    return row && read(row)
  }

  /**
   * Writes an event for a reason to wait, once per transaction and reason, and only for the first in line. The transactions behind it
   * wait for it, and may be thousands.
   */
  const tellWait = (row: TransactionRow): void => {
    const { key, waiting_for, waits_told } = row
    if (waiting_for === null || waits_told.includes(waiting_for) || first(row.relayer_key)?.key !== key) return
    row.waits_told = [...waits_told, waiting_for]
    setWaitsTold.run(JSON.stringify(row.waits_told), key)
    events.ofWait(row)
  }

  const takeMore = ({ key, chain_id, from }: Row, spending: Spend[]): OverLimit | undefined => {
    const taken = spendings.take({ chain_id, address: from }, spending, spentOf.get(key))
    if ('outcome' in taken) return taken
    setSpent.run(taken.spent, key)
    return undefined
  }

  /** Compare-and-set with the event; undefined when the revision has changed. */
  const move = ({ key, revision, set, attempt, taken, refused, spending }: Move): TransactionRow | undefined => {
    const row = byKey.get(key)
    if (row?.revision !== revision) return undefined
    if (spending && takeMore(row, spending)) return undefined
    const before = read(row)
    const { data, ...others } = set
    const after: TransactionRow = { ...before, ...waitOf(set), ...others, revision: revision + 1 }
    if (finished.has(after.status)) after.waiting_for = null
    if (data !== undefined) {
      after.data_bytes = bytesOf(data)
      if (data === null) removeData.run(key)
      else if (data !== dataOf.get(key)) setData.run(key, data)
    }
    after.reserved = reservedOf(after)
    update.run(encode(after))
    reservations.change({ chain_id: row.chain_id, address: row.from }, row.reserved, after.reserved)
    if (after.nonce !== before.nonce) setNonceOf.run(after.nonce, key)
    if (attempt) {
      insertAttempt.run({ ...attempt, transaction_key: key, created_at: timestamp() })
      record(signatureEntry(before, attempt, world.now()))
    }
    for (const number of taken ?? []) setTaken.run(timestamp(), key, number)
    if (refused) setRefusal.run(refused.refusal, key, refused.number)
    if (after.status !== before.status) events.ofTransaction(after)
    tellWait(after)
    return after
  }

  /** An event carries the data as hex, and so does a change of it. */
  const weightOf = ({ key, set, attempt }: Move): number =>
    2 * (bytesStored.get(key) ?? 0) + (set.data?.length ?? 0) + (attempt?.raw.length ?? 0)

  const moveLot = groupCommit(connection, (lot: Move[]) => lot.map(move))

  const moveInLots = async (moves: Move[]): Promise<(TransactionRow | undefined)[]> => {
    const moved: (TransactionRow | undefined)[] = []
    while (moved.length < moves.length) {
      const lot: Move[] = []
      let bytes = 0
      while (moved.length + lot.length < moves.length && bytes < max_move_bytes) {
        const next = moves[moved.length + lot.length] as Move
        lot.push(next)
        bytes += weightOf(next)
      }
      moved.push(...(await moveLot(lot)))
    }
    return moved
  }

  const giveBack = ({ key, chain_id, from }: Pick<Row, 'key' | 'chain_id' | 'from'>): void => {
    const spent = spentOf.get(key)
    if (spent == null) return
    spendings.giveBack({ chain_id, address: from }, spent)
    setSpent.run(null, key)
  }

  return {
    async getTransaction(relayer_key, id) {
      const row = byId.get(id, relayer_key)
      return row && readWhole(row)
    },
    async getTransactionByNonce(chain_id, address, nonce) {
      const row = byNonce.get(chain_id, address, nonce)
      return row && readWhole(row)
    },
    dataOf: async (key) => dataOf.get(key) ?? null,
    renumber: async (key, revision, status_reason, spending) =>
      write(() => {
        const row = byKey.get(key) as Row
        if (row.revision !== revision) return undefined
        const { chain_id, from } = row
        // Earlier attempts may still be mined, so both count.
        const taken = spendings.take({ chain_id, address: from }, spending)
        if ('outcome' in taken) {
          const { policy, limit } = taken.spend
          const reason = `${status_reason}; not sent again: the policy ${policy} (${limit} a day) has ${taken.left} left`
          move({ key, revision, set: { status: 'failed', status_reason: reason } })
          return taken
        }
        const before = spentOf.get(key)
        const isSigned = selectAttempts.all(key).length > 0
        setSpent.run(bothSpent(isSigned ? withoutFees(before) : before, taken.spent), key)
        const nonce = nextNonce.get(chain_id, from) as number
        setNonce.run(chain_id, from, nonce + 1)
        return move({ key, revision, set: { nonce, status: 'pending', status_reason, hash: null, signature: null } })
      }),
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
    attempts: async (key) => selectAttempts.all(key),
    rawOf: async (key, number) => rawOf.get(key, number) ?? new Uint8Array(),
    move: moveInLots,
    replaceTransaction: async (wanted, spending, room) =>
      write(() => {
        const row = byKey.get(wanted.key)
        if (row?.revision !== wanted.revision) return undefined
        const bytes = bytesOf(wanted.set.data ?? null) - row.data_bytes
        const crowded = crowdedBy(unfinishedOf(row.relayer_key), { count: 0, bytes }, room)
        return crowded ?? takeMore(row, spending) ?? move(wanted)
      }),
    withdraw: async (relayer_key, id, intent, status_reason) =>
      write(() => {
        const row = byId.get(id, relayer_key)
        if (!row) return 'missing'
        const { key, revision, chain_id, from, nonce, status, hash, data } = row
        if (!withdrawable.has(status) || row.intent !== 'send') return { refused: read(row) }
        const neverSigned = status === 'pending' && hash === null
        // A concurrent signature fails its compare-and-set. A transaction that had another nonce before was signed for that one.
        if (neverSigned && selectAttempts.all(key).length === 0) giveBack(row)
        if (neverSigned && nonce !== null && nextNonce.get(chain_id, from) === nonce + 1) {
          setNonce.run(chain_id, from, nonce)
          return {
            ...done(move({ key, revision, set: { nonce: null, status: endOf[intent], intent, status_reason } })),
            data,
          }
        }
        return { ...done(move({ key, revision, set: { intent, resign: true, status_reason } })), data }
      }),
    ...lotWithdrawal(connection, events.ofTransaction, giveBack),
    relayersAtWork: async () => [...new Set([...atWork, watched].flatMap((select) => select.all()))],
  }
}

const finished: ReadonlySet<TransactionStatus> = new Set(['confirmed', 'failed', 'canceled', 'expired'])

/** Setting a reason without a code clears the former code. */
const waitOf = ({ status_reason }: Move['set']): Pick<Move['set'], 'waiting_for'> =>
  status_reason === undefined ? {} : { waiting_for: status_reason?.includes('Waits: ') ? 'other' : null }

const bothSpent = (before: string | null | undefined, more: string | null): string | null =>
  more === null ? (before ?? null) : JSON.stringify([...JSON.parse(before ?? '[]'), ...JSON.parse(more)])

const withdrawable: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])
const endOf = { cancel: 'canceled', expire: 'expired', fail: 'failed' } as const

/** A move inside the database transaction that read the row cannot come too late. */
function done(moved: TransactionRow | undefined): TransactionRow {
  if (!moved) throw new Error('A row changed inside a database transaction')
  return moved
}

/** The audit entry of a signature that the service makes in the background, for a transaction that a caller requested. */
const signatureEntry = (
  { relayer_id }: TransactionRow,
  { purpose, hash }: Pick<Attempt, 'purpose' | 'hash'>,
  at: number,
): AuditEntry => ({
  at,
  caller: 'service',
  operation: purpose === 'send' ? 'signTransactionToSend' : 'signTransactionToCancel',
  relayer_id,
  subject: hash,
  result: 200,
  request_id: null,
})
