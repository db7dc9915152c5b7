import type { SendingDependencies } from '../dependencies.ts'

/** What a relayer has to do. It orders the relayers of a pool only: the commit reads the numbers again. */
export interface PoolLoad {
  unfinished: number
  /** Its first unfinished transaction waits for something. */
  is_waiting: boolean
  /** Grows with each choice: the one that was idle the longest has the lowest. */
  chosen: number
}

export const idle: PoolLoad = { unfinished: 0, is_waiting: false, chosen: 0 }

/** How long a number from the store is used, with this process's own choices added. */
const max_age_ms = 250

export interface PoolLoads {
  (relayer_row_ids: number[]): Promise<ReadonlyMap<number, PoolLoad>>
  /** A transaction was accepted for this relayer. */
  chose(relayer_row_id: number): void
}

export function createPoolLoads(store: Pick<SendingDependencies['store'], 'loadsOf'>): PoolLoads {
  let loads = new Map<number, PoolLoad>()
  let read_at = Number.NEGATIVE_INFINITY
  let choices = 0

  async function read(relayer_row_ids: number[]): Promise<ReadonlyMap<number, PoolLoad>> {
    const isOld = performance.now() - read_at > max_age_ms
    if (isOld || relayer_row_ids.some((row_id) => !loads.has(row_id))) {
      const wanted = isOld ? relayer_row_ids : [...new Set([...loads.keys(), ...relayer_row_ids])]
      const before = loads
      read_at = performance.now()
      loads = new Map()
      for (const { relayer_row_id, ...load } of await store.loadsOf(wanted)) {
        loads.set(relayer_row_id, { ...load, chosen: before.get(relayer_row_id)?.chosen ?? 0 })
      }
    }
    return loads
  }

  return Object.assign(read, {
    chose(relayer_row_id: number) {
      const load = loads.get(relayer_row_id) ?? { ...idle }
      choices += 1
      loads.set(relayer_row_id, { ...load, unfinished: load.unfinished + 1, chosen: choices })
    },
  })
}
