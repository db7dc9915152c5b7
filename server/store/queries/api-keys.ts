import { noteChanges } from '../../domain/changes.ts'
import { mergeBudget } from '../../domain/policies/budgets.ts'
import { checkRevision, withRevision } from '../../domain/revision.ts'
import type {
  ApiKeyChanges,
  ApiKeyRow,
  Conditions,
  Listing,
  NewApiKey,
  PageRequest,
  PendingAuditEntry,
} from '../../domain/rows.ts'
import { decodeFormerTokens, encodeFormerTokens } from '../../lib/ids.ts'
import {
  type Database,
  type DatabaseTransaction,
  type Engine,
  insertInto,
  type KeyedReads,
  type Session,
  type StoredSeal,
  sql,
  type TableList,
} from './database.ts'
import { sealedColumns } from './sealed-rows.ts'

interface StoredApiKey {
  id: string
  name: string
  secret_hash: Uint8Array
  former_tokens: Uint8Array | null
  previous_token_expires_at: string | null
  scopes: string
  relayer_ids: string | null
  pool_ids: string
  allowed_cidrs: string | null
  rate_limit: string | null
  budget: string | null
  expires_at: string | null
  created_at: string
  last_used_at: string | null
}

/** The index of the first id of a relayer, or of a pool, that does not exist. */
export type UnknownLimit = { unknown_relayer: number } | { unknown_pool: number }

/** Limited, because every process keeps all API keys in memory. */
const maxApiKeys = 1_000

const parse = (text: string | null) => (text === null ? null : JSON.parse(text))

const readApiKey = (row: StoredApiKey): ApiKeyRow =>
  withRevision('api_keys', {
    ...row,
    scopes: JSON.parse(row.scopes),
    relayer_ids: parse(row.relayer_ids),
    pool_ids: JSON.parse(row.pool_ids),
    allowed_cidrs: parse(row.allowed_cidrs),
    rate_limit: parse(row.rate_limit),
    budget: parse(row.budget),
  })

const encodeApiKey = (apiKey: NewApiKey) => ({
  ...apiKey,
  scopes: JSON.stringify(apiKey.scopes),
  is_limited: apiKey.relayer_ids === null ? 0 : 1,
  pool_ids: JSON.stringify(apiKey.pool_ids),
  allowed_cidrs: apiKey.allowed_cidrs && JSON.stringify(apiKey.allowed_cidrs),
  rate_limit: apiKey.rate_limit && JSON.stringify(apiKey.rate_limit),
  budget: apiKey.budget && JSON.stringify(apiKey.budget),
})

const relayerIds: Record<Engine, string> = {
  sqlite: 'json_group_array(relayers.id ORDER BY relayers.row_id)',
  postgres: `coalesce(json_agg(relayers.id ORDER BY relayers.row_id), '[]')::text`,
}
const columnsOf = (engine: Engine) => `id, name, secret_hash, former_tokens, previous_token_expires_at, scopes,
  CASE WHEN is_limited = 1 THEN (
    SELECT ${relayerIds[engine]}
    FROM api_key_relayers JOIN relayers ON relayers.row_id = relayer_row_id WHERE api_key_row_id = api_keys.row_id
  ) END AS relayer_ids,
  pool_ids, allowed_cidrs, rate_limit, budget, expires_at, created_at, last_used_at`
const apiKeyColumns = { sqlite: columnsOf('sqlite'), postgres: columnsOf('postgres') }

const apiKeyList: TableList<StoredApiKey, ApiKeyRow> = { table: 'api_keys', columns: apiKeyColumns, read: readApiKey }

const selectApiKey = sql<StoredApiKey>((engine) => `SELECT ${apiKeyColumns[engine]} FROM api_keys WHERE id = $id`)
const selectAll = sql<StoredApiKey & StoredSeal>(
  (engine) => `SELECT ${apiKeyColumns[engine]}, ${sealedColumns(engine, 'api_keys')} FROM api_keys ORDER BY row_id`,
)
const selectSome = sql<StoredApiKey & StoredSeal>(
  (engine) =>
    `SELECT ${apiKeyColumns[engine]}, ${sealedColumns(engine, 'api_keys')} FROM api_keys WHERE id = ANY ($ids::text[])`,
)
const rowIdOfApiKey = sql<{ row_id: number }>('SELECT row_id FROM api_keys WHERE id = $id')
const countAll = sql<{ count: number }>('SELECT count(*) AS count FROM api_keys')
const insertApiKeyRow = sql<{ row_id: number }>(`
  INSERT INTO api_keys (
    id, name, secret_hash, scopes, is_limited, pool_ids, allowed_cidrs, rate_limit, budget, expires_at, created_at)
  VALUES ($id, $name, $secret_hash, $scopes, $is_limited, $pool_ids, $allowed_cidrs, $rate_limit, $budget, $expires_at, $created_at)
  ON CONFLICT (name) DO NOTHING RETURNING row_id`)
const named = sql('SELECT 1 FROM api_keys WHERE name = $name AND id <> $id')
const updateApiKeyRow = sql(`
  UPDATE api_keys SET name = $name, scopes = $scopes, is_limited = $is_limited, pool_ids = $pool_ids, allowed_cidrs = $allowed_cidrs,
    rate_limit = $rate_limit, budget = $budget, expires_at = $expires_at
  WHERE id = $id`)
const rotate = sql(`
  UPDATE api_keys SET former_tokens = $former_tokens, previous_token_expires_at = $previous_token_expires_at,
    secret_hash = $secret_hash
  WHERE row_id = $row_id`)
const deleteApiKeyRow = sql('DELETE FROM api_keys WHERE row_id = $row_id')
const ofResource = sql(`
  SELECT 1 FROM sponsorships WHERE api_key_id = $id UNION ALL SELECT 1 FROM facilitators WHERE api_key_id = $id`)
const use = sql({
  sqlite: 'UPDATE api_keys SET last_used_at = $at WHERE id = $id',
  // Sorted, so that two of them never wait for each other.
  postgres: `
    UPDATE api_keys SET last_used_at = at FROM (
      SELECT row_id, at FROM json_to_recordset($rows::json) AS uses (id text, at text)
      JOIN api_keys USING (id) ORDER BY row_id FOR NO KEY UPDATE
    ) AS used WHERE api_keys.row_id = used.row_id`,
})
const keepName = sql('INSERT INTO former_api_keys (id, name) SELECT id, name FROM api_keys WHERE row_id = $row_id')
const selectApiKeyNames = sql<{ id: string; name: string }>(`
  SELECT id, name FROM former_api_keys WHERE id = ANY ($ids::text[])
  UNION ALL SELECT id, name FROM api_keys WHERE id = ANY ($ids::text[])`)
const known = sql<{ id: string; row_id: number }>(
  'SELECT id, row_id FROM relayers WHERE id = ANY ($ids::text[]) FOR KEY SHARE',
)
const knownPools = sql<{ id: string }>('SELECT id FROM pools WHERE id = ANY ($ids::text[]) FOR KEY SHARE')
const forget = sql('DELETE FROM api_key_relayers WHERE api_key_row_id = $row_id')
const insertRelayers = insertInto('api_key_relayers', { api_key_row_id: 'bigint', relayer_row_id: 'bigint' })

/** `too_many`: there are as many API keys as there may be. Its list of relayers is written apart. */
export async function insertApiKey(
  dbTransaction: DatabaseTransaction,
  rights: Database['rights'],
  apiKey: NewApiKey,
): Promise<number | 'too_many' | 'name_taken'> {
  const { count } = (await dbTransaction.one(countAll)) as { count: number }
  if (count >= maxApiKeys) return 'too_many'
  const inserted = await dbTransaction.one(insertApiKeyRow, encodeApiKey(apiKey))
  if (!inserted) return 'name_taken'
  rights.inserted(dbTransaction, 'api_keys', inserted.row_id)
  return inserted.row_id
}

/** SQL: the name of an API key, also of a revoked one; NULL for another caller. */
export const nameOfCaller = (id: string): string =>
  `coalesce((SELECT name FROM api_keys WHERE api_keys.id = ${id}), (SELECT name FROM former_api_keys WHERE former_api_keys.id = ${id}))`

/** Whether there was one. */
export async function removeApiKey(
  dbTransaction: DatabaseTransaction,
  rights: Database['rights'],
  id: string,
): Promise<boolean> {
  const row = await dbTransaction.one(rowIdOfApiKey, { id })
  if (!row) return false
  await rights.deleted(dbTransaction, 'api_keys', row.row_id)
  await dbTransaction.run(keepName, row)
  await dbTransaction.run(deleteApiKeyRow, row)
  return true
}

async function get(session: Session, id: string): Promise<ApiKeyRow | undefined> {
  const row = await session.one(selectApiKey, { id })
  return row && readApiKey(row)
}

/** The row ids of relayers; `unknown_relayer`: the index of the first id that does not exist. */
async function rowIdsOf(
  dbTransaction: DatabaseTransaction,
  ids: string[],
): Promise<number[] | { unknown_relayer: number }> {
  const rows = await dbTransaction.all(known, { ids })
  const rowIds = new Map(rows.map(({ id, row_id }) => [id, row_id]))
  const unknownRelayer = ids.findIndex((id) => !rowIds.has(id))
  return unknownRelayer >= 0 ? { unknown_relayer: unknownRelayer } : ids.map((id) => rowIds.get(id) as number)
}

/** The index of the first id that no pool has; -1: there is none. Locked until the key names them: a pool with a key is not deleted. */
async function unknownPool(dbTransaction: DatabaseTransaction, ids: string[]): Promise<number> {
  const found = new Set((await dbTransaction.all(knownPools, { ids })).map(({ id }) => id))
  return ids.findIndex((id) => !found.has(id))
}

const trusted: KeyedReads<string, string, ApiKeyRow> = {
  nameOf: (id) => id,
  async readAll({ read, rights }, ids) {
    const rows = await rights.trusted('api_keys', () => read.all(selectSome, { ids }))
    return new Map(rows.map((row) => [row.id, readApiKey(row)]))
  },
}

async function limitTo(dbTransaction: DatabaseTransaction, rowId: number, relayers: number[]): Promise<void> {
  await dbTransaction.run(forget, { row_id: rowId })
  const rows = relayers.map((relayerRowId) => ({ api_key_row_id: rowId, relayer_row_id: relayerRowId }))
  await dbTransaction.runOf(insertRelayers, rows)
}

/** `unknown_relayer`, `unknown_pool`: the index of the first id that does not exist. */
export const createApiKey = (
  database: Database,
  apiKey: NewApiKey,
  auditEntry?: PendingAuditEntry,
): Promise<ApiKeyRow | 'too_many' | 'name_taken' | UnknownLimit> =>
  database.writeCached(async (dbTransaction) => {
    const relayers = await rowIdsOf(dbTransaction, apiKey.relayer_ids ?? [])
    if (!Array.isArray(relayers)) return relayers
    const index = await unknownPool(dbTransaction, apiKey.pool_ids)
    if (index >= 0) return { unknown_pool: index }
    const rowId = await insertApiKey(dbTransaction, database.rights, apiKey)
    if (typeof rowId !== 'number') return rowId
    await limitTo(dbTransaction, rowId, relayers)
    return (await get(dbTransaction, apiKey.id)) as ApiKeyRow
  }, auditEntry)

export const getApiKey = (database: Database, id: string): Promise<ApiKeyRow | undefined> => get(database.read, id)

export const listApiKeys = (database: Database, slice: PageRequest): Promise<Listing<ApiKeyRow>> =>
  database.list(apiKeyList, slice)

export const updateApiKey = (
  database: Database,
  id: string,
  { budget, ...changes }: ApiKeyChanges,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<ApiKeyRow | 'missing' | 'name_taken' | UnknownLimit> =>
  database.writeCached(async (dbTransaction) => {
    const row = await dbTransaction.one(rowIdOfApiKey, { id })
    const before = row && (await get(dbTransaction, id))
    if (!before) return 'missing'
    checkRevision('api_keys', before.revision, ifMatch)
    const relayers = await rowIdsOf(dbTransaction, changes.relayer_ids ?? [])
    if (!Array.isArray(relayers)) return relayers
    const index = await unknownPool(dbTransaction, changes.pool_ids ?? [])
    if (index >= 0) return { unknown_pool: index }
    if (changes.name !== undefined && (await dbTransaction.one(named, { id, name: changes.name }))) return 'name_taken'
    await database.rights.updated(dbTransaction, 'api_keys', row.row_id)
    const merged = budget ? { budget: mergeBudget(before.budget, budget) } : budget === null ? { budget } : {}
    await dbTransaction.run(updateApiKeyRow, encodeApiKey({ ...before, ...changes, ...merged }))
    if (changes.relayer_ids !== undefined) await limitTo(dbTransaction, row.row_id, relayers)
    const after = (await get(dbTransaction, id)) as ApiKeyRow
    noteChanges(auditEntry, 'api_keys', before, after)
    return after
  }, auditEntry)

/**
 * The present secret stays valid until `previous_token_expires_at`, and earlier ones until their own end. Null: all become invalid at
 * once.
 */
export const rotateApiKey = (
  database: Database,
  id: string,
  { secret_hash, previous_token_expires_at }: { secret_hash: Uint8Array; previous_token_expires_at: string | null },
  auditEntry?: PendingAuditEntry,
): Promise<ApiKeyRow | undefined> =>
  database.writeCached(async (dbTransaction) => {
    const row = await dbTransaction.one(rowIdOfApiKey, { id })
    const before = row && (await get(dbTransaction, id))
    if (!before) return undefined
    const former =
      previous_token_expires_at === null
        ? []
        : [
            { secret_hash: before.secret_hash, valid_until: Date.parse(previous_token_expires_at) },
            ...decodeFormerTokens(before.former_tokens),
          ]
    const formerTokens = encodeFormerTokens(former, dbTransaction.effects.now())
    await database.rights.updated(dbTransaction, 'api_keys', row.row_id)
    await dbTransaction.run(rotate, { ...row, secret_hash, previous_token_expires_at, former_tokens: formerTokens })
    return get(dbTransaction, id)
  }, auditEntry)

export const deleteApiKey = (
  database: Database,
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<'deleted' | 'missing' | 'in_use'> =>
  database.writeCached(async (dbTransaction) => {
    const before = ifMatch && (await get(dbTransaction, id))
    if (before) checkRevision('api_keys', before.revision, ifMatch)
    if (await dbTransaction.one(ofResource, { id })) return 'in_use'
    return (await removeApiKey(dbTransaction, database.rights, id)) ? 'deleted' : 'missing'
  }, auditEntry)

/** By the id of a caller: the name of an API key, also of a revoked one. */
export async function callerNames({ read }: Database, ids: string[]): Promise<Map<string, string>> {
  const rows = ids.length === 0 ? [] : await read.all(selectApiKeyNames, { ids })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** All of them, for the authentication of requests; there are at most 1,000. */
// API keys that another program changed grant no rights, and do not affect the others.
export const apiKeys = async (database: Database): Promise<ApiKeyRow[]> =>
  (await database.rights.trusted('api_keys', () => database.read.all(selectAll))).map(readApiKey)

/** One of them; undefined when there is none, or another program changed it. */
export const apiKey = (database: Database, id: string): Promise<ApiKeyRow | undefined> =>
  database.readTogether(trusted, id)

/** Stores the time of the last use, by id. */
export async function noteApiKeyUses(database: Database, uses: ReadonlyMap<string, string>): Promise<void> {
  const rows = [...uses].map(([id, at]) => ({ id, at }))
  await database.write((dbTransaction) => dbTransaction.runOf(use, rows))
}
