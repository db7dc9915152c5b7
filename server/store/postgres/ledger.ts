import type { Account, NewTransaction } from '../../core/sending-rows.ts'
import { accountOf, keyOf, type Ledger, nonceOf } from '../acceptance.ts'
import type { KnownAnswer } from '../first-responses.ts'
import { dataColumn } from '../transaction-data.ts'
import { readAccounts } from './accounts.ts'
import type { Session, Transaction } from './session.ts'
import { openSpendingBook } from './spending-book.ts'
import { sql } from './statement.ts'
import { allColumns, recordsOf } from './transaction-columns.ts'

interface KnownRow extends KnownAnswer {
  relayer_row_id: number
  caller: string
  key: string
}

// OFFSET 0: each wanted row is looked up by the index. A join would read the whole table while it is small.
const selectKnown = sql<KnownRow>(`
  SELECT wanted.caller, wanted.relayer_row_id, wanted.key, its.*
  FROM json_to_recordset($keys::json) AS wanted (caller text, relayer_row_id bigint, key text), LATERAL (
    SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
    WHERE caller = wanted.caller AND relayer_row_id = wanted.relayer_row_id AND idempotency_key = wanted.key OFFSET 0
  ) AS its`)
const selectRelayers = sql<{ row_id: number; last_sequence: number; count: number; bytes: number }>(`
  SELECT row_id, coalesce(its.unfinished, 0) AS count, coalesce(its.bytes, 0) AS bytes,
    (SELECT coalesce(max(sequence), 0) FROM transactions WHERE relayer_row_id = relayers.row_id) AS last_sequence
  FROM relayers, LATERAL (
    SELECT sum(unfinished) AS unfinished, sum(unfinished_bytes) AS bytes FROM transaction_blocks
    WHERE relayer_row_id = relayers.row_id AND level = 1
  ) AS its
  WHERE row_id = ANY ($row_ids::bigint[])`)
const account = `(
    SELECT chain_id, address, next_nonce, reserved, released FROM accounts
    WHERE chain_id = wanted.chain_id AND address = wanted.address OFFSET 0
  )`
// The nonces that are named, and those that follow the counter of an account.
const selectHeld = sql<Account & { nonce: number }>(`
  SELECT wanted.chain_id, wanted.address, held.nonce
  FROM json_to_recordset($nonces::json) AS wanted (chain_id bigint, address text, nonce bigint, count bigint)
  LEFT JOIN LATERAL ${account} AS its ON true, LATERAL (
    SELECT transactions.nonce FROM transactions
    WHERE transactions.chain_id = wanted.chain_id AND "from" = wanted.address
      AND transactions.nonce >= coalesce(wanted.nonce, its.next_nonce, 0)
      AND transactions.nonce < coalesce(wanted.nonce, its.next_nonce, 0) + wanted.count OFFSET 0
  ) AS held`)
const assignRowIds = sql<{ transactions: number; data: number | null }>(`
  SELECT nextval(pg_get_serial_sequence('transactions', 'row_id')) AS transactions,
    CASE WHEN number <= $data THEN nextval(pg_get_serial_sequence('transaction_data', 'row_id')) END AS data
  FROM generate_series(1, $transactions::bigint) AS number`)

/** The state that the acceptance of some transactions depends on. The caller holds the locks of their relayers. */
export async function readLedger(
  session: Session,
  wanted: NewTransaction[],
  now: number,
): Promise<Ledger & { write(transaction: Transaction): Promise<void> }> {
  const keys = wanted.flatMap(({ relayer_row_id, idempotency: its }) =>
    its ? { relayer_row_id, caller: its.caller, key: its.key } : [],
  )
  const places = new Map(
    wanted.map(({ chain_id, from: address }) => [accountOf({ chain_id, address }), { chain_id, address }]),
  )
  const spending = wanted.flatMap(({ chain_id, from, spending }) =>
    spending ? { account: { chain_id, address: from }, spending } : [],
  )
  const withData = wanted.filter(({ data }) => data !== null).length
  // They are sent together, and run one after the other.
  const [known, relayers, accounts, held, book, row_ids] = await Promise.all([
    keys.length === 0 ? [] : session.all(selectKnown, { keys: JSON.stringify(keys) }),
    session.all(selectRelayers, { row_ids: [...new Set(wanted.map((its) => its.relayer_row_id))] }),
    readAccounts(session, [...places.values()]),
    session.all(selectHeld, { nonces: JSON.stringify(noncesOf(wanted)) }),
    openSpendingBook(session, spending, now),
    session.all(assignRowIds, { transactions: wanted.length, data: withData }),
  ])

  const ledger: Ledger = {
    row_ids: { transactions: row_ids.map((its) => its.transactions), data: row_ids.flatMap(({ data }) => data ?? []) },
    known: new Map(known.map((its) => [keyOf(its.relayer_row_id, its), its])),
    relayers: new Map(
      relayers.map(({ row_id, last_sequence, count, bytes }) => [
        row_id,
        { last_sequence, unfinished: { count, bytes } },
      ]),
    ),
    accounts: new Map([...accounts].map(([name, its]) => [name, { ...its, isChanged: false }])),
    held: new Set(held.map((its) => nonceOf(its, its.nonce))),
    spend: book.spend,
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

const names = allColumns.map((name) => `"${name}"`)
const insertData = sql(
  'INSERT INTO transaction_data (row_id, data) SELECT * FROM unnest($row_ids::bigint[], $data::bytea[])',
)
const insertRows = sql(`
  INSERT INTO transactions (${names.join(', ')})
  SELECT ${names.join(', ')} FROM ${recordsOf(allColumns)}`)
const insertKnown = sql(`
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  SELECT * FROM json_to_recordset($rows::json) AS known (
    caller text, relayer_row_id bigint, key text, body_hash text, transaction_row_id bigint, answer text, data_row_id bigint)`)
const setAccounts = sql(`
  INSERT INTO accounts (chain_id, address, next_nonce, reserved, released)
  SELECT * FROM json_to_recordset($rows::json)
    AS changed (chain_id bigint, address text, next_nonce bigint, reserved text, released text)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce, reserved = excluded.reserved,
    released = excluded.released`)

/** In an order in which each row comes after those that it refers to. */
function insertions(transaction: Transaction, { accepted, accounts }: Ledger): Promise<number>[] {
  const withData = accepted.filter(({ data }) => data !== null)
  const data = { row_ids: withData.map(({ row }) => row.data_row_id), data: withData.map((its) => its.data) }
  const rows = accepted.map(({ row }) => row)
  const known = accepted.flatMap(({ known: its, row: { relayer_row_id, data_row_id } }) =>
    its ? { ...its, data: undefined, relayer_row_id, data_row_id } : [],
  )
  const changed = [...accounts.values()].filter(({ isChanged }) => isChanged)
  return [
    ...(withData.length > 0 ? [transaction.run(insertData, data)] : []),
    transaction.run(insertRows, { rows: JSON.stringify(rows) }),
    ...(known.length > 0 ? [transaction.run(insertKnown, { rows: JSON.stringify(known) })] : []),
    transaction.run(setAccounts, { rows: JSON.stringify(changed) }),
  ]
}
