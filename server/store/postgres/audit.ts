import type { AuditEntry } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import {
  type AuditHead,
  batchesAfter,
  beginning,
  type ChainHead,
  type ListedAuditEntry,
  matcher,
  readBatch,
} from '../queries/audit.ts'
import { type DatabaseTransaction, type Session, sql, UnknownOutcome } from '../queries/database.ts'
import { countRefusals } from '../queries/refusals.ts'
import type { Store } from '../store.ts'

interface Chain {
  chain: number
}

const adopt = sql<Chain>(`
  UPDATE audit_chains SET server_row_id = $server_row_id WHERE chain = (
    SELECT chain FROM audit_chains JOIN servers ON servers.row_id = server_row_id WHERE state = 'ended'
    ORDER BY chain LIMIT 1 FOR UPDATE OF audit_chains SKIP LOCKED)
  RETURNING chain`)
const begin = sql<Chain>(`
  INSERT INTO audit_chains (chain, server_row_id, up_to, hash, at)
  SELECT coalesce(max(chain), 0) + 1, $server_row_id, $up_to, $hash, 0 FROM audit_chains
  ON CONFLICT DO NOTHING RETURNING chain`)

/**
 * The chain of the audit trail that a server writes: it continues the chain of a server that has ended, so that there are as many chains
 * as there ever were servers at one time. Should that one still write an entry, the lock of the head keeps the chain whole.
 */
export async function takeChain(read: Session, serverRowId: number): Promise<number> {
  for (;;) {
    const its =
      (await read.one(adopt, { server_row_id: serverRowId })) ??
      (await read.one(begin, { server_row_id: serverRowId, ...beginning }))
    // Another server has begun the same one.
    if (its) return its.chain
  }
}

/** The last entry of a chain, whose row is locked. */
interface Head extends AuditHead {
  /** The time of the last batch, in milliseconds since the Unix epoch. */
  at: number
}

const selectHead = sql<ChainHead>('SELECT chain, up_to, hash FROM audit_chains WHERE chain = $chain')
const lockHead = sql<Head>('SELECT up_to, hash, at FROM audit_chains WHERE chain = $chain FOR UPDATE')
const insertBatch = sql(`
  INSERT INTO audit (chain, up_to, first, at, entries, hash) VALUES ($chain, $up_to, $first, $at, $entries, $hash)`)
const selectBatch = sql('SELECT 1 FROM audit WHERE chain = $chain AND up_to = $up_to AND hash = $hash')
const setHead = sql('UPDATE audit_chains SET up_to = $up_to, hash = $hash, at = $at WHERE chain = $chain')

/** The audit trail of this server: each has a chain of its own (`takeChain`), because one chain would let all commits wait. */
export class ServerTrail {
  readonly #chain: number
  /** Entries whose commit was not answered, and the head that they would have made: it is in the trail or they are not. */
  #doubtful: { entries: AuditEntry[]; made: AuditHead } | undefined

  constructor(chain: number) {
    this.#chain = chain
  }

  async head(session: Session): Promise<ChainHead> {
    return (await session.one(selectHead, { chain: this.#chain })) as ChainHead
  }

  /** The lock is held until the commit, so that the chain has the order of the commits. */
  async lock(dbTransaction: Session): Promise<Head> {
    return (await dbTransaction.one(lockHead, { chain: this.#chain })) as Head
  }

  /** Sends all statements at once. */
  async append(dbTransaction: Session, entries: AuditEntry[], head: Head): Promise<AuditHead> {
    // The times of a chain never go back, so that the trail can be searched by time.
    const at = entries.reduce((latest, entry) => Math.max(latest, entry.at), head.at)
    const batches = batchesAfter(head, entries)
    const { up_to, hash } = batches.at(-1) as AuditHead
    const place = { chain: this.#chain, at }
    await Promise.all([
      ...batches.map((batch) => dbTransaction.run(insertBatch, { ...place, ...batch })),
      dbTransaction.run(setHead, { ...place, up_to, hash }),
    ])
    return { up_to, hash }
  }

  /** Writes entries alone: see `appendAudit` of the store. */
  async appendOnce(
    write: (work: (dbTransaction: DatabaseTransaction) => Promise<void>) => Promise<void>,
    entries: AuditEntry[],
  ) {
    const before = this.#doubtful?.entries === entries ? this.#doubtful.made : undefined
    let made: AuditHead | undefined
    try {
      await write(async (dbTransaction) => {
        // A former commit that is still under way holds the lock.
        const head = await this.lock(dbTransaction)
        if (before && (await dbTransaction.one(selectBatch, { chain: this.#chain, ...before }))) return
        await countRefusals(dbTransaction, entries)
        made = await this.append(dbTransaction, entries, head)
      })
      if (before) this.#doubtful = undefined
    } catch (error) {
      if (error instanceof UnknownOutcome && made) this.#doubtful = { entries, made }
      throw error
    }
  }
}

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

export function auditList({ read }: { read: Session }): Pick<Store, 'auditHeads' | 'listAudit'> {
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
