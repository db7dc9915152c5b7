import { isUnmined } from '../../domain/statuses.ts'
import type { Account, TransactionRow } from '../../domain/transaction-rows.ts'
import { type Database, greatest, insertInto, type KeyedReads, type Session, selectForEach, sql } from './database.ts'

/** A transaction of an account that this service did not send. `block`: the one that has it; absent: not known to be in one. */
export interface Foreign {
  nonce: number
  hash: string | null
  block?: number
}

/** The state of an account. */
interface AccountState {
  next_nonce: number
  used_below: number
  compared_count: number | null
  genesis_hash: string | null
  reserved: string
  released: string
  /** The last transaction of the account that this service did not send; null: none was seen. */
  foreign: (Foreign & { noticed_at: string; is_acknowledged: boolean }) | null
}

/** The name of an account. */
export const accountOf = ({ chain_id, address }: Account): string => `${chain_id} ${address}`

/** A row of the table `accounts`. */
type StoredAccount = Omit<AccountState, 'foreign'> & {
  foreign_nonce: number | null
  foreign_hash: string | null
  foreign_block: number | null
  foreign_at: string | null
  foreign_acknowledged: number
}

const accountColumns = `next_nonce, used_below, compared_count, genesis_hash, reserved, released,
  foreign_nonce, foreign_hash, foreign_block, foreign_at, foreign_acknowledged`

const unused: AccountState = {
  next_nonce: 0,
  used_below: 0,
  compared_count: null,
  genesis_hash: null,
  reserved: '0',
  released: '0',
  foreign: null,
}

/** An account without a row never had a transaction. */
function readAccount(row: StoredAccount | undefined): AccountState {
  if (!row) return unused
  const { next_nonce, used_below, compared_count, genesis_hash, reserved, released } = row
  const { foreign_nonce, foreign_hash, foreign_block, foreign_at, foreign_acknowledged } = row
  const foreign =
    foreign_nonce === null || foreign_at === null
      ? null
      : {
          nonce: foreign_nonce,
          hash: foreign_hash,
          ...(foreign_block !== null && { block: foreign_block }),
          noticed_at: foreign_at,
          is_acknowledged: foreign_acknowledged === 1,
        }
  return { next_nonce, used_below, compared_count, genesis_hash, reserved, released, foreign }
}

type AccountRow = Account & ReservationSums & StoredAccount

const selectAccounts = selectForEach<AccountRow>(
  { chain_id: 'bigint', address: 'text' },
  (record) => `
  SELECT chain_id, address, ${accountColumns} FROM accounts
  WHERE chain_id = ${record}chain_id AND address = ${record}address`,
)

/** The rows of different accounts by `accountOf`. An account that never had a transaction has none. */
export async function readAccounts(session: Session, accounts: Account[]): Promise<Map<string, AccountRow>> {
  const rows = await session.allOf(
    selectAccounts,
    accounts.map(({ chain_id, address }) => ({ chain_id, address })),
  )
  return new Map(rows.map((row) => [accountOf(row), row]))
}

const selectNonce = sql<{ next_nonce: number }>(
  'SELECT next_nonce FROM accounts WHERE chain_id = $chain_id AND address = $address',
)
const setNextNonce = sql(`
  INSERT INTO accounts (chain_id, address, next_nonce) VALUES ($chain_id, $address, $nonce)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce`)

/** The nonce that the account's next transaction gets; undefined: it never had one. */
export const nextNonce = async (session: Session, { chain_id, address }: Account): Promise<number | undefined> =>
  (await session.one(selectNonce, { chain_id, address }))?.next_nonce

export const setNonce = async (session: Session, { chain_id, address }: Account, nonce: number): Promise<void> =>
  void (await session.run(setNextNonce, { chain_id, address, nonce }))

const setForeign = sql(`
  INSERT INTO accounts AS known (chain_id, address, next_nonce, foreign_nonce, foreign_hash, foreign_at)
  VALUES ($chain_id, $address, 0, $nonce, $hash::text, $at)
  ON CONFLICT (chain_id, address) DO UPDATE SET foreign_nonce = excluded.foreign_nonce,
    foreign_hash = excluded.foreign_hash, foreign_block = NULL, foreign_at = excluded.foreign_at,
    foreign_acknowledged = CASE WHEN known.foreign_nonce = excluded.foreign_nonce
      AND (known.foreign_hash IS NULL OR excluded.foreign_hash IS NULL OR known.foreign_hash = excluded.foreign_hash) THEN known.foreign_acknowledged ELSE 0 END
  WHERE known.foreign_nonce IS DISTINCT FROM excluded.foreign_nonce
    OR (known.foreign_hash IS DISTINCT FROM excluded.foreign_hash AND excluded.foreign_hash IS NOT NULL)`)

const setForeignBlock = sql(`
  UPDATE accounts SET foreign_block = $block
  WHERE chain_id = $chain_id AND address = $address AND foreign_nonce = $nonce AND foreign_hash = $hash`)

/** The last transaction of the account that this service did not send is known to an operator, if it is one of these. */
export const acknowledgeForeign = sql({
  sqlite: `
    UPDATE accounts SET foreign_acknowledged = 1
    WHERE chain_id = $chain_id AND address = $address AND foreign_nonce = $nonce
      AND (foreign_hash IS NULL OR foreign_hash = $hash)`,
  postgres: `
    UPDATE accounts SET foreign_acknowledged = 1 FROM json_to_recordset($rows::json) AS compared (nonce bigint, hash text)
    WHERE chain_id = $chain_id AND address = $address AND foreign_nonce = compared.nonce
      AND (foreign_hash IS NULL OR foreign_hash = compared.hash)`,
})
const selectExternal = sql<ExternalTransactions>(`
  SELECT * FROM (
    SELECT chain_id, address, foreign_nonce AS nonce, foreign_hash AS hash, foreign_at AS noticed_at, foreign_acknowledged, (
      SELECT count(*) FROM external_transactions AS its
      WHERE its.chain_id = accounts.chain_id AND its.address = accounts.address) AS unknown
    FROM accounts) AS its
  WHERE unknown > 0 OR (nonce IS NOT NULL AND foreign_acknowledged = 0)`)

/** What the chain or a node has of an account, this service did not send, and nobody has acknowledged. */
export interface ExternalTransactions extends Account {
  /** Of the last one; null: it was not noticed while the service ran. */
  nonce: number | null
  hash: string | null
  noticed_at: string | null
  /** How many the operator has to compare (external-transactions.ts). */
  unknown: number
}

export const externalTransactions = ({ read }: Database): Promise<ExternalTransactions[]> => read.all(selectExternal)

const raise = sql(
  (engine) => `
  INSERT INTO accounts AS known (chain_id, address, next_nonce, used_below)
  VALUES ($chain_id, $address, $nonce, $used_below)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = ${greatest[engine]}(known.next_nonce, excluded.next_nonce),
    used_below = ${greatest[engine]}(known.used_below, excluded.used_below)`,
)
const updateGenesis = sql(
  'UPDATE accounts SET genesis_hash = $genesis_hash WHERE chain_id = $chain_id AND address = $address',
)

/** Every submission asks several times. */
const accounts: KeyedReads<Account, string, AccountRow> = {
  nameOf: accountOf,
  readAll: ({ read }, wanted) => readAccounts(read, wanted),
}

/**
 * `reserved`: the most wei that its unfinished transactions can still cost. `released`: the sum of all amounts that ever left
 * `reserved`, because transactions were mined or withdrawn. `used_below`: every lower nonce is proven to be used. `compared_count`:
 * the count on chain when it was last compared with this database (external-transactions.ts); null: never.
 */
export async function getAccount(database: Database, chainId: number, address: string): Promise<AccountState> {
  return readAccount(await database.readTogether(accounts, { chain_id: chainId, address }))
}

/** Remembers a transaction of the account that this service did not send. Resolves to whether it is a new one. */
export const noteForeign = (database: Database, account: Account, { nonce, hash, block }: Foreign): Promise<boolean> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ accounts: [account] })
    const at = new Date(database.effects.now()).toISOString()
    const isNew = (await dbTransaction.run(setForeign, { ...account, nonce, hash, at })) > 0
    if (block !== undefined) await dbTransaction.run(setForeignBlock, { ...account, nonce, hash, block })
    return isNew
  })

/**
 * The account as `getAccount`, beside a block at which the chain counts `latest` of its transactions. `committed`: the most that its
 * transactions may still take from its balance at this block. Not those below `latest`: they are mined, and their rows may not show it
 * yet. But those from `latest` on whose rows are in a block: the node that counts lags behind.
 */
export const accountAt = (
  database: Database,
  account: Account,
  latest: number,
): Promise<AccountState & { committed: string }> => readAccountAt(database.read, account, latest)

/** Raises the nonce counter. `isProven`: signed bytes prove it, and the counter is never lowered below `nonce` again. */
export const raiseNonce = (
  database: Database,
  { chain_id, address }: Account,
  nonce: number,
  isProven: boolean,
): Promise<void> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ accounts: [{ chain_id, address }] })
    await dbTransaction.run(raise, { chain_id, address, nonce, used_below: isProven ? nonce : 0 })
  })

export const setGenesis = (database: Database, chainId: number, address: string, genesisHash: string): Promise<void> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ accounts: [{ chain_id: chainId, address }] })
    await dbTransaction.run(updateGenesis, { chain_id: chainId, address, genesis_hash: genesisHash })
  })

/** The most transactions between a node's count and the last known one, in either direction. */
const maxApart = 1_000

/** `more`: what a change sets besides the sums. */
const writeAccounts = (more = '') =>
  insertInto(
    'accounts',
    { chain_id: 'bigint', address: 'text', next_nonce: 'bigint', reserved: 'text', released: 'text' },
    `ON CONFLICT (chain_id, address) DO UPDATE SET ${more} reserved = excluded.reserved, released = excluded.released`,
  )
const setSums = writeAccounts()
/** Also sets the nonce counter. */
export const setAccounts = writeAccounts('next_nonce = excluded.next_nonce,')
// One statement, so that no amount is in both or in neither.
const selectAt = sql<StoredAccount & { nonce: number | null } & Taken>(`
  SELECT ${accountColumns}, its.* FROM accounts LEFT JOIN (
    SELECT nonce, value, gas_limit, gas_price, max_fee_per_gas, data_fee, coin_spent FROM transactions
    WHERE chain_id = $chain_id AND "from" = $address AND nonce >= $from AND nonce < $to
      AND CASE WHEN nonce < $latest THEN reserved IS NOT NULL ELSE block_hash IS NOT NULL END
  ) AS its ON true
  WHERE accounts.chain_id = $chain_id AND address = $address`)

const none: ReservationSums = { reserved: '0', released: '0' }

/** A change of the column `reserved` of a row. */
interface ReservationChange {
  account: Account
  before: string | null
  after: string | null
}

/** Follows changes of the column `reserved`, under the locks of the relayers. */
export async function changeReservations(session: Session, all: ReservationChange[]): Promise<void> {
  const changes = all.filter(({ before, after }) => before !== after)
  if (changes.length === 0) return
  const accounts = new Map(changes.map(({ account }) => [accountOf(account), account]))
  const sums = new Map<string, ReservationSums>(await readAccounts(session, [...accounts.values()]))
  for (const { account, before, after } of changes) {
    const name = accountOf(account)
    sums.set(name, sumsAfter(sums.get(name) ?? none, before, after))
  }
  const rows = [...accounts].map(([name, { chain_id, address }]) => ({
    ...{ chain_id, address, next_nonce: 0 },
    ...sums.get(name),
  }))
  await session.runOf(setSums, rows)
}

/** See `accountAt` of the store. */
async function readAccountAt(
  session: Session,
  { chain_id, address }: Account,
  latest: number,
): Promise<AccountState & { committed: string }> {
  const place = { chain_id, address, from: latest - maxApart, to: latest + maxApart }
  const rows = await session.all(selectAt, { ...place, latest })
  const account = readAccount(rows[0])
  const committed = rows.reduce((sum, { nonce, ...row }) => {
    if (nonce === null) return sum
    const cost = BigInt(costOf(row))
    return nonce < latest ? sum - cost : sum + cost
  }, BigInt(account.reserved))
  return { ...account, committed: `${committed}` }
}

/** What a transaction may take from the balance of its account. */
interface Taken extends Pick<TransactionRow, 'value' | 'gas_limit' | 'gas_price' | 'max_fee_per_gas'> {
  data_fee?: string | null
  coin_spent?: string | null
}

/** The sums of an account, in wei. */
export interface ReservationSums {
  /** The highest cost of its unfinished transactions. */
  reserved: string
  /** All amounts that ever left `reserved`. */
  released: string
}

/** The sums after the amount of one transaction has changed. */
export function sumsAfter(
  { reserved, released }: ReservationSums,
  before: string | null,
  after: string | null,
): ReservationSums {
  const added = BigInt(after ?? 0) - BigInt(before ?? 0)
  const sum = BigInt(reserved) + added
  const gone = added < 0n ? BigInt(released) - added : released
  // A wrong sum may refuse or accept one transaction too many, but must not stop accepted ones.
  return { reserved: `${sum > 0n ? sum : 0n}`, released: `${gone}` }
}

/** The most wei that a transaction can still cost; null once it is in a block or final. */
export const reservedOf = ({
  status,
  block_hash,
  ...row
}: Taken & Pick<TransactionRow, 'status' | 'block_hash'>): string | null =>
  isUnmined(status) && block_hash === null ? costOf(row) : null

/** The most wei that a transaction costs. */
function costOf({ value, gas_limit, gas_price, max_fee_per_gas, data_fee, coin_spent }: Taken): string {
  const price = gas_price ?? max_fee_per_gas ?? '0'
  const fee = BigInt(gas_limit ?? 0) * BigInt(price) + BigInt(data_fee ?? 0)
  return (BigInt(value) + BigInt(coin_spent ?? 0) + fee).toString()
}
