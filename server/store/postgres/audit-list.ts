import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { type ChainHead, type ListedAuditEntry, matcher, readBatch } from '../audit-batches.ts'
import { sql } from '../queries/database.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'

/** The most batches that are read at once; a batch has up to 5,000 entries. */
const maxBatches = 20
const maxTime = Number.MAX_SAFE_INTEGER

interface Batch {
  chain: number
  up_to: number
  at: number
  entries: string
}

// The order of the trail: by the time of the batches, then by chain, then by number. The numbers of a chain have no gaps.
const batchesBefore = sql<Batch>(`
  SELECT chain, up_to, at, entries FROM audit WHERE (at, chain, up_to) < ($at, $chain, $up_to)
  ORDER BY at DESC, chain DESC, up_to DESC LIMIT ${maxBatches}`)
const heads = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_chains WHERE up_to > 0 ORDER BY chain')
const removedOf = '(SELECT up_to FROM audit_checkpoints WHERE audit_checkpoints.chain = audit_chains.chain)'
const total = sql<{ entries: number }>(`
  SELECT coalesce(sum(up_to - coalesce(${removedOf}, 0)), 0) AS entries FROM audit_chains`)
/** How many entries are newer than a time. The cost depends on the number of chains only. */
const newerThan = sql<{ entries: number }>(`
  SELECT coalesce(sum(up_to - coalesce((
      SELECT up_to FROM audit WHERE audit.chain = audit_chains.chain AND at <= $at
      ORDER BY at DESC, up_to DESC LIMIT 1), ${removedOf}, 0)), 0) AS entries
  FROM audit_chains`)

export function auditList({ read }: Pick<Connection, 'read'>): Pick<Store, 'auditHeads' | 'listAudit'> {
  /** All entries from a time (inclusive) back, newest first. */
  async function* entriesFrom(at: number): AsyncGenerator<ListedAuditEntry[]> {
    for (let last = { at, chain: maxTime, up_to: maxTime }; ; ) {
      const batches = await read.all(batchesBefore, last)
      yield batches.flatMap(({ chain, entries }) => readBatch(chain, entries))
      if (batches.length < maxBatches) return
      last = batches.at(-1) as Batch
    }
  }

  /** The latest time with at most `offset` newer entries, and how many those are. */
  async function placeOf(offset: number): Promise<{ at: number; newer: number }> {
    if (offset === 0) return { at: maxTime, newer: 0 }
    let [low, high, newer] = [0, maxTime, 0]
    // After each step: more than `offset` entries are newer than `low - 1`, and `newer` (at most `offset`) are newer than `high`.
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2)
      const { entries } = (await read.one(newerThan, { at: middle })) as { entries: number }
      if (entries > offset) low = middle + 1
      else [high, newer] = [middle, entries]
    }
    return { at: high, newer }
  }

  return {
    auditHeads: () => read.all(heads),
    async listAudit({ offset, limit }, filter) {
      const items: ListedAuditEntry[] = []
      if (Object.keys(filter).length === 0) {
        const { entries: totalItems } = (await read.one(total)) as { entries: number }
        if (limit === 0 || offset >= totalItems) return { items, total_items: totalItems }
        const { at, newer } = await placeOf(offset)
        let skip = offset - newer
        for await (const found of entriesFrom(at)) {
          items.push(...found.slice(skip, skip + limit - items.length))
          skip = Math.max(0, skip - found.length)
          if (items.length >= limit) break
        }
        return { items, total_items: totalItems }
      }
      // An index would cost every signature a write. A search reads the whole trail instead, in steps between which other work runs.
      const matches = matcher(filter)
      let totalItems = 0
      for await (const some of entriesFrom(maxTime)) {
        const found = some.filter(matches)
        const skip = Math.max(0, offset - totalItems)
        items.push(...found.slice(skip, skip + limit - items.length))
        totalItems += found.length
        await yieldToEventLoop()
      }
      return { items, total_items: totalItems }
    },
  }
}
