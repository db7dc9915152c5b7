import type { Sponsorship, Usage } from '../../../generated/openapi.ts'
import { noteChanges } from '../../domain/changes.ts'
import type { SponsorshipRules } from '../../domain/policies/sponsored-calls.ts'
import { checkRevision, withRevision } from '../../domain/revision.ts'
import type { Conditions, Listing, NewApiKey, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import { isFinal } from '../../domain/statuses.ts'
import type { Sponsored, TransactionRow } from '../../domain/transaction-rows.ts'
import { withoutSeal } from '../row-mac.ts'
import { insertApiKey, removeApiKey } from './api-keys.ts'
import { bucketAt, type Correction, correctSpending, endOfBucket, oldestBucket, openCharges } from './daily-limits.ts'
import { type Database, type Session, type StoredSeal, sql, type TableList, type Transaction } from './database.ts'
import { sealedColumns } from './row-mac.ts'

export interface SponsorshipRow extends Omit<Sponsorship, 'usage'> {
  row_id: number
  chain_id: number
  /** One of the two: what sends the calls. The row ids tell them from later ones with the same id. */
  relayer_row_id: number | null
  pool_row_id: number | null
}

interface NewSponsorship extends SponsorshipRules {
  id: string
  paused: boolean
  created_at: string
  /** Exactly one of the two. */
  relayer_id?: string
  pool_id?: string
}

interface Row
  extends Pick<
    SponsorshipRow,
    | ('row_id' | 'id' | 'network' | 'chain_id' | 'relayer_id' | 'relayer_row_id' | 'pool_id' | 'pool_row_id')
    | ('api_key_id' | 'created_at')
  > {
  rules: string
  paused: 0 | 1
}

const names = [
  ...['id', 'network', 'chain_id', 'relayer_id', 'relayer_row_id', 'pool_id', 'pool_row_id'],
  ...['rules', 'paused', 'api_key_id', 'created_at'],
]
const columns = `row_id, ${names.join(', ')}`
const select = sql<Row & StoredSeal>(
  (engine) => `SELECT ${columns}, ${sealedColumns(engine, 'sponsorships')} FROM sponsorships WHERE id = $id`,
)
const selectByKey = sql<Row & StoredSeal>(
  (engine) =>
    `SELECT ${columns}, ${sealedColumns(engine, 'sponsorships')} FROM sponsorships WHERE api_key_id = $api_key_id`,
)
const insert = sql<{ row_id: number }>(`
  INSERT INTO sponsorships (${names.join(', ')}) VALUES (${names.map((name) => `$${name}`).join(', ')})
  ON CONFLICT (id) DO NOTHING RETURNING row_id`)
const change = sql('UPDATE sponsorships SET rules = $rules, paused = $paused WHERE row_id = $row_id')
const remove = sql('DELETE FROM sponsorships WHERE row_id = $row_id')
const relayer = sql<{ row_id: number; network: string; chain_id: number }>(
  'SELECT row_id, network, chain_id FROM relayers WHERE id = $id FOR KEY SHARE',
)
export const selectPool = sql<{ row_id: number; network: string; chain_id: number }>(`
  SELECT pools.row_id, pools.network, networks.chain_id FROM pools JOIN networks ON networks.name = pools.network
  WHERE pools.id = $id FOR KEY SHARE`)
const selectRules = sql<{ rules: string }>('SELECT rules FROM sponsorships')
const amounts = sql<{ bucket: number; amount: string }>(`
  SELECT bucket, amount FROM spending
  WHERE chain_id = $chain_id AND address = $holder AND asset = $asset AND bucket >= $oldest ORDER BY bucket`)

function readRow({ rules, paused, ...row }: Row): SponsorshipRow {
  return withRevision('sponsorships', { ...row, ...JSON.parse(rules), paused: paused === 1 })
}

const list: TableList<Row, SponsorshipRow> = { table: 'sponsorships', columns, read: readRow }

const rulesOf = (row: SponsorshipRules) => {
  const { targets, forwarders, delegates, nonce_key_delegates, max_gas, max_fee, budget_per_day, per_user, origins } =
    row
  const addresses = { targets, forwarders, delegates, nonce_key_delegates }
  return JSON.stringify({ ...addresses, max_gas, max_fee, budget_per_day, per_user, origins })
}

/** Throws DomainError (503) for a row that another program has changed. */
const find = async (database: Database, session: Session, id: string) => {
  const row = await database.rights.require('sponsorships', () => session.one(select, { id }), id)
  return row && readRow(row)
}

/** Together with its API key. */
export const createSponsorship = (
  database: Database,
  { relayer_id, pool_id, ...given }: NewSponsorship,
  apiKey: NewApiKey,
  auditEntry?: PendingAuditEntry,
): Promise<SponsorshipRow | 'id_taken' | 'too_many_keys' | 'key_name_taken' | 'unknown_relayer' | 'unknown_pool'> =>
  createWithKey({ database, apiKey, auditEntry }, async (transaction) => {
    const its = await transaction.one(relayer_id === undefined ? selectPool : relayer, {
      id: relayer_id ?? pool_id ?? '',
    })
    if (!its) return relayer_id === undefined ? 'unknown_pool' : 'unknown_relayer'
    const { row_id, network, chain_id } = its
    const sender =
      relayer_id === undefined
        ? { relayer_id: null, relayer_row_id: null, pool_id: pool_id as string, pool_row_id: row_id }
        : { relayer_id, relayer_row_id: row_id, pool_id: null, pool_row_id: null }
    const row = { ...given, ...sender, network, chain_id, api_key_id: apiKey.id }
    const values = { ...row, rules: rulesOf(row), paused: given.paused ? 1 : 0 }
    const created = await transaction.one(insert, pick(values))
    if (!created) return 'id_taken'
    database.rights.inserted(transaction, 'sponsorships', created.row_id)
    return readRow(withoutSeal((await transaction.one(select, { id: given.id })) as Row & StoredSeal))
  })

/** Makes a row together with its API key, or neither. `insertRow`: resolves to a word where there is something against it. */
export const createWithKey = <Result extends object | string>(
  {
    database,
    apiKey,
    auditEntry,
  }: { database: Database; apiKey: NewApiKey; auditEntry: PendingAuditEntry | undefined },
  insertRow: (transaction: Transaction) => Promise<Result>,
): Promise<Result | 'too_many_keys' | 'key_name_taken'> =>
  database
    .writeCached(async (transaction) => {
      const created = await insertRow(transaction)
      if (typeof created === 'string') return created
      const key = await insertApiKey(transaction, database.rights, apiKey)
      if (typeof key !== 'number') throw new KeyRefused(key)
      return created
    }, auditEntry)
    .catch((error) => {
      if (error instanceof KeyRefused) return error.reason === 'too_many' ? 'too_many_keys' : 'key_name_taken'
      throw error
    })

export const getSponsorship = (database: Database, id: string): Promise<SponsorshipRow | undefined> =>
  find(database, database.read, id)

export async function sponsorshipOfKey(database: Database, apiKeyId: string): Promise<SponsorshipRow | undefined> {
  const row = await database.rights.require('sponsorships', () =>
    database.read.one(selectByKey, { api_key_id: apiKeyId }),
  )
  return row?.api_key_id === apiKeyId ? readRow(row) : undefined
}

export const listSponsorships = (database: Database, slice: PageRequest): Promise<Listing<SponsorshipRow>> =>
  database.list(list, slice)

export const updateSponsorship = (
  database: Database,
  id: string,
  changeOf: (sponsorship: SponsorshipRow) => Partial<SponsorshipRules> & { paused?: boolean },
  { auditEntry, ifMatch }: Conditions = {},
): Promise<SponsorshipRow | undefined> =>
  database.writeCached(async (transaction) => {
    const before = await find(database, transaction, id)
    if (!before) return undefined
    checkRevision('sponsorships', before.revision, ifMatch)
    const after = withRevision('sponsorships', { ...before, ...changeOf(before) })
    noteChanges(auditEntry, 'sponsorships', before, after)
    await database.rights.updated(transaction, 'sponsorships', before.row_id)
    await transaction.run(change, { row_id: before.row_id, rules: rulesOf(after), paused: after.paused ? 1 : 0 })
    return after
  }, auditEntry)

/** Its API key is removed with it. */
export const deleteSponsorship = (
  database: Database,
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<boolean> =>
  database.writeCached(async (transaction) => {
    const row = await find(database, transaction, id)
    if (!row) return false
    checkRevision('sponsorships', row.revision, ifMatch)
    await database.rights.deleted(transaction, 'sponsorships', row.row_id)
    await transaction.run(remove, { row_id: row.row_id })
    await removeApiKey(transaction, database.rights, row.api_key_id)
    return true
  }, auditEntry)

/** The origins that any sponsorship lists. */
export async function sponsorshipOrigins(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.read.all(selectRules)
  return new Set(rows.flatMap(({ rules }) => JSON.parse(rules).origins))
}

/** The use of a daily limit. `place`: under which the amounts are counted (Spend). */
export async function usage(
  database: Database,
  { limit, window, ...place }: { chain_id: number; holder: string; asset: string; limit: string; window?: 'hour' },
): Promise<Usage> {
  const oldest = oldestBucket(bucketAt(database.effects.now()), window)
  const { chain_id, holder: address, asset } = place
  const [open = 0n] = (await openCharges(database.read, [{ chain_id, address, asset }], oldest)).values()
  const rows = (await database.read.all(amounts, { ...place, oldest })).filter(({ amount }) => amount !== '0')
  const used = rows.reduce((sum, { amount }) => sum + BigInt(amount), open)
  const rest = BigInt(limit) - used
  return {
    used: `${used}`,
    remaining: `${rest > 0n ? rest : 0n}`,
    limit,
    resets_at: rows[0] ? new Date(endOfBucket(rows[0].bucket, window)).toISOString() : null,
  }
}

const pick = (values: Record<string, unknown>) => Object.fromEntries(names.map((name) => [name, values[name] as never]))

/** It undoes what was written before. */
class KeyRefused extends Error {
  readonly reason: 'too_many' | 'name_taken'

  constructor(reason: KeyRefused['reason']) {
    super('The API key cannot be created')
    this.reason = reason
  }
}

/** What a transaction counts for its sponsorship: when it is final, its paid fee, and nothing when it ended outside of a block. */
export function chargeOf({ sponsored, block_hash, receipt, status }: TransactionRow): bigint {
  if (!sponsored) return 0n
  if (!isFinal(status)) return BigInt(sponsored.charge)
  return block_hash === null ? 0n : BigInt(receipt?.fee ?? sponsored.charge)
}

/** Follows what transactions count for their sponsorships, and for the users of these. */
export const changeCharges = (session: Session, steps: { before: TransactionRow; after: TransactionRow }[]) =>
  correctSpending(
    session,
    steps.flatMap(({ before, after }) => [
      ...chargesOf(before, -chargeOf(before)),
      ...chargesOf(after, chargeOf(after)),
    ]),
  )

const chargesOf = ({ sponsored, chain_id }: TransactionRow, change: bigint): Correction[] =>
  (sponsored?.holders ?? []).map((address) => ({
    chain_id,
    address,
    asset: 'fee',
    bucket: (sponsored as Sponsored).bucket,
    change,
  }))
