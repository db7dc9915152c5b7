import type { SentTransaction } from '../../domain/errors.ts'
import type { NewTransaction } from '../../domain/new-transaction.ts'
import { unminedStatuses } from '../../domain/statuses.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import { accountOf, readAccounts } from './accounts.ts'
import { openSpendingBook } from './daily-limits.ts'
import { type DatabaseTransaction, type Session, sql } from './database.ts'
import {
  deduplicationOf,
  type InsertState,
  idempotencyScope,
  type KnownAnswer,
  keyOf,
  laneOf,
  nonceOf,
} from './insert-rules.ts'
import { insertPayments } from './payments.ts'
import { columnNames, dataColumn, indexMetadata, quoted, recordsOf, statusIn } from './transaction-rows.ts'
import { insertRefills, newestRefills } from './treasuries.ts'

interface KnownRow extends KnownAnswer {
  /** The holder. */
  relayer_row_id: number
  caller: string
  key: string
}

const knownAt = (row: string) => `
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = ${row}caller AND relayer_row_id = ${row}relayer_row_id AND idempotency_key = ${row}key`
const selectKnown = sql<KnownRow>({
  sqlite: `
    SELECT $caller AS caller, $relayer_row_id AS relayer_row_id, $key AS key, its.* FROM (${knownAt('$')}) AS its`,
  // OFFSET 0: each wanted row is looked up by the index. A join would read the whole table while it is small.
  postgres: `
    SELECT wanted.caller, wanted.relayer_row_id, wanted.key, its.*
    FROM json_to_recordset($rows::json) AS wanted (caller text, relayer_row_id bigint, key text),
      LATERAL (${knownAt('wanted.')} OFFSET 0) AS its`,
})
const sumOfBlocks = (column: string) =>
  `(SELECT coalesce(sum(${column}), 0) FROM transaction_blocks WHERE relayer_row_id = relayers.row_id AND level = 1)`
const selectRelayers = sql<{ row_id: number; last_sequence: number; count: number; bytes: number }>(`
  SELECT row_id, ${sumOfBlocks('unfinished')} AS count, ${sumOfBlocks('unfinished_bytes')} AS bytes,
    (SELECT coalesce(max(sequence), 0) FROM transactions WHERE relayer_row_id = relayers.row_id) AS last_sequence
  FROM relayers WHERE row_id = ANY ($row_ids::bigint[])`)
const laneAt = (row: string) => `
  SELECT chain_id, sponsored_lane FROM transactions
  WHERE sponsored_lane = ${row}lane AND chain_id = ${row}chain_id AND ${statusIn(unminedStatuses)} LIMIT 1`
const selectLanes = sql<{ chain_id: number; sponsored_lane: string }>({
  sqlite: laneAt('$'),
  postgres: `
    SELECT its.* FROM json_to_recordset($rows::json) AS wanted (chain_id bigint, lane text),
      LATERAL (${laneAt('wanted.')} OFFSET 0) AS its`,
})
const sentAt = (row: string) => `
  SELECT its.id, its.relayer_id FROM deduplication_ids AS taken JOIN transactions AS its ON its.row_id = transaction_row_id
  WHERE taken.chain_id = ${row}chain_id AND taken.deduplication_id = ${row}deduplication_id`
const selectSent = sql<SentTransaction & { name: string }>({
  sqlite: `SELECT $name AS name, its.* FROM (${sentAt('$')}) AS its`,
  postgres: `
    SELECT wanted.name, its.*
    FROM json_to_recordset($rows::json) AS wanted (name text, chain_id bigint, deduplication_id text),
      LATERAL (${sentAt('wanted.')} OFFSET 0) AS its`,
})
const insertSent = sql({
  sqlite: `
    INSERT INTO deduplication_ids (chain_id, deduplication_id, transaction_row_id)
    VALUES ($chain_id, $deduplication_id, $row_id)`,
  postgres: `
    INSERT INTO deduplication_ids (chain_id, deduplication_id, transaction_row_id)
    SELECT * FROM json_to_recordset($rows::json) AS sent (chain_id bigint, deduplication_id text, row_id bigint)`,
})
// The nonces that are named, and those that follow the counter of an account.
const heldAt = (row: string) => `
  SELECT nonce FROM transactions, (
    SELECT coalesce(${row}nonce, (SELECT next_nonce FROM accounts
      WHERE chain_id = ${row}chain_id AND address = ${row}address), 0) AS first
  ) AS wanted_nonces
  WHERE chain_id = ${row}chain_id AND "from" = ${row}address AND nonce >= first AND nonce < first + ${row}count`
const selectHeld = sql<Account & { nonce: number }>({
  sqlite: `SELECT $chain_id AS chain_id, $address AS address, held.nonce FROM (${heldAt('$')}) AS held`,
  postgres: `
    SELECT wanted.chain_id, wanted.address, held.nonce
    FROM json_to_recordset($rows::json) AS wanted (chain_id bigint, address text, nonce bigint, count bigint),
      LATERAL (${heldAt('wanted.')} OFFSET 0) AS held`,
})
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
export async function readInsertState(
  session: Session,
  wanted: NewTransaction[],
  now: number,
): Promise<InsertState & { write(transaction: DatabaseTransaction): Promise<void> }> {
  const keys = new Map(
    wanted.flatMap(({ relayer_row_id, idempotency: its }) => {
      if (!its) return []
      const row = {
        relayer_row_id: idempotencyScope(relayer_row_id, its.pool_row_id),
        caller: its.caller,
        key: its.key,
      }
      return [[keyOf(relayer_row_id, its), row] as const]
    }),
  )
  const places = new Map(
    wanted.map(({ chain_id, from: address }) => [accountOf({ chain_id, address }), { chain_id, address }]),
  )
  const spending = wanted.flatMap(({ chain_id, from, spending }) =>
    spending ? { account: { chain_id, address: from }, spending } : [],
  )
  const lanes = wanted.flatMap(({ chain_id, sponsored }) =>
    sponsored?.lane == null ? [] : { chain_id, lane: sponsored.lane },
  )
  const named = wanted.flatMap((its) => {
    const { chain_id, deduplication_id } = its
    const name = deduplicationOf(its)
    return name === undefined ? [] : { name, chain_id, deduplication_id }
  })
  const withData = wanted.filter(({ data }) => data !== null).length
  const refilled = wanted.flatMap(({ refill }) => refill?.relayer_row_id ?? [])
  // They are sent together, and run one after the other.
  const [known, relayers, accounts, held, taken, sent, book, refills, rowIds] = await Promise.all([
    keys.size === 0 ? [] : session.allOf(selectKnown, [...keys.values()]),
    session.all(selectRelayers, { row_ids: [...new Set(wanted.map((its) => its.relayer_row_id))] }),
    readAccounts(session, [...places.values()]),
    session.allOf(selectHeld, noncesOf(wanted)),
    lanes.length === 0 ? [] : session.allOf(selectLanes, lanes),
    named.length === 0 ? [] : session.allOf(selectSent, named),
    openSpendingBook(session, spending, now),
    newestRefills(session, refilled),
    session.all(assignRowIds, { transactions: wanted.length, data: withData }),
  ])

  const ledger: InsertState = {
    row_ids: { transactions: rowIds.map((its) => its.transactions), data: rowIds.flatMap(({ data }) => data ?? []) },
    known: new Map(known.map((its) => [keyOf(its.relayer_row_id, its), its])),
    relayers: new Map(
      relayers.map(({ row_id, last_sequence, count, bytes }) => [
        row_id,
        { last_sequence, unfinished: { count, bytes } },
      ]),
    ),
    accounts: new Map([...accounts].map(([name, its]) => [name, { ...its, isChanged: false }])),
    held: new Set(held.map((its) => nonceOf(its, its.nonce))),
    lanes: new Set(taken.map(({ chain_id, sponsored_lane }) => laneOf(chain_id, sponsored_lane))),
    sent: new Map(sent.map(({ name, ...its }) => [name, its])),
    spend: book.spend,
    bucket: book.bucket,
    refills,
    accepted: [],
  }
  return {
    ...ledger,
    async write(transaction) {
      if (ledger.accepted.length === 0) return
      await Promise.all([...insertions(transaction, ledger), book.write(transaction)])
    },
  }
}

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
const insertData = sql({
  sqlite: 'INSERT INTO transaction_data (row_id, data) VALUES ($row_id, $data)',
  postgres: `
    INSERT INTO transaction_data (row_id, data)
    SELECT row_id, decode(data, 'hex') FROM json_to_recordset($rows::json) AS new (row_id bigint, data text)`,
})
const insertRows = sql({
  sqlite: `INSERT INTO transactions (${names}) VALUES (${columnNames.map((name) => `$${name}`).join(', ')})`,
  postgres: `
    INSERT INTO transactions (${names})
    SELECT ${names} FROM ${recordsOf(columnNames)}`,
})
const insertKnown = sql(
  (engine) => `
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  ${
    engine === 'sqlite'
      ? 'VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)'
      : `SELECT * FROM json_to_recordset($rows::json) AS known (caller text, relayer_row_id bigint, key text,
           body_hash text, transaction_row_id bigint, answer text, data_row_id bigint)`
  }`,
)
const setAccounts = sql(
  (engine) => `
  INSERT INTO accounts (chain_id, address, next_nonce, reserved, released)
  ${
    engine === 'sqlite'
      ? 'VALUES ($chain_id, $address, $next_nonce, $reserved, $released)'
      : `SELECT * FROM json_to_recordset($rows::json)
         AS changed (chain_id bigint, address text, next_nonce bigint, reserved text, released text)`
  }
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce, reserved = excluded.reserved,
    released = excluded.released`,
)

/** In an order in which each row comes after those that it refers to. */
function insertions(transaction: DatabaseTransaction, { accepted, accounts }: InsertState): Promise<unknown>[] {
  const data = accepted.flatMap(({ row, data }) => (data === null ? [] : { row_id: row.data_row_id, data }))
  const known = accepted.flatMap(({ known: its, row: { relayer_row_id, data_row_id } }) => {
    if (!its) return []
    const { data: _, pool_row_id, ...answer } = its
    return { ...answer, relayer_row_id: idempotencyScope(relayer_row_id, pool_row_id), data_row_id }
  })
  const sent = accepted.flatMap(({ is_deduplicated, row: { chain_id, deduplication_id, row_id } }) =>
    is_deduplicated ? { chain_id, deduplication_id, row_id } : [],
  )
  const described = accepted.flatMap(({ row }) => (row.metadata === null ? [] : row.row_id))
  const changed = [...accounts.values()].flatMap(({ isChanged, ...account }) => (isChanged ? account : []))
  return [
    ...(data.length > 0 ? [transaction.runOf(insertData, data)] : []),
    transaction.runOf(
      insertRows,
      accepted.map(({ row }) => row),
    ),
    indexMetadata(transaction, described),
    ...(sent.length > 0 ? [transaction.runOf(insertSent, sent)] : []),
    ...(known.length > 0 ? [transaction.runOf(insertKnown, known)] : []),
    insertRefills(transaction, accepted),
    insertPayments(transaction, accepted),
    transaction.runOf(setAccounts, changed),
  ]
}
