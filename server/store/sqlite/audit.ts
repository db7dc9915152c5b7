import type Database from 'better-sqlite3'
import { type AuditHead, type AuditLot, beginning, lotsAfter } from '../audit-lots.ts'
import type { AuditEntry } from '../rows.ts'

export interface Trail {
  /** Writes the entries, inside the current database transaction. */
  append(entries: AuditEntry[]): void
  head(): AuditHead
}

export function createTrail(db: Database.Database): Trail {
  const last = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit ORDER BY up_to DESC LIMIT 1')
  const insert = db.prepare<[AuditLot]>(
    'INSERT INTO audit (up_to, first, entries, hash) VALUES ($up_to, $first, $entries, $hash)',
  )
  const head = () => last.get() ?? beginning

  return {
    head,
    append(entries) {
      if (entries.length > 0) for (const lot of lotsAfter(head(), entries)) insert.run(lot)
    },
  }
}
