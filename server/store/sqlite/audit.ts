import type Database from 'better-sqlite3'
import type { AuditEntry } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import {
  type AuditBatch,
  type AuditHead,
  batchesAfter,
  beginning,
  comparable,
  faultOfBatch,
  faultOfCheckpoint,
  type ListedAuditEntry,
  matcher,
  maxBatch,
  readBatch,
  recordsIn,
  type ToldHead,
} from '../queries/audit.ts'
import type { DatabaseTransaction } from '../queries/database.ts'
import type { Store } from '../store.ts'

/** Reads the head of the trail. */
export function auditHeadOf(db: Database.Database): () => AuditHead {
  const last = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit ORDER BY up_to DESC LIMIT 1')
  return () => last.get() ?? beginning
}

/** Writes entries, inside the current database transaction. */
export class Trail {
  readonly #insert: Database.Statement<[AuditBatch]>
  readonly #head: () => AuditHead

  constructor(db: Database.Database) {
    this.#insert = db.prepare(
      'INSERT INTO audit (up_to, first, entries, hash) VALUES ($up_to, $first, $entries, $hash)',
    )
    this.#head = auditHeadOf(db)
  }

  append(entries: AuditEntry[]): void {
    if (entries.length > 0) for (const batch of batchesAfter(this.#head(), entries)) this.#insert.run(batch)
  }
}

interface AuditVerdict {
  /** The number of the last entry that is intact. */
  head: AuditHead
  /** In place of the entries that were removed by their age; undefined: none was. */
  checkpoint: AuditHead | undefined
  /** How many of the recorded heads are older than that. */
  skipped: number
  /** The first fault; undefined when the whole trail is intact. */
  fault: string | undefined
}

/**
 * Recomputes the hash chain from its first entry. `told`: heads that were recorded elsewhere (the log) and must be in the chain; only
 * they show that no entries are missing at the end.
 */
export function checkAudit(db: Database.Database, told: ToldHead[] = []): AuditVerdict {
  return db.transaction(() => {
    const batches = db.prepare<[], AuditBatch>('SELECT up_to, first, entries, hash FROM audit ORDER BY up_to')
    const checkpoint = checkpointOf(db)()
    const compared = comparable(told, checkpoint ? [{ chain: 0, ...checkpoint }] : [])
    const records = new Set<string>()
    let head = checkpoint ?? beginning
    const verdict = (fault: string | undefined) => ({
      ...{ head, checkpoint, fault },
      skipped: told.length - compared.length,
    })
    for (const batch of batches.iterate()) {
      const fault = faultOfBatch(batch, head)
      if (fault !== undefined) return verdict(fault)
      head = { up_to: batch.up_to, hash: batch.hash }
      for (const its of recordsIn(batch.entries)) records.add(its)
    }
    return verdict((checkpoint && faultOfCheckpoint(checkpoint, records)) ?? missing(db, compared))
  })()
}

/** Reads what stands in place of the entries that were removed by their age. */
function checkpointOf(db: Database.Database): () => AuditHead | undefined {
  const select = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit_checkpoints')
  return () => select.get()
}

function missing(db: Database.Database, told: AuditHead[]): string | undefined {
  const batch = db.prepare<Record<'up_to' | 'hash', unknown>>(`
    SELECT 1 FROM audit WHERE up_to = $up_to AND hash = $hash
    UNION ALL SELECT 1 FROM audit_checkpoints WHERE up_to = $up_to AND hash = $hash`)
  const lost = told.find(({ up_to, hash }) => !batch.get({ up_to, hash }))
  return lost && `The recorded head of entry ${lost.up_to} is not in the trail: entries were removed or changed`
}

/** The only chain. */
const chain = 1

interface AuditConnection {
  reader: Database.Database
  write<T>(work: (dbTransaction: DatabaseTransaction) => T | Promise<T>): Promise<T>
  auditHead(): AuditHead
}

export function audit(
  connection: AuditConnection,
): Pick<Store, 'appendAudit' | 'auditHead' | 'auditHeads' | 'listAudit'> {
  const { reader, write, auditHead } = connection
  const checkpoint = checkpointOf(reader)
  const batches = reader
    .prepare<[number, number], string>('SELECT entries FROM audit WHERE up_to >= +? AND up_to < +? ORDER BY up_to DESC')
    .pluck()

  /** The entries with these numbers, newest first. */
  function entriesOf(from: number, to: number): ListedAuditEntry[] {
    // The batch that contains the last number may end at most one batch after it.
    return batches
      .all(from, to + maxBatch)
      .flatMap((entries) => readBatch(chain, entries))
      .filter(({ sequence }) => sequence >= from && sequence <= to)
  }

  return {
    auditHead: async () => ({ chain, ...auditHead() }),
    async auditHeads() {
      const head = auditHead()
      return head.up_to === 0 ? [] : [{ chain, ...head }]
    },
    appendAudit: (entries) =>
      write((dbTransaction) => {
        for (const entry of entries) dbTransaction.record(entry)
      }),
    async listAudit({ offset, limit }, filter) {
      const newest = auditHead().up_to
      const removed = checkpoint()?.up_to ?? 0
      if (Object.keys(filter).length === 0) {
        // The numbers have no gaps: a page is a range of them, at any depth.
        const to = newest - offset
        const from = Math.max(removed + 1, to - limit + 1)
        return { items: from <= to ? entriesOf(from, to) : [], total_items: newest - removed }
      }
      // An index would cost every signature a write. A search reads the whole trail instead, in steps between which other work runs.
      const matches = matcher(filter)
      const items: ListedAuditEntry[] = []
      let totalItems = 0
      for (let to = newest; to > removed; to -= maxBatch) {
        const found = entriesOf(Math.max(removed + 1, to - maxBatch + 1), to).filter(matches)
        const skip = Math.max(0, offset - totalItems)
        items.push(...found.slice(skip, skip + limit - items.length))
        totalItems += found.length
        await yieldToEventLoop()
      }
      return { items, total_items: totalItems }
    },
  }
}
