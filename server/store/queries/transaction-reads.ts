import type { SentTransaction } from '../../domain/errors.ts'
import { type AtCapacity, type Capacity, exceededBy, type Unfinished } from '../../domain/new-transaction.ts'
import { finalStatuses } from '../../domain/statuses.ts'
import { isSecretOf } from '../../domain/submission.ts'
import type { Account, TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import {
  type Database,
  type Engine,
  indexedBy,
  type KeyedReads,
  type Session,
  type Statement,
  selectForEach,
  sql,
  type Values,
} from './database.ts'
import {
  dataColumn,
  hexOf,
  readTransaction,
  readWholeTransaction,
  type StoredTransaction,
  transactionColumns,
  type WholeRow,
  wholeColumns,
} from './transaction-rows.ts'

const selectNames = sql<{ id: string; name: string }>(`
  SELECT id, coalesce(reference, relayer_id || ' · nonce ' || nonce) AS name FROM transactions
  WHERE id = ANY ($ids::text[]) AND coalesce(reference, CAST(nonce AS TEXT)) IS NOT NULL`)

/** By the id of a transaction: its reference, or else its relayer and nonce. One without both is absent. */
export async function transactionNames({ read }: Database, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length === 0 ? [] : await read.all(selectNames, { ids })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** What a request waits for. */
export type TransactionState = Pick<TransactionRow, 'status' | 'resign'>

/** The most rows that are read in one turn of the event loop: some milliseconds. */
const turnRows = 500

/** Reads at most `limit` rows in steps, between which other work runs. `next` reads the rows after one, or the first ones. */
async function inSteps<Row>(
  limit: number,
  next: (after: Row | undefined, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (;;) {
    const size = Math.min(turnRows, limit - rows.length)
    const step = await next(rows.at(-1), size)
    rows.push(...step)
    if (step.length < size || rows.length >= limit) return rows
    await yieldToEventLoop()
  }
}

const byId = sql<WholeRow>(
  `SELECT ${wholeColumns} FROM transactions WHERE id = $id AND relayer_row_id = $relayer_row_id`,
)
const ofPool = sql<WholeRow>(`SELECT ${wholeColumns} FROM transactions WHERE id = $id AND pool_row_id = $pool_row_id`)
const byIdAlone = sql<WholeRow>(`SELECT ${wholeColumns} FROM transactions WHERE id = $id`)
const ofSponsorship = sql<WholeRow>(`SELECT ${wholeColumns} FROM transactions WHERE id = $id AND sponsored IS NOT NULL`)
const states = sql<{ id: string } & Pick<StoredTransaction, 'status' | 'resign'>>(
  'SELECT id, status, resign FROM transactions WHERE id = ANY ($ids::text[])',
)
const byHash = sql<WholeRow>(`
  SELECT ${wholeColumns} FROM transactions
  WHERE row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = $hash) AND relayer_row_id = $relayer_row_id
  LIMIT 1`)
const hiddenByHash = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM transactions
  WHERE row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = $hash) AND submission IS NOT NULL`)
const byNonce = sql<WholeRow>(
  `SELECT ${wholeColumns} FROM transactions WHERE chain_id = $chain_id AND "from" = $address AND nonce = $nonce`,
)
const selectData = sql<{ data: Uint8Array | null }>(
  `SELECT ${dataColumn('transactions')} FROM transactions WHERE row_id = $row_id`,
)
const selectPending = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM transactions
  WHERE relayer_row_id = $relayer_row_id AND status = 'pending' AND nonce >= $from AND nonce < $below
  ORDER BY nonce LIMIT $limit`)
const selectInFlight = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM transactions
  WHERE relayer_row_id = $relayer_row_id AND status IN ('sent', 'submitted') AND nonce > $after
  ORDER BY nonce LIMIT $limit`)
const selectMined = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM transactions
  WHERE relayer_row_id = $relayer_row_id AND status = 'mined' AND (block_number, row_id) > ($after_block, $after_row_id)
    AND block_number <= $up_to_block
  ORDER BY block_number, row_id LIMIT $limit`)
const selectHolders = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= $from AND nonce < $to ORDER BY nonce LIMIT $limit`)
// Blocks contain nonces in order, so mined transactions come first. A hundred thousand waiting ones may follow.
const selectMinedFrom = sql<{ found: number }>(`
  SELECT 1 AS found FROM (
    SELECT status, block_hash FROM transactions
    WHERE chain_id = $chain_id AND "from" = $address AND nonce >= $nonce ORDER BY nonce LIMIT 1000
  ) AS next
  WHERE status IN ('mined', 'confirmed') OR block_hash IS NOT NULL LIMIT 1`)
const lastConfirmed = sql<{ confirmed_at: string | null }>(`
  SELECT confirmed_at FROM transactions WHERE relayer_row_id = $relayer_row_id AND status = 'confirmed'
  ORDER BY sequence DESC LIMIT 1`)

/** Every submission asks, and every round of the sender. */
const unfinishedReads: KeyedReads<number, number, Unfinished> = {
  nameOf: (rowId) => rowId,
  readAll: ({ read }, rowIds) => unfinishedOfAll(read, rowIds),
}

const whole = (row: WholeRow | undefined) => row && readWholeTransaction(row)

const rows = async (database: Database, statement: Statement<StoredTransaction>, values: Values) =>
  (await database.read.all(statement, values)).map(readTransaction)

const afterNonce = (after: TransactionRow | undefined, from: number) =>
  after === undefined ? from : (after.nonce as number) + 1

export const getTransaction = async (
  database: Database,
  relayerRowId: number,
  id: string,
): Promise<WholeTransactionRow | undefined> =>
  whole(await database.read.one(byId, { id, relayer_row_id: relayerRowId }))

/** By whichever relayer. */
export const getTransactionById = async (database: Database, id: string): Promise<WholeTransactionRow | undefined> =>
  whole(await database.read.one(byIdAlone, { id }))

/** Of the transaction that has a `deduplication_id`. `record`: what stands before the names of the two parameters. */
export const selectSentWith = (record: string): string => `
  SELECT its.id, its.relayer_id, pools.id AS pool_id
  FROM deduplication_ids AS taken JOIN transactions AS its ON its.row_id = transaction_row_id
    LEFT JOIN pools ON pools.row_id = its.pool_row_id
  WHERE taken.chain_id = ${record}chain_id AND taken.deduplication_id = ${record}deduplication_id`
const byDeduplicationId = sql<SentTransaction>(selectSentWith('$'))

/** The transaction of the chain that has this `deduplication_id`. */
export const sentWith = (
  { read }: Database,
  chainId: number,
  deduplicationId: string,
): Promise<SentTransaction | undefined> =>
  read.one(byDeduplicationId, { chain_id: chainId, deduplication_id: deduplicationId })

/** The transaction that was sent through a pool. */
export const getTransactionOfPool = async (
  database: Database,
  poolRowId: number,
  id: string,
): Promise<WholeTransactionRow | undefined> => whole(await database.read.one(ofPool, { id, pool_row_id: poolRowId }))

/** The call of a sponsorship, by whichever relayer. */
export async function getTransactionOfSponsorship(
  database: Database,
  sponsorshipRowId: number,
  id: string,
): Promise<WholeTransactionRow | undefined> {
  const row = whole(await database.read.one(ofSponsorship, { id }))
  return row?.sponsored?.sponsorship_row_id === sponsorshipRowId ? row : undefined
}

/** By id, of those that exist: at most some hundreds at a time. */
export async function transactionStates(
  database: Database,
  ids: string[],
): Promise<ReadonlyMap<string, TransactionState>> {
  const found = await database.read.all(states, { ids })
  return new Map(found.map(({ id, status, resign }) => [id, { status, resign: resign === 1 }]))
}

/** The transaction that was ever signed with this hash. */
export const getTransactionByHash = async (
  database: Database,
  relayerRowId: number,
  hash: string,
): Promise<WholeTransactionRow | undefined> =>
  whole(await database.read.one(byHash, { hash, relayer_row_id: relayerRowId }))

/** Whether only private relays know of the transaction that was ever signed with this hash, by any relayer. */
export const isSecretHash = async (database: Database, hash: string): Promise<boolean> =>
  (await rows(database, hiddenByHash, { hash })).some((row) => isSecretOf(row, hash))

export const getTransactionByNonce = async (
  database: Database,
  chainId: number,
  address: string,
  nonce: number,
): Promise<WholeTransactionRow | undefined> =>
  whole(await database.read.one(byNonce, { chain_id: chainId, address, nonce }))

/** The data of a transaction, in lower case hex. */
export const dataOf = async (database: Database, rowId: number): Promise<string | null> =>
  hexOf((await database.read.one(selectData, { row_id: rowId }))?.data ?? null)

/** The unsigned (`pending`) transactions with nonces from `from` to below `below`, by nonce. */
export const pending = (
  database: Database,
  relayerRowId: number,
  { from, below }: { from: number; below: number },
  limit: number,
): Promise<TransactionRow[]> =>
  inSteps(limit, (after, size) =>
    rows(database, selectPending, { relayer_row_id: relayerRowId, from: afterNonce(after, from), below, limit: size }),
  )

/** The relayer's transaction with the lowest nonce of those that are in no block (`pending`, `sent`, `submitted`). */
export const firstInLine = async (database: Database, relayerRowId: number): Promise<TransactionRow | undefined> =>
  (await firstsInLine(database.read, [relayerRowId]))[0]

/** The signed transactions that are in no block (`sent`, `submitted`), by nonce. */
export const inFlight = (database: Database, relayerRowId: number, limit: number): Promise<TransactionRow[]> =>
  inSteps(limit, (after, size) =>
    rows(database, selectInFlight, { relayer_row_id: relayerRowId, after: after?.nonce ?? -1, limit: size }),
  )

/** The `mined` transactions in blocks up to `upToBlock`. */
export const mined = (
  database: Database,
  relayerRowId: number,
  upToBlock: number,
  limit: number,
): Promise<TransactionRow[]> =>
  inSteps(limit, (after, size) => {
    const place = { after_block: after?.block_number ?? -1, after_row_id: after?.row_id ?? 0 }
    return rows(database, selectMined, { relayer_row_id: relayerRowId, up_to_block: upToBlock, ...place, limit: size })
  })

/** The transactions that hold the nonces from `from` to below `to`, in any status, by nonce; at most `limit`. */
export const holders = (
  database: Database,
  account: Account,
  { from, to }: { from: number; to: number },
  limit: number,
): Promise<TransactionRow[]> =>
  inSteps(limit, (after, size) =>
    rows(database, selectHolders, { ...account, from: afterNonce(after, from), to, limit: size }),
  )

/** Whether a transaction of the account, at this nonce or shortly above it, is known to be in a block. */
export const hasMinedFrom = async (
  database: Database,
  chainId: number,
  address: string,
  nonce: number,
): Promise<boolean> => (await database.read.one(selectMinedFrom, { chain_id: chainId, address, nonce })) !== undefined

export const countUnfinished = async (database: Database, relayerRowId: number): Promise<number> =>
  (await database.readTogether(unfinishedReads, relayerRowId))?.count ?? 0

/** The limit that one more transaction with so many bytes of data would exceed; undefined: there is room. */
export const exceededCapacity = async (
  database: Database,
  relayerRowId: number,
  bytes: number,
  capacity: Capacity,
): Promise<AtCapacity | undefined> =>
  exceededBy((await database.readTogether(unfinishedReads, relayerRowId)) ?? nothing, { count: 1, bytes }, capacity)

export const lastConfirmedAt = async (database: Database, relayerRowId: number): Promise<string | null> =>
  (await database.read.one(lastConfirmed, { relayer_row_id: relayerRowId }))?.confirmed_at ?? null

const sums = sql<Unfinished & { relayer_row_id: number }>(`
  SELECT relayer_row_id, sum(unfinished) AS count, sum(unfinished_bytes) AS bytes
  FROM transaction_blocks WHERE relayer_row_id = ANY ($relayer_row_ids::bigint[]) AND level = 1 GROUP BY relayer_row_id`)

export const nothing: Unfinished = { count: 0, bytes: 0 }

/** The number and size of each relayer's unfinished transactions, from the counts per block. */
export async function unfinishedOfAll(session: Session, relayerRowIds: number[]): Promise<Map<number, Unfinished>> {
  const rows = await session.all(sums, { relayer_row_ids: relayerRowIds })
  return new Map(rows.map(({ relayer_row_id, ...unfinished }) => [relayer_row_id, unfinished]))
}

export const unfinishedOf = async (session: Session, relayerRowId: number): Promise<Unfinished> =>
  (await unfinishedOfAll(session, [relayerRowId])).get(relayerRowId) ?? nothing

const lowest = (relayer: string, status: string) => `
  SELECT * FROM (
    SELECT ${transactionColumns} FROM transactions WHERE relayer_row_id = ${relayer} AND ${status} AND nonce >= 0
    ORDER BY nonce LIMIT 1) AS lowest`
const unmined = (relayer: string) => `
  SELECT * FROM (
    ${lowest(relayer, `status = 'pending'`)} UNION ALL ${lowest(relayer, `status IN ('sent', 'submitted')`)}
  ) AS unmined ORDER BY nonce LIMIT 1`

const selectFirsts = selectForEach<StoredTransaction>({ relayer_row_id: 'bigint' }, (record) =>
  unmined(`${record}relayer_row_id`),
)

/** The unfinished transaction of each relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
export async function firstsInLine(session: Session, relayerRowIds: number[]): Promise<TransactionRow[]> {
  const wanted = relayerRowIds.map((relayerRowId) => ({ relayer_row_id: relayerRowId }))
  return (await session.allOf(selectFirsts, wanted)).map(readTransaction)
}

const unfinished = [
  ['transactions_pending', `status = 'pending'`],
  ['transactions_flying', `status IN ('sent', 'submitted')`],
  ['transactions_mined', `status = 'mined'`],
] as const

/** Skips from relayer to relayer in the index, so the cost depends on the number of relayers, not of transactions. */
const atWork = (engine: Engine, index: string, status: string) => `
  at_work_${index} (relayer_row_id) AS (
    SELECT min(relayer_row_id) FROM transactions${indexedBy[engine](index)} WHERE ${status}
    UNION ALL
    SELECT (SELECT min(relayer_row_id) FROM transactions${indexedBy[engine](index)}
            WHERE ${status} AND relayer_row_id > at_work_${index}.relayer_row_id)
    FROM at_work_${index} WHERE at_work_${index}.relayer_row_id IS NOT NULL
  )`

const atWorkNow = sql<{ relayer_row_id: number }>(
  (engine) => `
  WITH RECURSIVE ${unfinished.map(([index, status]) => atWork(engine, index, status)).join(',')}
  SELECT relayer_row_id FROM watches
  ${unfinished
    .map(([index]) => `UNION SELECT relayer_row_id FROM at_work_${index} WHERE relayer_row_id IS NOT NULL`)
    .join(' ')}`,
)

/** The row ids of the relayers that have unfinished transactions or are watched. */
export const relayersAtWork = async (database: Database): Promise<number[]> =>
  (await database.read.all(atWorkNow)).map(({ relayer_row_id }) => relayer_row_id)

/** How many of a relayer's newest transactions of each status are checked after a reorganization. */
const maxLookedThrough = 2_000

const insertWatch = sql(`
  INSERT INTO watches (relayer_row_id) SELECT row_id FROM relayers WHERE row_id = $relayer_row_id
  ON CONFLICT DO NOTHING`)
const exists = sql<{ found: number }>('SELECT 1 AS found FROM watches WHERE relayer_row_id = $relayer_row_id')
const deleteWatch = sql('DELETE FROM watches WHERE relayer_row_id = $relayer_row_id')
// One part for each status, so that the index of status and sequence gives the newest without a sort.
const ofEach = (select: (status: string) => string) =>
  finalStatuses.map((status) => `SELECT * FROM (${select(status)}) AS of_${status}`).join(' UNION ALL ')
const newest = sql<{ number: number; hash: string }>(`
  SELECT block_number AS number, block_hash AS hash FROM (${ofEach(
    (status) => `
    SELECT block_number, block_hash FROM transactions
    WHERE relayer_row_id = $relayer_row_id AND status = '${status}' ORDER BY sequence DESC LIMIT 1`,
  )}) AS newest
  WHERE block_number IS NOT NULL AND block_hash IS NOT NULL ORDER BY block_number DESC LIMIT 1`)
const since = sql<StoredTransaction>(`
  SELECT * FROM (${ofEach(
    (status) => `
    SELECT ${transactionColumns} FROM transactions
    WHERE relayer_row_id = $relayer_row_id AND status = '${status}'
    ORDER BY sequence DESC LIMIT ${maxLookedThrough}`,
  )}) AS newest
  WHERE block_number >= $block_number`)
const selectFailed = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM (
    SELECT * FROM transactions WHERE relayer_row_id = $relayer_row_id AND status = 'failed'
    ORDER BY sequence DESC LIMIT $limit
  ) AS failed WHERE block_hash IS NULL AND hash IS NOT NULL AND nonce IS NOT NULL`)
const newestRow = sql<{ newest: number }>('SELECT coalesce(max(row_id), 0) AS newest FROM transactions')

/** Keeps the relayer in `relayersAtWork` until `unwatch`, even without unfinished transactions. */
export async function watch(database: Database, relayerRowId: number): Promise<void> {
  if (await database.read.one(exists, { relayer_row_id: relayerRowId })) return
  await database.write((dbTransaction) => dbTransaction.run(insertWatch, { relayer_row_id: relayerRowId }))
}

export const unwatch = (database: Database, relayerRowId: number): Promise<void> =>
  database.write(async (dbTransaction) => void (await dbTransaction.run(deleteWatch, { relayer_row_id: relayerRowId })))

/** The highest block of the relayer's newest transactions that ended in a block. */
export const newestEnded = (
  database: Database,
  relayerRowId: number,
): Promise<{ number: number; hash: string } | undefined> => database.read.one(newest, { relayer_row_id: relayerRowId })

/** Transactions that ended in a block from `blockNumber` on, among the 2,000 newest of each status. */
export const endedSince = async (
  database: Database,
  relayerRowId: number,
  blockNumber: number,
): Promise<TransactionRow[]> =>
  (await database.read.all(since, { relayer_row_id: relayerRowId, block_number: blockNumber })).map(readTransaction)

/** Signed transactions that failed and are in no block, among the newest `limit` failed ones. */
export const failedUnmined = async (
  database: Database,
  relayerRowId: number,
  limit: number,
): Promise<TransactionRow[]> =>
  (await database.read.all(selectFailed, { relayer_row_id: relayerRowId, limit })).map(readTransaction)

/** The highest row id of a transaction. Later transactions get higher ones. */
export const newestRowId = async (database: Database): Promise<number> =>
  (await database.read.one(newestRow))?.newest ?? 0
