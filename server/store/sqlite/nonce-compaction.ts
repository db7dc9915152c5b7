import { nextTurn } from '../../next-turn.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { nonceCounter } from './nonce-counter.ts'

/** The most gaps and abandoned nonces that are reported. */
const max_found = 100
/** The most nonces that one turn of the event loop reads, or that one database transaction changes: some milliseconds. */
const batch_rows = 250

type Compaction = Pick<Store, 'abandoned' | 'compactNonces'>

interface Held {
  row_id: number
  nonce: number
  revision: number
  reason: string | null
  is_signed: 0 | 1
  is_in_block: 0 | 1
  is_ended: 0 | 1
}

/**
 * Closes gaps of nonces in batches, between which other work runs. After each batch no two transactions have the same nonce and the
 * counter is above all of them, so that an interrupted compaction leaves a gap that the next one finds.
 */
export function nonceCompaction({ db, write }: Pick<Connection, 'db' | 'write'>): Compaction {
  const { setNonce } = nonceCounter(db)
  const usedBelow = db
    .prepare<[number, string], number>('SELECT used_below FROM accounts WHERE chain_id = ? AND address = ?')
    .pluck()
  const held = (bound: string, order: 'ASC' | 'DESC') =>
    db.prepare<[number, string, number, number], Held>(`
      SELECT row_id, nonce, revision, status_reason AS reason, status <> 'pending' OR hash IS NOT NULL AS is_signed,
        block_hash IS NOT NULL AS is_in_block, status IN ('confirmed', 'failed', 'canceled', 'expired') AS is_ended
      FROM transactions WHERE chain_id = +? AND "from" = +? AND nonce ${bound} ORDER BY nonce ${order} LIMIT +?`)
  const heldFrom = held('>= +?', 'ASC')
  const heldBelow = held('< +?', 'DESC')
  const isHeld = db
    .prepare<[number, string, number], 1>('SELECT 1 FROM transactions WHERE chain_id = ? AND "from" = ? AND nonce = ?')
    .pluck()
  const renumber = db.prepare<[number, number]>(
    'UPDATE transactions SET nonce = ?, revision = revision + 1 WHERE row_id = ?',
  )

  /** The lowest nonce from `latest` on that is above all nonces that are known to be in a block. */
  async function aboveBlocks(chain_id: number, address: string, latest: number): Promise<number> {
    for (let below = Number.MAX_SAFE_INTEGER; ; await nextTurn()) {
      const rows = heldBelow.all(chain_id, address, below, batch_rows)
      const highest = rows.find(({ is_in_block }) => is_in_block === 1)
      if (highest) return Math.max(latest, highest.nonce + 1)
      const last = rows.at(-1)
      if (last === undefined || last.nonce <= latest) return latest
      below = last.nonce
    }
  }

  /** Gives lower nonces to one batch, in one database transaction. */
  function moveBatch(chain_id: number, address: string, place: Place): Place & { moved: number; isEnd: boolean } {
    const rows = heldFrom.all(chain_id, address, place.next, batch_rows)
    let free = Math.max(place.free, usedBelow.get(chain_id, address) ?? 0)
    let moved = 0
    let passed = 0
    for (const { row_id, nonce, is_signed, is_in_block } of rows) {
      if (is_in_block === 1) free = Math.max(free, nonce + 1)
      if (is_signed === 1 || nonce < free) continue
      // Others may have taken nonces between two batches.
      while (free < nonce && isHeld.get(chain_id, address, free) === 1) {
        free += 1
        passed += 1
        if (passed >= batch_rows) return { free, next: nonce, moved, isEnd: false }
      }
      if (free !== nonce) {
        renumber.run(free, row_id)
        moved += 1
      }
      free += 1
    }
    const last = rows.at(-1)
    if (last !== undefined && rows.length === batch_rows) return { free, next: last.nonce + 1, moved, isEnd: false }
    const [highest] = heldBelow.all(chain_id, address, Number.MAX_SAFE_INTEGER, 1)
    setNonce.run(chain_id, address, Math.max(free, (highest?.nonce ?? -1) + 1))
    return { free, next: free, moved, isEnd: true }
  }

  /** Nonces from `from` on that no transaction holds, below the nonce of a signed transaction. */
  async function gapsFrom(chain_id: number, address: string, from: number): Promise<number[]> {
    const free: number[] = []
    let below_signed = 0
    for (let next = from; ; await nextTurn()) {
      const rows = heldFrom.all(chain_id, address, next, batch_rows)
      for (const { nonce, is_signed } of rows) {
        for (; next < nonce && free.length < max_found; next += 1) free.push(next)
        if (is_signed === 1) below_signed = free.length
        next = nonce + 1
      }
      if (rows.length < batch_rows || below_signed >= max_found) return free.slice(0, below_signed)
    }
  }

  return {
    async compactNonces(chain_id, address, latest) {
      const from = Math.max(await aboveBlocks(chain_id, address, latest), usedBelow.get(chain_id, address) ?? 0)
      let moved = 0
      for (let place: Place = { free: from, next: from }; ; await nextTurn()) {
        const batch = write(() => moveBatch(chain_id, address, place))
        moved += batch.moved
        if (batch.isEnd) return { moved, gaps: await gapsFrom(chain_id, address, batch.free) }
        place = batch
      }
    },
    async abandoned(chain_id, address, latest) {
      const found: Awaited<ReturnType<Store['abandoned']>> = []
      for (let next = await aboveBlocks(chain_id, address, latest); ; await nextTurn()) {
        const rows = heldFrom.all(chain_id, address, next, batch_rows)
        for (const { row_id, revision, reason, is_ended, is_in_block } of rows) {
          if (is_ended === 1 && is_in_block === 0) found.push({ row_id, revision, reason })
        }
        const last = rows.at(-1)
        if (last === undefined || rows.length < batch_rows || found.length >= max_found)
          return found.slice(0, max_found)
        next = last.nonce + 1
      }
    },
  }
}

interface Place {
  /** Lower nonces are in use. */
  free: number
  /** The nonce from which the next batch reads. */
  next: number
}
