import { isFinal } from '../../domain/statuses.ts'
import { isPrivate } from '../../domain/submission.ts'
import { revisionAfter, type TransactionRow, type TransactionUpdate, withEntry } from '../../domain/transaction-rows.ts'
import { batchesOf } from '../../lib/in-order.ts'
import { changeReservations, reservedOf } from './accounts.ts'
import { writeAttempts } from './attempts.ts'
import { bucketAt, keysIn, takeMoreSpending } from './daily-limits.ts'
import { type Database, type DatabaseTransaction, type GroupedChange, sql } from './database.ts'
import { prepareEventsFor, writeStatusEvents, writeWaitEvent } from './events.ts'
import { changeCharges } from './sponsorships.ts'
import { firstsInLine } from './transaction-reads.ts'
import {
  addData,
  bytesOf,
  type ChangingName,
  changingNames,
  encodeTransaction,
  indexMetadataAgain,
  readData,
  readTransaction,
  recordsOf,
  type StoredTransaction,
  transactionColumns,
} from './transaction-rows.ts'

/** The most moves that are written together. */
const maxMoves = 100

export const rowById = sql<StoredTransaction>(`SELECT ${transactionColumns} FROM transactions WHERE row_id = $row_id`)
const rowsById = sql<StoredTransaction>(
  `SELECT ${transactionColumns} FROM transactions WHERE row_id = ANY ($row_ids::bigint[])`,
)
const setWaitsTold = sql('UPDATE transactions SET waits_told = $waits_told WHERE row_id = $row_id')

interface Step {
  move: TransactionUpdate
  before: TransactionRow
  after: TransactionRow
}

/** Every row is read once and written once, in its last state; each of its states has its event. */
async function moveSome(
  dbTransaction: DatabaseTransaction,
  moves: TransactionUpdate[],
  ahead?: StoredTransaction[],
): Promise<(TransactionRow | undefined)[]> {
  const stored = ahead ?? (await dbTransaction.all(rowsById, { row_ids: rowIdsOf(moves) }))
  const present = new Map(stored.map((row) => [row.row_id, readTransaction(row)]))
  const moved: (TransactionRow | undefined)[] = []
  const steps: Step[] = []
  for (const move of moves) {
    const before = present.get(move.row_id)
    const after = before && (await movedBy(dbTransaction, before, move))
    moved.push(after)
    if (!after) continue
    present.set(move.row_id, after)
    steps.push({ move, before, after })
  }
  if (steps.length === 0) return moved

  const written = stored.flatMap((before) => {
    const row = present.get(before.row_id) as TransactionRow
    return row.revision === before.revision ? [] : changeOf(before, row)
  })
  const rowIds = written.map(({ values }) => values.row_id)
  const described = written.flatMap(({ changed, values }) => (changed.includes('metadata') ? values.row_id : []))
  // They are sent together, and run one after the other.
  const [changed] = await Promise.all([
    writeChanges(dbTransaction, written),
    changeReservations(dbTransaction, steps.map(reservationOf)),
    changeCharges(dbTransaction, steps),
    writeAttempts(
      dbTransaction,
      steps.map(({ move, before }) => ({ ...move, row: before })),
      dbTransaction.effects.now(),
    ),
    writeStatusEvents(
      dbTransaction,
      steps.flatMap(({ before, after }) => (isToldOf(before, after) ? after : [])),
    ),
  ])
  await indexMetadataAgain(dbTransaction, described)
  // The locks of the relayers exclude other moves, so the rows are those that were read.
  if (changed !== written.length) throw new Error('A transaction changed while its relayer was locked')
  await tellWaits(
    dbTransaction,
    rowIds.map((rowId) => present.get(rowId) as TransactionRow),
  )
  return moved
}

async function movedBy(dbTransaction: DatabaseTransaction, before: TransactionRow, move: TransactionUpdate) {
  const { revision, set, spending: spends } = move
  if (before.revision !== revision) return undefined
  if (spends && (await takeMoreSpending(dbTransaction, before, spends))) return undefined
  const after = movedRow(before, move, dbTransaction.effects.now())
  const { data } = set
  if (data !== undefined && data !== (await readData(dbTransaction, before.data_row_id))) {
    after.data_bytes = bytesOf(data)
    after.data_row_id = await addData(dbTransaction, data)
  }
  after.reserved = reservedOf(after)
  return after
}

/**
 * Writes an event for a reason to wait, once per transaction and reason, and only for the first in line. The transactions behind it
 * wait for it, and may be thousands.
 */
async function tellWaits(dbTransaction: DatabaseTransaction, rows: TransactionRow[]): Promise<void> {
  const untold = rows.filter(({ wait_reason, waits_told }) => wait_reason !== null && !waits_told.includes(wait_reason))
  if (untold.length === 0) return
  const firsts = await firstsInLine(dbTransaction, [...new Set(untold.map(({ relayer_row_id }) => relayer_row_id))])
  for (const row of untold) {
    const { row_id, wait_reason, waits_told } = row
    if (wait_reason === null || !firsts.some((first) => first.row_id === row_id)) continue
    row.waits_told = [...waits_told, wait_reason]
    await dbTransaction.run(setWaitsTold, { row_id, waits_told: JSON.stringify(row.waits_told) })
    await writeWaitEvent(dbTransaction, row)
  }
}

/**
 * Compare-and-set of transactions with their events, inside a database transaction that holds the locks of their relayers; undefined
 * where the revision has changed. `ahead`: their rows, where they are known.
 */
export async function moveAll(
  dbTransaction: DatabaseTransaction,
  moves: TransactionUpdate[],
  ahead?: StoredTransaction[],
): Promise<(TransactionRow | undefined)[]> {
  const moved: (TransactionRow | undefined)[] = []
  const batches = together(moves)
  // Rows that were read ahead may be changed by an earlier batch.
  for (const some of batches)
    moved.push(...(await moveSome(dbTransaction, some, batches.length === 1 ? ahead : undefined)))
  return moved
}

/** Reads the rows of moves, and what their events need. Undefined: there are more than are written together. */
async function readMovesAhead(
  dbTransaction: DatabaseTransaction,
  moves: TransactionUpdate[],
): Promise<StoredTransaction[] | undefined> {
  if (moves.length > maxMoves) return undefined
  const rowIds = rowIdsOf(moves)
  const [rows] = await Promise.all([
    dbTransaction.all(rowsById, { row_ids: rowIds }),
    prepareEventsFor(dbTransaction, rowIds),
  ])
  return rows
}

const rowIdsOf = (moves: TransactionUpdate[]): number[] => [...new Set(moves.map(({ row_id }) => row_id))]

/** Its status or its content has changed, or its bytes were released to the public nodes. */
const isToldOf = (before: TransactionRow, after: TransactionRow): boolean =>
  after.status !== before.status || after.replacements !== before.replacements || isPrivate(before) !== isPrivate(after)

const reservationOf = ({ before, after }: Step) => ({
  account: { chain_id: before.chain_id, address: before.from },
  before: before.reserved,
  after: after.reserved,
})

/** Splits moves by number, by size, and where one changes attempts of a transaction that has moved before it. */
function together(moves: TransactionUpdate[]): TransactionUpdate[][] {
  const batches: TransactionUpdate[][] = []
  let bytes = 0
  const seen = new Set<number>()
  for (const move of moves) {
    const { row_id, attempt, taken, refused } = move
    const isAgain = seen.has(row_id) && (attempt || taken || refused) !== undefined
    if (isAgain || bytes >= maxMoveBytes || batches.at(-1)?.length === maxMoves) {
      batches.push([])
      bytes = 0
      seen.clear()
    } else if (batches.length === 0) batches.push([])
    batches.at(-1)?.push(move)
    bytes += bytesOfMove(move)
    seen.add(row_id)
  }
  return batches
}

/** Moves in group commits. */
const batches: GroupedChange<TransactionUpdate[], (TransactionRow | undefined)[], StoredTransaction[] | undefined> = {
  toLock: (batch) => ({
    transactions: batch.map(({ row_id }) => row_id),
    names: batch.flatMap(({ spending }) => keysIn(spending)),
  }),
  readAhead: (dbTransaction, inputs) => readMovesAhead(dbTransaction, inputs.flat()),
  async make(dbTransaction, requested, ahead) {
    const moved = await moveAll(
      dbTransaction,
      requested.flatMap(({ input }) => input),
      ahead,
    )
    let at = 0
    return requested.map(({ auditEntry, input }) => {
      const its = moved.slice(at, at + input.length)
      at += input.length
      // A refused move has no effect, so it gets no audit entry.
      if (auditEntry && its.some((row) => row !== undefined)) dbTransaction.record(auditEntry)
      return its
    })
  },
}

/**
 * Compare-and-set by `revision`, each with its event; undefined where the revision has changed. The event `transaction_waiting` is
 * written for the first in line, once per `wait_reason`. Small moves share one database transaction; moves of large transactions are
 * split into several, between which other work runs.
 */
export async function move(database: Database, moves: TransactionUpdate[]): Promise<(TransactionRow | undefined)[]> {
  const moved: (TransactionRow | undefined)[] = []
  for (const batch of batchesOf(moves, bytesOfMove, maxMoveBytes))
    moved.push(...(await database.groupCommit(batches, batch)))
  return moved
}

/** Writes the event of the reason why a transaction waits, unless it was written: it has become the first in line. */
export const announceWait = (database: Database, { row_id, revision }: TransactionRow): Promise<unknown> =>
  move(database, [{ row_id, revision, set: {} }])

/** The most bytes that the moves of one database transaction write: some milliseconds. */
const maxMoveBytes = 1_000_000

const bytesOfMove = ({ set, attempt }: TransactionUpdate): number =>
  bytesOf(set.data ?? null) + (attempt?.raw.length ?? 0)

/** The row after a move, except for its data and the amount that is reserved for it. `now`: milliseconds since the Unix epoch. */
function movedRow(
  before: TransactionRow,
  { set, end }: Pick<TransactionUpdate, 'set' | 'end'>,
  now: number,
): TransactionRow {
  const { data: _, ...others } = set
  const status = end?.status ?? set.status ?? before.status
  const after: TransactionRow = { ...before, ...waitOf(set), ...others, status, revision: revisionAfter(before) }
  if (isFinal(after.status)) Object.assign(after, { wait_reason: null, wait_text: null })
  // Until it ends, it counts however old it is (daily-limits.ts); what it paid counts for a day from its end.
  const isEnded = isFinal(after.status) && !isFinal(before.status)
  if (isEnded && after.sponsored) after.sponsored = { ...after.sponsored, bucket: bucketAt(now) }
  if (before.block_number !== null && after.block_number === null) {
    const entry = {
      occurred_at: new Date(now).toISOString(),
      event: 'reorganized',
      block_number: before.block_number,
    } as const
    after.history = withEntry(after.history, entry)
  }
  const isChanged = after.status !== before.status || after.wait_reason !== before.wait_reason
  if (isChanged) after.changed_at = new Date(now).toISOString()
  return after
}

/** Setting a reason clears why it waits, unless that is set too. */
const waitOf = ({
  status_reason,
}: TransactionUpdate['set']): Pick<TransactionUpdate['set'], 'wait_reason' | 'wait_text'> =>
  status_reason === undefined ? {} : { wait_reason: null, wait_text: null }

const finalColumns = [
  'status',
  'confirmed_at',
  'receipt',
  'block_number',
  'block_hash',
  'reserved',
  'changed_at',
  'revision',
] as const
/**
 * What the steps of a transaction change: it waits, a node takes it, it is signed, it is in a block, it is signed again; and anything
 * else. A list, because a caller chooses what a replacement changes, and each statement is kept.
 */
const columnSets: readonly (readonly ChangingName[])[] = [
  ['wait_reason', 'wait_text', 'changed_at', 'reprice_at', 'revision'],
  ['status', 'sent_at', 'changed_at', 'revision'],
  ['hash', 'status', 'signature', 'changed_at', 'reprice_at', 'revision'],
  finalColumns,
  [...finalColumns, 'sponsored'],
  [
    ...(['hash', 'gas_price', 'max_fee_per_gas', 'max_priority_fee_per_gas', 'signature', 'resign'] as const),
    ...(['wait_reason', 'wait_text', 'reserved', 'changed_at', 'reprice_at', 'revision'] as const),
  ],
  changingNames,
]

/**
 * A statement sets no more columns than it needs to: the others would have to be sent, and in SQLite, setting a column to its present
 * value rewrites its indexes. In PostgreSQL, the list of row ids lets the planner look them up by the index; by a join, it would read the
 * whole table while it is small.
 */
const updates = columnSets.map((names) => ({
  names,
  statement: sql<object>({
    sqlite: `
      UPDATE transactions SET ${names.map((name) => `"${name}" = $${name}`).join(', ')}
      WHERE row_id = $row_id AND revision = $known_revision`,
    postgres: `
      UPDATE transactions SET ${names.map((name) => `"${name}" = new."${name}"`).join(', ')}
      FROM ${recordsOf(['row_id', ...names], 'known_revision bigint')}
      WHERE transactions.row_id = ANY ($row_ids::bigint[]) AND transactions.row_id = new.row_id
        AND transactions.revision = new.known_revision`,
  }),
}))
type Update = (typeof updates)[number]

/** How a row differs from the stored one, the statement that changes it, and its values. */
function changeOf(before: StoredTransaction, row: TransactionRow) {
  const after = encodeTransaction(row)
  const changed = changingNames.filter((name) => after[name] !== before[name])
  const update = updates.find(({ names }) => changed.every((name) => names.includes(name))) as Update
  const values = Object.fromEntries(update.names.map((name) => [name, after[name]]))
  return { changed, update, values: { ...values, row_id: row.row_id, known_revision: before.revision } }
}

/** Resolves to how many rows were changed: those that still have the known revision. */
async function writeChanges(
  dbTransaction: DatabaseTransaction,
  changes: ReturnType<typeof changeOf>[],
): Promise<number> {
  const counts = await Promise.all(
    [...Map.groupBy(changes, ({ update }) => update)].map(([{ statement }, its]) =>
      dbTransaction.runOf(
        statement,
        its.map(({ values }) => values),
        { row_ids: its.map(({ values }) => values.row_id) },
      ),
    ),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}
