import type { Listing, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import type { Account } from '../../domain/transaction-rows.ts'
import { acknowledgeForeign } from './accounts.ts'
import { type Database, type DatabaseTransaction, sql } from './database.ts'

/** What a transaction does: two with the same content may be one payment. `data_hash`: the keccak-256 of its data. */
export interface Content {
  to: string | null
  value: string
  data_hash: string
}

/** A transaction of an account that this database does not know. Null: no node has shown it yet; `to`: also for a new contract. */
interface ExternalRow {
  nonce: number
  noticed_at: string
  hash: string | null
  to: string | null
  value: string | null
  data_hash: string | null
}

const columns = 'nonce, noticed_at, hash, "to", value, data_hash'
const ofAccount = 'chain_id = $chain_id AND address = $address'

const setCompared = sql(`
  INSERT INTO accounts (chain_id, address, next_nonce, compared_count) VALUES ($chain_id, $address, 0, $count)
  ON CONFLICT (chain_id, address) DO UPDATE SET compared_count = excluded.compared_count`)
const insertNonces = sql({
  sqlite: `
    WITH RECURSIVE numbers (nonce) AS (SELECT $from UNION ALL SELECT nonce + 1 FROM numbers WHERE nonce + 1 < $below)
    INSERT INTO external_transactions (chain_id, address, nonce, noticed_at)
    SELECT $chain_id, $address, nonce, $at FROM numbers WHERE true ON CONFLICT DO NOTHING`,
  postgres: `
    INSERT INTO external_transactions (chain_id, address, nonce, noticed_at)
    SELECT $chain_id::bigint, $address::text, nonce, $at::text
    FROM generate_series($from::bigint, $below::bigint - 1) AS nonce ON CONFLICT DO NOTHING`,
})
const insertContent = sql(`
  INSERT INTO external_transactions (chain_id, address, nonce, noticed_at, hash, "to", value, data_hash)
  VALUES ($chain_id, $address, $nonce, $at, $hash, $to, $value, $data_hash) ON CONFLICT DO NOTHING`)
const setContent = sql(`
  UPDATE external_transactions SET hash = $hash, "to" = $to::text, value = $value, data_hash = $data_hash
  WHERE ${ofAccount} AND nonce = $nonce`)
/** With the last one that was noticed while the service ran: nobody has looked at its content. */
const listed = `
  SELECT ${columns} FROM external_transactions WHERE ${ofAccount}
  UNION ALL
  SELECT foreign_nonce, foreign_at, foreign_hash, NULL, NULL, NULL FROM accounts
  WHERE ${ofAccount} AND foreign_nonce IS NOT NULL AND foreign_acknowledged = 0 AND NOT EXISTS (
    SELECT 1 FROM external_transactions AS its
    WHERE its.chain_id = accounts.chain_id AND its.address = accounts.address AND its.nonce = foreign_nonce)`
const selectPage = sql<ExternalRow>(`SELECT * FROM (${listed}) AS listed ORDER BY nonce LIMIT $limit OFFSET $offset`)
const count = sql<{ count: number }>(`SELECT count(*) AS count FROM (${listed}) AS listed`)
const selectUnfound = sql<{ nonce: number }>(`
  SELECT nonce FROM external_transactions WHERE ${ofAccount} AND hash IS NULL ORDER BY nonce DESC LIMIT $limit`)
const any = sql('SELECT 1 FROM external_transactions LIMIT 1')
// A payment through a pool may have been sent by any of its relayers.
const selectEqual = sql<Pick<ExternalRow, 'nonce' | 'hash'> & { address: string }>(`
  SELECT address, nonce, hash FROM external_transactions
  WHERE chain_id = $chain_id AND (address = $address OR address IN (
      SELECT other.address FROM relayers AS own
      JOIN pool_relayers AS member ON member.relayer_row_id = own.row_id
      JOIN pool_relayers AS mate ON mate.pool_row_id = member.pool_row_id
      JOIN relayers AS other ON other.row_id = mate.relayer_row_id
      WHERE own.chain_id = $chain_id AND own.address = $address
    ))
    AND (hash IS NULL OR ("to" IS NOT DISTINCT FROM $to::text AND value = $value AND data_hash = $data_hash))
  ORDER BY hash IS NULL, nonce LIMIT 1`)
// Only as it was read: what has been found since is to be compared too.
const deleteExternal = sql({
  sqlite: `
    DELETE FROM external_transactions WHERE ${ofAccount} AND nonce = $nonce AND hash IS NOT DISTINCT FROM $hash`,
  postgres: `
    DELETE FROM external_transactions USING json_to_recordset($rows::json) AS compared (nonce bigint, hash text)
    WHERE ${ofAccount} AND external_transactions.nonce = compared.nonce
      AND external_transactions.hash IS NOT DISTINCT FROM compared.hash`,
})

/** Changes the list of an account, which its relayers' locks order. */
const changeOf = <T>(
  database: Database,
  { chain_id, address }: Account,
  work: (dbTransaction: DatabaseTransaction, account: Pick<Account, 'chain_id' | 'address'>) => Promise<T>,
  auditEntry?: PendingAuditEntry,
): Promise<T> =>
  database.write(async (dbTransaction) => {
    const account = { chain_id, address }
    await dbTransaction.lockRelayers({ accounts: [account] })
    return work(dbTransaction, account)
  }, auditEntry)

const time = (database: Database) => new Date(database.effects.now()).toISOString()

/** The account's count was compared: it knows none of the nonces `from` to below `below`. */
export const noteCompared = (
  database: Database,
  account: Account,
  { from, below }: { from: number; below: number },
): Promise<void> =>
  changeOf(database, account, async (dbTransaction, of) => {
    await dbTransaction.run(setCompared, { ...of, count: below })
    if (from < below) await dbTransaction.run(insertNonces, { ...of, from, below, at: time(database) })
  })

interface Found extends Content {
  nonce: number
  hash: string
}

/** A signed transaction that is proven in a block. */
export const noteExternal = (database: Database, account: Account, found: Found): Promise<unknown> =>
  changeOf(database, account, (dbTransaction, of) =>
    dbTransaction.run(insertContent, { ...of, ...found, at: time(database) }),
  )

/** The content of a nonce that was noted. One that was acknowledged meanwhile stays so. */
export const setExternalContent = (database: Database, account: Account, found: Found): Promise<unknown> =>
  changeOf(database, account, (dbTransaction, of) => dbTransaction.run(setContent, { ...of, ...found }))

export async function listExternalTransactions(
  database: Database,
  { chain_id, address }: Account,
  slice: PageRequest,
): Promise<Listing<ExternalRow>> {
  const [items, counted] = await Promise.all([
    database.read.all(selectPage, { chain_id, address, ...slice }),
    database.read.one(count, { chain_id, address }),
  ])
  return { items, total_items: counted?.count ?? 0 }
}

/** Those whose transactions no node has shown, the highest first. */
export const unfoundNonces = async (
  database: Database,
  { chain_id, address }: Account,
  limit: number,
): Promise<number[]> => (await database.read.all(selectUnfound, { chain_id, address, limit })).map(({ nonce }) => nonce)

/** Whether any account has one. */
export const hasExternal = async (database: Database): Promise<boolean> => (await database.read.one(any)) !== undefined

/** One with this content, or one that was not found, of the account or of another relayer of its pools. */
export const possiblySent = (
  database: Database,
  { chain_id, address }: Account,
  content: Content,
): Promise<{ address: string; nonce: number; hash: string | null } | undefined> =>
  database.read.one(selectEqual, { chain_id, address, ...content })

/** Transactions as an operator has read them were compared. What differs from that by now stays. */
export const acknowledgeExternal = (
  database: Database,
  account: Account,
  compared: readonly Pick<ExternalRow, 'nonce' | 'hash'>[],
  auditEntry?: PendingAuditEntry,
): Promise<{ acknowledged_count: number; remaining_count: number }> =>
  changeOf(
    database,
    account,
    async (dbTransaction, of) => {
      const rows = compared.map(({ nonce, hash }) => ({ nonce, hash: hash?.toLowerCase() ?? null }))
      const before = (await dbTransaction.one(count, of))?.count ?? 0
      await dbTransaction.runOf(deleteExternal, rows, of)
      await dbTransaction.runOf(acknowledgeForeign, rows, of)
      const after = (await dbTransaction.one(count, of))?.count ?? 0
      return { acknowledged_count: before - after, remaining_count: after }
    },
    auditEntry,
  )
