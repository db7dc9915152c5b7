import type Database from 'better-sqlite3'
import type { AuditEntry } from '../../core/rows.ts'
import { type AuditBatch, type AuditHead, batchesAfter, beginning } from '../audit-batches.ts'

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
