import type { Facilitator } from '../../../generated/openapi.ts'
import { noteChanges } from '../../domain/changes.ts'
import type { FacilitatorRules } from '../../domain/payments.ts'
import { checkRevision, withRevision } from '../../domain/revision.ts'
import type { Conditions, Listing, NewApiKey, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import { withoutSeal } from '../row-mac.ts'
import { removeApiKey } from './api-keys.ts'
import { type Database, type Session, type StoredSeal, sql, type TableList } from './database.ts'
import { sealedColumns } from './row-mac.ts'
import { createWithKey, selectPool } from './sponsorships.ts'

export interface FacilitatorRow extends Omit<Facilitator, 'usage'> {
  row_id: number
  chain_id: number
  /** It tells the pool from a later one with the same id. */
  pool_row_id: number
}

interface NewFacilitator extends FacilitatorRules {
  id: string
  pool_id: string
  created_at: string
}

type Row = Omit<FacilitatorRow, keyof FacilitatorRules | 'revision'> & { rules: string }

const names = ['id', 'network', 'chain_id', 'pool_id', 'pool_row_id', 'rules', 'api_key_id', 'created_at']
const columns = `row_id, ${names.join(', ')}`
const selectBy = (name: string) =>
  sql<Row & StoredSeal>(
    (engine) =>
      `SELECT ${columns}, ${sealedColumns(engine, 'facilitators')} FROM facilitators WHERE ${name} = $${name}`,
  )
const select = selectBy('id')
const selectByRow = selectBy('row_id')
const insert = sql<{ row_id: number }>(`
  INSERT INTO facilitators (${names.join(', ')}) VALUES (${names.map((name) => `$${name}`).join(', ')})
  ON CONFLICT (id) DO NOTHING RETURNING row_id`)
const change = sql('UPDATE facilitators SET rules = $rules WHERE row_id = $row_id')
const remove = sql('DELETE FROM facilitators WHERE row_id = $row_id')

const readRow = ({ rules, ...row }: Row): FacilitatorRow =>
  withRevision('facilitators', { ...row, ...JSON.parse(rules) })

const list: TableList<Row, FacilitatorRow> = { table: 'facilitators', columns, read: readRow }

const rulesOf = ({ assets, pay_to, max_fee, budget_per_day, wait_seconds }: FacilitatorRules) =>
  JSON.stringify({ assets, pay_to, max_fee, budget_per_day, wait_seconds })

/** Throws DomainError (503) for a row that another program has changed. */
const find = async (database: Database, session: Session, id: string) => {
  const row = await database.rights.require('facilitators', () => session.one(select, { id }), id)
  return row && readRow(row)
}

/** Together with its API key. */
export const createFacilitator = (
  database: Database,
  given: NewFacilitator,
  apiKey: NewApiKey,
  auditEntry?: PendingAuditEntry,
): Promise<FacilitatorRow | 'id_taken' | 'too_many_keys' | 'key_name_taken' | 'unknown_pool'> =>
  createWithKey({ database, apiKey, auditEntry }, async (transaction) => {
    const pool = await transaction.one(selectPool, { id: given.pool_id })
    if (!pool) return 'unknown_pool'
    const { id, pool_id, created_at } = given
    const { row_id: poolRowId, network, chain_id } = pool
    const row = { id, pool_id, created_at, network, chain_id, pool_row_id: poolRowId, api_key_id: apiKey.id }
    const created = await transaction.one(insert, { ...row, rules: rulesOf(given) })
    if (!created) return 'id_taken'
    database.rights.inserted(transaction, 'facilitators', created.row_id)
    return readRow(withoutSeal((await transaction.one(select, { id })) as Row & StoredSeal))
  })

export const getFacilitator = (database: Database, id: string): Promise<FacilitatorRow | undefined> =>
  find(database, database.read, id)

export async function facilitatorByRowId(database: Database, rowId: number): Promise<FacilitatorRow | undefined> {
  const read = () => database.read.one(selectByRow, { row_id: rowId })
  const row = await database.rights.require('facilitators', read)
  return row && readRow(row)
}

export const listFacilitators = (database: Database, slice: PageRequest): Promise<Listing<FacilitatorRow>> =>
  database.list(list, slice)

export const updateFacilitator = (
  database: Database,
  id: string,
  changes: Partial<FacilitatorRules>,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<FacilitatorRow | undefined> =>
  database.writeCached(async (transaction) => {
    const before = await find(database, transaction, id)
    if (!before) return undefined
    checkRevision('facilitators', before.revision, ifMatch)
    const after = withRevision('facilitators', { ...before, ...changes })
    noteChanges(auditEntry, 'facilitators', before, after)
    await database.rights.updated(transaction, 'facilitators', before.row_id)
    await transaction.run(change, { row_id: before.row_id, rules: rulesOf(after) })
    return after
  }, auditEntry)

/** Its API key is removed with it. */
export const deleteFacilitator = (
  database: Database,
  id: string,
  { auditEntry, ifMatch }: Conditions = {},
): Promise<boolean> =>
  database.writeCached(async (transaction) => {
    const row = await find(database, transaction, id)
    if (!row) return false
    checkRevision('facilitators', row.revision, ifMatch)
    await database.rights.deleted(transaction, 'facilitators', row.row_id)
    await transaction.run(remove, { row_id: row.row_id })
    await removeApiKey(transaction, database.rights, row.api_key_id)
    return true
  }, auditEntry)
