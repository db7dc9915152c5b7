import type { Facilitator } from '../../../generated/openapi.ts'
import type { FacilitatorRules } from '../../domain/payments.ts'
import type { Conditions, Listing, NewApiKey, PageRequest, PendingAuditEntry } from '../../domain/rows.ts'
import type { Database } from './database.ts'
import { createOwner, deleteOwner, findOwner, keyOwners, type OwnerRefusal, updateOwner } from './key-owners.ts'
import { selectPool } from './sponsorships.ts'

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

type StoredFacilitator = Omit<FacilitatorRow, keyof FacilitatorRules | 'revision'> & { rules: string }

const owners = keyOwners<StoredFacilitator, FacilitatorRow>(
  'facilitators',
  {
    names: ['id', 'network', 'chain_id', 'pool_id', 'pool_row_id', 'rules', 'api_key_id', 'created_at'],
    changed: ['rules'],
  },
  ({ rules, ...row }) => ({ ...row, ...JSON.parse(rules) }),
  ({ assets, pay_to, max_fee_per_payment, max_fee_per_day, wait_seconds, ...row }) => ({
    ...row,
    rules: JSON.stringify({ assets, pay_to, max_fee_per_payment, max_fee_per_day, wait_seconds }),
  }),
)

/** Together with its API key. */
export const createFacilitator = (
  database: Database,
  given: NewFacilitator,
  apiKey: NewApiKey,
  auditEntry?: PendingAuditEntry,
): Promise<FacilitatorRow | OwnerRefusal> =>
  createOwner({ database, owners }, apiKey, auditEntry, async (dbTransaction) => {
    const pool = await dbTransaction.one(selectPool, { id: given.pool_id })
    if (!pool) return 'unknown_pool'
    const { row_id: poolRowId, network, chain_id } = pool
    return { ...given, network, chain_id, pool_row_id: poolRowId }
  })

export const getFacilitator = (database: Database, id: string): Promise<FacilitatorRow | undefined> =>
  findOwner(owners, database, database.read, { id })

export const facilitatorByRowId = (database: Database, rowId: number): Promise<FacilitatorRow | undefined> =>
  findOwner(owners, database, database.read, { row_id: rowId })

export const listFacilitators = (database: Database, slice: PageRequest): Promise<Listing<FacilitatorRow>> =>
  database.list(owners.list, slice)

export const updateFacilitator = (
  database: Database,
  id: string,
  changeOf: (facilitator: FacilitatorRow) => Partial<FacilitatorRules>,
  conditions?: Conditions,
): Promise<FacilitatorRow | undefined> => updateOwner({ database, owners }, id, changeOf, conditions)

export const deleteFacilitator = (database: Database, id: string, conditions?: Conditions): Promise<boolean> =>
  deleteOwner({ database, owners }, id, conditions)
