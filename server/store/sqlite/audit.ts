import type Database from 'better-sqlite3'
import type { AuditEntry } from '../../domain/rows.ts'
import {
  type AuditBatch,
  type AuditHead,
  batchesAfter,
  beginning,
  comparable,
  faultOfBatch,
  faultOfCheckpoint,
  recordsIn,
  type ToldHead,
} from '../audit-batches.ts'

export interface Trail {
  /** Writes the entries, inside the current database transaction. */
  append(entries: AuditEntry[]): void
}

/** Reads the head of the trail. */
export function auditHeadOf(db: Database.Database): () => AuditHead {
  const last = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit ORDER BY up_to DESC LIMIT 1')
  return () => last.get() ?? beginning
}

export function createTrail(db: Database.Database): Trail {
  const insert = db.prepare<[AuditBatch]>(
    'INSERT INTO audit (up_to, first, entries, hash) VALUES ($up_to, $first, $entries, $hash)',
  )
  const head = auditHeadOf(db)

  return {
    append(entries) {
      if (entries.length > 0) for (const batch of batchesAfter(head(), entries)) insert.run(batch)
    },
  }
}

export interface AuditVerdict {
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
export function checkpointOf(db: Database.Database): () => AuditHead | undefined {
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
