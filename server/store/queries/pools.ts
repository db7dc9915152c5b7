import type { Funding, UpdatePoolRequest } from '../../../generated/openapi.ts'
import { noteChanges } from '../../domain/changes.ts'
import type { Field } from '../../domain/errors.ts'
import type { PoolTransaction } from '../../domain/new-transaction.ts'
import { checkRevision, fundingRevision, withRevision } from '../../domain/revision.ts'
import {
  type Conditions,
  type Deletion,
  type Listing,
  maxUsers,
  type NewPool,
  type PageRequest,
  type PendingAuditEntry,
  type PoolRow,
} from '../../domain/rows.ts'
import { unfinishedStatuses } from '../../domain/statuses.ts'
import { withoutSeal } from '../row-mac.ts'
import {
  type Database,
  type DatabaseTransaction,
  type Engine,
  insertInto,
  type Session,
  type StoredSeal,
  selectForEach,
  sql,
  type TableList,
  type Trust,
  usersOf,
} from './database.ts'
import { type Order, orderOf, type PoolState } from './insert-rules.ts'
import { sealedColumns } from './sealed-rows.ts'
import { firstsInLine, nothing, unfinishedOfAll } from './transaction-reads.ts'
import { changeFunding } from './treasuries.ts'

type StoredPool = Omit<PoolRow, 'revision' | 'relayers' | 'policies' | 'funding' | 'coin_token'> & {
  relayers: string
  policies: string
  funding: string | null
  coin_token: string | null
}

const relayersIn: Record<Engine, string> = {
  sqlite: "json_group_array(json_object('relayer_id', id, 'address', address, 'weight', weight))",
  postgres: "coalesce(json_agg(json_build_object('relayer_id', id, 'address', address, 'weight', weight)), '[]')::text",
}
const listed = (engine: Engine) => `
  row_id, id, name, network, policies, funding, created_at,
  (SELECT coin_token FROM networks WHERE networks.name = pools.network) AS coin_token, (SELECT ${relayersIn[engine]} FROM (
    SELECT relayers.id, address, weight FROM pool_relayers JOIN relayers ON relayers.row_id = relayer_row_id
    WHERE pool_row_id = pools.row_id ORDER BY relayer_row_id) AS its) AS relayers`
const poolColumns = { sqlite: listed('sqlite'), postgres: listed('postgres') }

const readPool = ({ relayers, policies, funding, ...row }: StoredPool): PoolRow =>
  withRevision('pools', {
    ...row,
    funding: funding === null ? null : JSON.parse(funding),
    policies: JSON.parse(policies),
    coin_token: JSON.parse(row.coin_token ?? 'null'),
    relayers: JSON.parse(relayers),
  })

const poolList: TableList<StoredPool, PoolRow> = { table: 'pools', columns: poolColumns, read: readPool }

const selectPool = sql<StoredPool & StoredSeal>(
  (engine) => `SELECT ${poolColumns[engine]}, ${sealedColumns(engine, 'pools')} FROM pools WHERE id = $id`,
)
const network = sql('SELECT 1 FROM networks WHERE name = $network')
const rowIdOfPool = sql<{ row_id: number }>('SELECT row_id FROM pools WHERE id = $id')
const keepId = sql('INSERT INTO pool_ids (id) VALUES ($id) ON CONFLICT DO NOTHING')
const insertPoolRow = sql(`
  INSERT INTO pools (row_id, id, name, network, policies)
  SELECT row_id, id, $name::text, $network::text, $policies::text FROM pool_ids
  WHERE id = $id ON CONFLICT DO NOTHING`)
const writeFunding = sql('UPDATE pools SET funding = $funding WHERE row_id = $row_id')
const forgetNotes = sql(`
  DELETE FROM funding_states WHERE relayer_row_id IN (
    SELECT relayer_row_id FROM pool_relayers JOIN relayers ON relayers.row_id = relayer_row_id
    WHERE pool_row_id = $row_id AND funding IS NULL)`)
const change = sql('UPDATE pools SET name = $name, policies = $policies WHERE id = $id')
const itsKeys = sql<{ id: string }>(
  (engine) => `
  SELECT name AS id FROM api_keys WHERE $id IN (SELECT value FROM ${
    engine === 'sqlite' ? 'json_each(pool_ids)' : 'json_array_elements_text(pool_ids::json)'
  }) ORDER BY name LIMIT ${maxUsers}`,
)
// Its row id is that of a later pool with its id (`keepId`), which would pay for the calls of this one.
const ofPoolRow = (table: string) =>
  sql<{ id: string }>(`SELECT id FROM ${table} WHERE pool_row_id = $row_id ORDER BY id LIMIT ${maxUsers}`)
const [itsSponsorships, itsFacilitators] = [ofPoolRow('sponsorships'), ofPoolRow('facilitators')]
const member = sql<{ row_id: number }>('SELECT row_id FROM relayers WHERE id = $id AND network = $network')
const removeOthers = sql(`
  DELETE FROM pool_relayers WHERE pool_row_id = $pool_row_id AND NOT (relayer_row_id = ANY ($row_ids::bigint[]))`)
const add = sql(`
  INSERT INTO pool_relayers (pool_row_id, relayer_row_id, weight) VALUES ($pool_row_id, $relayer_row_id, 100)
  ON CONFLICT DO NOTHING`)
const weigh = sql(`
  UPDATE pool_relayers SET weight = $weight
  WHERE pool_row_id = $pool_row_id AND relayer_row_id = (SELECT row_id FROM relayers WHERE id = $relayer_id)`)
const deletePoolRow = sql('DELETE FROM pools WHERE id = $id')

/** Throws DomainError (503) for a row that another program has changed. */
export async function poolById(rights: Trust, session: Session, id: string): Promise<PoolRow | undefined> {
  const row = await rights.require('pools', () => session.one(selectPool, { id }), id)
  return row && readPool(row)
}

/** As this database transaction has changed it: its new MAC is written before the commit. */
const readOne = async (dbTransaction: DatabaseTransaction, id: string) =>
  readPool(withoutSeal((await dbTransaction.one(selectPool, { id })) as StoredPool & StoredSeal))

/** Gives the pool these relayers and weights. Throws UnknownRelayer, which undoes what was changed before. */
async function withRelayers(
  dbTransaction: DatabaseTransaction,
  id: string,
  relayerIds: string[],
  weights: Record<string, number> = {},
): Promise<PoolRow> {
  const { row_id: poolRowId, network } = (await dbTransaction.one(selectPool, { id })) as StoredPool
  const rowIds: number[] = []
  for (const [index, relayerId] of relayerIds.entries()) {
    const its = await dbTransaction.one(member, { id: relayerId, network })
    if (!its) throw new UnknownRelayer(['relayer_ids', index])
    rowIds.push(its.row_id)
  }
  await dbTransaction.run(removeOthers, { pool_row_id: poolRowId, row_ids: rowIds })
  for (const relayerRowId of rowIds)
    await dbTransaction.run(add, { pool_row_id: poolRowId, relayer_row_id: relayerRowId })
  for (const [relayerId, weight] of Object.entries(weights))
    if ((await dbTransaction.run(weigh, { pool_row_id: poolRowId, relayer_id: relayerId, weight })) === 0)
      throw new UnknownRelayer(['weights', relayerId])
  return readOne(dbTransaction, id)
}

async function orUnknown<T>(change: Promise<T>) {
  try {
    return await change
  } catch (error) {
    if (error instanceof UnknownRelayer) return { unknown_relayer: error.field }
    throw error
  }
}

/** `unknown_relayer`: the member that names a relayer which the network, or the pool, does not have. */
export const createPool = (
  database: Database,
  { relayer_ids, weights, policies, ...pool }: NewPool,
  auditEntry?: PendingAuditEntry,
): Promise<PoolRow | 'id_taken' | 'unknown_network' | { unknown_relayer: Field }> =>
  orUnknown(
    database.writeCached(async (dbTransaction) => {
      if (!(await dbTransaction.one(network, { network: pool.network }))) return 'unknown_network'
      await dbTransaction.run(keepId, { id: pool.id })
      if ((await dbTransaction.run(insertPoolRow, { ...pool, policies: JSON.stringify(policies) })) === 0)
        return 'id_taken'
      database.rights.inserted(
        dbTransaction,
        'pools',
        (await dbTransaction.one(rowIdOfPool, { id: pool.id }))?.row_id as number,
      )
      return withRelayers(dbTransaction, pool.id, relayer_ids, weights)
    }, auditEntry),
  )

export const getPool = (database: Database, id: string): Promise<PoolRow | undefined> =>
  poolById(database.rights, database.read, id)

export const listPools = (database: Database, slice: PageRequest): Promise<Listing<PoolRow>> =>
  database.list(poolList, slice)

/** `circle`: a relayer would get its funds from itself, over any number of treasuries. */
export const updatePool = (
  database: Database,
  id: string,
  {
    relayer_ids,
    weights,
    ...changes
  }: Pick<UpdatePoolRequest, 'name' | 'relayer_ids' | 'weights'> & {
    policies?: (current: PoolRow['policies']) => PoolRow['policies']
  },
  { auditEntry, ifMatch }: Conditions = {},
): Promise<PoolRow | 'missing' | 'circle' | { unknown_relayer: Field }> =>
  orUnknown(
    changeFunding(
      database,
      async (dbTransaction) => {
        const pool = await poolById(database.rights, dbTransaction, id)
        if (!pool) return 'missing'
        checkRevision('pools', pool.revision, ifMatch)
        await database.rights.updated(dbTransaction, 'pools', pool.row_id)
        const { name = pool.name, policies = (current) => current } = changes
        await dbTransaction.run(change, { id, name, policies: JSON.stringify(policies(pool.policies)) })
        const after = await withRelayers(
          dbTransaction,
          id,
          relayer_ids ?? pool.relayers.map(({ relayer_id }) => relayer_id),
          weights,
        )
        noteChanges(auditEntry, 'pools', pool, after)
        return after
      },
      auditEntry,
    ),
  )

/** As `setFunding`, for the relayers of a pool that have no funding of their own. */
export const setPoolFunding = (
  database: Database,
  id: string,
  funding: Funding | null,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<PoolRow | 'missing' | 'unknown_treasury' | 'circle'> =>
  changeFunding(
    database,
    async (dbTransaction) => {
      const pool = await poolById(database.rights, dbTransaction, id)
      if (!pool) return 'missing'
      checkRevision('funding', fundingRevision(pool.funding), ifMatch)
      noteChanges(auditEntry, 'funding', pool.funding, funding)
      if (funding && !(await dbTransaction.one(member, { id: funding.treasury_id, network: pool.network })))
        return 'unknown_treasury'
      await database.rights.updated(dbTransaction, 'pools', pool.row_id)
      await dbTransaction.run(writeFunding, { row_id: pool.row_id, funding: funding && JSON.stringify(funding) })
      await dbTransaction.run(forgetNotes, { row_id: pool.row_id })
      return { ...pool, funding }
    },
    auditEntry,
  )

/** `circle`: by another pool, a relayer would get its funds from itself. */
export const deletePool = (
  database: Database,
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<Deletion | 'circle'> =>
  changeFunding(
    database,
    async (dbTransaction) => {
      const row = await dbTransaction.one(rowIdOfPool, { id })
      if (!row) return 'missing'
      const before = ifMatch && (await poolById(database.rights, dbTransaction, id))
      if (before) checkRevision('pools', before.revision, ifMatch)
      const users =
        (await usersOf(dbTransaction, 'api_keys', itsKeys, { id })) ??
        (await usersOf(dbTransaction, 'sponsorships', itsSponsorships, row)) ??
        (await usersOf(dbTransaction, 'facilitators', itsFacilitators, row))
      if (users) return users
      await database.rights.deleted(dbTransaction, 'pools', row.row_id)
      await dbTransaction.run(deletePoolRow, { id })
      return 'deleted'
    },
    auditEntry,
  )

class UnknownRelayer extends Error {
  readonly field: Field

  constructor(field: Field) {
    super('The network has no such relayer')
    this.field = field
  }
}

// The relayer of the newest transaction with the key, while it or an earlier one of that relayer is unfinished.
const pinAt = (row: string) => `
  SELECT newest.relayer_row_id FROM (
    SELECT its.relayer_row_id, its.sequence FROM pool_orders JOIN transactions AS its ON its.row_id = transaction_row_id
    WHERE pool_orders.pool_row_id = ${row}pool_row_id AND pool_orders.ordering_key = ${row}ordering_key
    ORDER BY transaction_row_id DESC LIMIT 1) AS newest
  WHERE ${unfinishedStatuses
    .map(
      (status) => `EXISTS (
      SELECT 1 FROM transactions AS earlier WHERE earlier.relayer_row_id = newest.relayer_row_id
        AND status = '${status}' AND sequence <= newest.sequence)`,
    )
    .join(' OR ')}`
const selectPins = selectForEach<{ pool_row_id: number; ordering_key: string; relayer_row_id: number }>(
  { pool_row_id: 'bigint', ordering_key: 'text' },
  pinAt,
  { shown: ['pool_row_id', 'ordering_key'] },
)
const newest = sql<{ relayer_row_id: number; row_id: number }>(`
  SELECT relayers.row_id AS relayer_row_id, coalesce((
    SELECT its.row_id FROM transactions AS its WHERE its.relayer_row_id = relayers.row_id
    ORDER BY sequence DESC LIMIT 1), 0) AS row_id
  FROM relayers WHERE relayers.row_id = ANY ($row_ids::bigint[])`)
const relayer = sql<{ id: string }>('SELECT id FROM relayers WHERE row_id = $row_id')
const insertPoolOrders = insertInto('pool_orders', {
  ...({ transaction_row_id: 'bigint', pool_row_id: 'bigint', ordering_key: 'text' } as const),
})

const readPins = async (session: Session, wanted: { pool_row_id: number; ordering_key: string }[]) =>
  new Map(
    (await session.allOf(selectPins, wanted)).map((its) => [
      orderOf(its.pool_row_id, its.ordering_key),
      its.relayer_row_id,
    ]),
  )

/** The caller holds the locks of the pools and of the candidates. */
export async function readPoolState(session: Session, wanted: PoolTransaction[]): Promise<PoolState> {
  if (wanted.length === 0) return { pinned: new Map(), newest: new Map() }
  const keys = wanted.flatMap(({ pool_row_id, ordering_key }) =>
    ordering_key === null ? [] : { pool_row_id, ordering_key },
  )
  const rowIds = wanted.flatMap(({ candidates }) => candidates.map(({ transaction }) => transaction.relayer_row_id))
  const [pinned, last] = await Promise.all([
    keys.length === 0 ? new Map<string, number>() : readPins(session, keys),
    session.all(newest, { row_ids: [...new Set(rowIds)] }),
  ])
  return { pinned, newest: new Map(last.map(({ relayer_row_id, row_id }) => [relayer_row_id, row_id])) }
}

/** Their transactions are written before. */
export const writeOrders = async (dbTransaction: DatabaseTransaction, orders: Order[]): Promise<void> => {
  if (orders.length > 0) await dbTransaction.runOf(insertPoolOrders, orders)
}

/** The number of unfinished transactions of each relayer, and whether the first of them waits for something. */
export async function loadsOf(
  database: Database,
  relayerRowIds: number[],
): Promise<{ relayer_row_id: number; unfinished: number; is_waiting: boolean }[]> {
  const [counts, firsts] = await Promise.all([
    unfinishedOfAll(database.read, relayerRowIds),
    firstsInLine(database.read, relayerRowIds),
  ])
  const waiting = new Set(firsts.flatMap((row) => (row.wait_reason === null ? [] : row.relayer_row_id)))
  return relayerRowIds.map((relayerRowId) => ({
    relayer_row_id: relayerRowId,
    unfinished: (counts.get(relayerRowId) ?? nothing).count,
    is_waiting: waiting.has(relayerRowId),
  }))
}

/** The id of the relayer that must take the next transaction with an ordering key; undefined: any may. */
export async function pinnedRelayer(
  database: Database,
  poolRowId: number,
  orderingKey: string,
): Promise<string | undefined> {
  const rowId = (await readPins(database.read, [{ pool_row_id: poolRowId, ordering_key: orderingKey }])).get(
    orderOf(poolRowId, orderingKey),
  )
  return rowId === undefined ? undefined : (await database.read.one(relayer, { row_id: rowId }))?.id
}
