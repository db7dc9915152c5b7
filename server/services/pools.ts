import { errorOf } from '../domain/errors.ts'
import type { Caller } from '../domain/operation.ts'
import type { PoolRow } from '../domain/rows.ts'
import type { GenerationCache } from '../lib/cache.ts'
import type { Store } from '../store/store.ts'

type PoolRights = Pick<Caller, 'relayer_ids' | 'pool_ids'>

export interface PoolContext {
  store: Store
  /** Pools are cached while the store's generation is unchanged. */
  pools: GenerationCache<PoolRow | undefined>
}

/** Finds a pool that the caller may use. Throws DomainError (404) for one that he may not use whole, as for a missing one. */
export async function findPool({ store, pools }: PoolContext, id: string, rights: PoolRights): Promise<PoolRow> {
  const pool = await pools.find(id, () => store.getPool(id))
  if (!pool || !maySee(pool, rights)) throw poolMissing()
  return pool
}

/** A caller has a right to a pool itself, or to every one of its relayers: to no pool by none. */
function maySee({ id, relayers }: PoolRow, { relayer_ids, pool_ids }: PoolRights) {
  if (relayer_ids === undefined || pool_ids.has(id)) return true
  return relayers.length > 0 && relayers.every(({ relayer_id }) => relayer_ids.has(relayer_id))
}

/** The relayers whose transactions of the pool the caller may see; undefined: all, also those that have left the pool. */
export const seenIn = ({ id }: PoolRow, { relayer_ids, pool_ids }: PoolRights) =>
  pool_ids.has(id) ? undefined : relayer_ids

export const poolMissing = () => errorOf('not_found', 'pool_id', 'no pool has this id')
