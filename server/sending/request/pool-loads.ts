import type { SendingDependencies } from '../dependencies.ts'

/** What a relayer has to do. It orders the relayers of a pool only: the commit reads the numbers again. */
export interface PoolLoad {
  unfinished: number
  /** Its first unfinished transaction waits for something. */
  is_waiting: boolean
  /** Grows with each choice: the one that was idle the longest has the lowest. */
  chosen: number
}

/** How long a number from the store is used, with this process's own choices added. */
const max_age_ms = 250

export interface PoolLoads {
  /** Reads the numbers of these relayers if they are old. */
  refresh(relayer_row_ids: number[]): Promise<void>
  of(relayer_row_id: number): PoolLoad
  /** A request asks this relayer first; it counts as chosen until the returned function is called. */
  ask(relayer_row_id: number): () => void
  /** A transaction was accepted for this relayer. */
  chose(relayer_row_id: number): void
}

export function createPoolLoads(store: Pick<SendingDependencies['store'], 'loadsOf'>): PoolLoads {
  const asked = new Map<number, number>()
  const chosen = new Map<number, number>()
  let loads = new Map<number, Omit<PoolLoad, 'chosen'>>()
  let read_at = Number.NEGATIVE_INFINITY
  let choices = 0

  return {
    async refresh(relayer_row_ids) {
      const isOld = performance.now() - read_at > max_age_ms
      if (!isOld && relayer_row_ids.every((row_id) => loads.has(row_id))) return
      const read = await store.loadsOf([...new Set([...(isOld ? [] : loads.keys()), ...relayer_row_ids])])
      loads = new Map(read.map(({ relayer_row_id, ...load }) => [relayer_row_id, load]))
      read_at = performance.now()
    },
    of(row_id) {
      const { unfinished, is_waiting } = loads.get(row_id) ?? { unfinished: 0, is_waiting: false }
      return { unfinished: unfinished + (asked.get(row_id) ?? 0), is_waiting, chosen: chosen.get(row_id) ?? 0 }
    },
    ask(row_id) {
      asked.set(row_id, (asked.get(row_id) ?? 0) + 1)
      return () => {
        const left = (asked.get(row_id) ?? 1) - 1
        if (left === 0) asked.delete(row_id)
        else asked.set(row_id, left)
      }
    },
    chose(row_id) {
      const load = loads.get(row_id)
      if (load) load.unfinished += 1
      choices += 1
      chosen.set(row_id, choices)
    },
  }
}
