import type { SentTransaction } from '../../domain/errors.ts'
import type { NewTransaction } from '../../domain/new-transaction.ts'
import { unminedStatuses } from '../../domain/statuses.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import { accountOf, readAccounts, setAccounts } from './accounts.ts'
import { readDailyLimits } from './daily-limits.ts'
import { type DatabaseTransaction, insertInto, type Session, selectForEach, sql } from './database.ts'
import { readAnswers, rememberAnswers } from './idempotency.ts'
import { deduplicationOf, exclusiveName, type InsertState, idempotencyScope, keyOf, nonceOf } from './insert-rules.ts'
import { insertPayments } from './payments.ts'
import { selectSentWith } from './transaction-reads.ts'
import { columnNames, indexMetadata, quoted, recordsOf, statusIn } from './transaction-rows.ts'
import { insertRefills, newestRefills } from './treasuries.ts'

const sumOfBlocks = (column: string) =>
  `(SELECT coalesce(sum(${column}), 0) FROM transaction_blocks WHERE relayer_row_id = relayers.row_id AND level = 1)`
const selectRelayers = sql<{ row_id: number; last_sequence: number; count: number; bytes: number }>(`
  SELECT row_id, ${sumOfBlocks('unfinished')} AS count, ${sumOfBlocks('unfinished_bytes')} AS bytes,
    (SELECT coalesce(max(sequence), 0) FROM transactions WHERE relayer_row_id = relayers.row_id) AS last_sequence
  FROM relayers WHERE row_id = ANY ($row_ids::bigint[])`)
const selectExclusive = selectForEach<{ chain_id: number; exclusive_key: string }>(
  { chain_id: 'bigint', exclusive_key: 'text' },
  (record) => `
  SELECT chain_id, exclusive_key FROM transactions
  WHERE exclusive_key = ${record}exclusive_key AND chain_id = ${record}chain_id AND ${statusIn(unminedStatuses)} LIMIT 1`,
)
const selectSent = selectForEach<SentTransaction & { name: string }>(
  { name: 'text', chain_id: 'bigint', deduplication_id: 'text' },
  selectSentWith,
  { shown: ['name'] },
)
const insertDeduplicationIds = insertInto('deduplication_ids', {
  ...({ chain_id: 'bigint', deduplication_id: 'text', transaction_row_id: 'bigint' } as const),
})
// The nonces that are named, and those that follow the counter of an account.
const selectHeld = selectForEach<Account & { nonce: number }>(
  { chain_id: 'bigint', address: 'text', nonce: 'bigint', count: 'bigint' },
  (record) => `
  SELECT nonce FROM transactions, (
    SELECT coalesce(${record}nonce, (SELECT next_nonce FROM accounts
      WHERE chain_id = ${record}chain_id AND address = ${record}address), 0) AS first
  ) AS wanted_nonces
  WHERE chain_id = ${record}chain_id AND "from" = ${record}address AND nonce >= first AND nonce < first + ${record}count`,
  { shown: ['chain_id', 'address'] },
)
const assignRowIds = sql<{ transactions: number; data: number | null }>({
  sqlite: `
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < $transactions)
    SELECT (SELECT coalesce(max(row_id), 0) FROM transactions) + number AS transactions,
      CASE WHEN number <= $data THEN (SELECT coalesce(max(row_id), 0) FROM transaction_data) + number END AS data
    FROM numbers`,
  postgres: `
    SELECT nextval(pg_get_serial_sequence('transactions', 'row_id')) AS transactions,
      CASE WHEN number <= $data THEN nextval(pg_get_serial_sequence('transaction_data', 'row_id')) END AS data
    FROM generate_series(1, $transactions::bigint) AS number`,
})

/** The state that the acceptance of some transactions depends on. The caller holds the locks of their relayers. */
export async function readInsertState(session: Session, wanted: NewTransaction[], now: number): Promise<InsertState> {
  const { keys, accounts: places, spending, exclusive, named, refilled } = recordsOfAll(wanted)
  const withData = wanted.filter(({ data }) => data !== null).length
  // They are sent together, and run one after the other.
  const [known, relayers, accounts, held, taken, sent, limits, refills, rowIds] = await Promise.all([
    readAnswers(session, keys),
    session.all(selectRelayers, { row_ids: [...new Set(wanted.map((its) => its.relayer_row_id))] }),
    readAccounts(session, places),
    session.allOf(selectHeld, noncesOf(wanted)),
    exclusive.length === 0 ? [] : session.allOf(selectExclusive, exclusive),
    named.length === 0 ? [] : session.allOf(selectSent, named),
    readDailyLimits(session, spending, now),
    newestRefills(session, refilled),
    session.all(assignRowIds, { transactions: wanted.length, data: withData }),
  ])
  return {
    row_ids: { transactions: rowIds.map((its) => its.transactions), data: rowIds.flatMap(({ data }) => data ?? []) },
    known: new Map(known.map((its) => [keyOf(its.relayer_row_id, its), its])),
    relayers: new Map(
      relayers.map(({ row_id, last_sequence, ...unfinished }) => [row_id, { last_sequence, unfinished }]),
    ),
    accounts: new Map([...accounts].map(([name, its]) => [name, { ...its, isChanged: false }])),
    held: new Set(held.map((its) => nonceOf(its, its.nonce))),
    exclusive: new Set(taken.map((its) => exclusiveName(its.chain_id, its.exclusive_key))),
    sent: new Map(sent.map(({ name, ...its }) => [name, its])),
    limits,
    refills,
    accepted: [],
  }
}

/** What is read for some transactions: each key and each account once. */
function recordsOfAll(wanted: NewTransaction[]) {
  const keys = wanted.flatMap(({ relayer_row_id, idempotency: its }) =>
    its ? { relayer_row_id: idempotencyScope(relayer_row_id, its.pool_row_id), caller: its.caller, key: its.key } : [],
  )
  const accounts = wanted.map(({ chain_id, from: address }) => ({ chain_id, address }))
  return {
    keys: distinct(keys, (its) => keyOf(its.relayer_row_id, its)),
    accounts: distinct(accounts, accountOf),
    spending: wanted.flatMap(({ chain_id, from, spending }) =>
      spending ? { account: { chain_id, address: from }, spending } : [],
    ),
    exclusive: wanted.flatMap(({ chain_id, sponsored }) =>
      sponsored?.exclusive_key == null ? [] : { chain_id, exclusive_key: sponsored.exclusive_key },
    ),
    named: wanted.flatMap((its) => {
      const name = deduplicationOf(its)
      return name === undefined ? [] : { name, chain_id: its.chain_id, deduplication_id: its.deduplication_id }
    }),
    refilled: wanted.flatMap(({ refill }) => refill?.relayer_row_id ?? []),
  }
}

const distinct = <T>(all: T[], nameOf: (one: T) => string): T[] => [
  ...new Map(all.map((one) => [nameOf(one), one])).values(),
]

/** The nonces that the transactions may get. `nonce`: null for those that follow the counter of their account. */
function noncesOf(wanted: NewTransaction[]): (Account & { nonce: number | null; count: number })[] {
  const counted = new Map<string, Account & { nonce: null; count: number }>()
  const named: (Account & { nonce: number; count: number })[] = []
  for (const { chain_id, from: address, nonce } of wanted) {
    const name = accountOf({ chain_id, address })
    if (nonce !== undefined) named.push({ chain_id, address, nonce, count: 1 })
    else counted.set(name, { chain_id, address, nonce: null, count: (counted.get(name)?.count ?? 0) + 1 })
  }
  return [...named, ...counted.values()]
}

const names = quoted(columnNames)
const insertData = insertInto('transaction_data', { row_id: 'bigint', data: 'bytea' })
const insertRows = sql({
  sqlite: `INSERT INTO transactions (${names}) VALUES (${columnNames.map((name) => `$${name}`).join(', ')})`,
  postgres: `
    INSERT INTO transactions (${names})
    SELECT ${names} FROM ${recordsOf(columnNames)}`,
})

/** Writes what was accepted, in an order in which each row comes after those that it refers to. */
export async function writeInserted(dbTransaction: DatabaseTransaction, state: InsertState): Promise<void> {
  const { accepted, accounts, limits } = state
  if (accepted.length === 0) return
  const data = accepted.flatMap(({ row, data }) => (data === null ? [] : { row_id: row.data_row_id, data }))
  const answers = accepted.flatMap(({ known, row: { relayer_row_id, data_row_id } }) => {
    if (!known) return []
    const { data: _, pool_row_id, ...answer } = known
    return { ...answer, relayer_row_id: idempotencyScope(relayer_row_id, pool_row_id), data_row_id }
  })
  const named = accepted.flatMap(({ is_deduplicated, row: { chain_id, deduplication_id, row_id } }) =>
    is_deduplicated ? { chain_id, deduplication_id, transaction_row_id: row_id } : [],
  )
  const described = accepted.flatMap(({ row }) => (row.metadata === null ? [] : row.row_id))
  const changed = [...accounts.values()].flatMap(({ isChanged, ...account }) => (isChanged ? account : []))
  await Promise.all([
    ...(data.length > 0 ? [dbTransaction.runOf(insertData, data)] : []),
    dbTransaction.runOf(
      insertRows,
      accepted.map(({ row }) => row),
    ),
    indexMetadata(dbTransaction, described),
    ...(named.length > 0 ? [dbTransaction.runOf(insertDeduplicationIds, named)] : []),
    rememberAnswers(dbTransaction, answers),
    insertRefills(dbTransaction, accepted),
    insertPayments(dbTransaction, accepted),
    dbTransaction.runOf(setAccounts, changed),
    limits.write(dbTransaction),
  ])
}
