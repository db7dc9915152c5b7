import type Database from 'better-sqlite3'
import { type AuditHead, type AuditRow, beginning, seal } from './audit.ts'

export interface AuditVerdict {
  /** How far the trail is as it was written. */
  head: AuditHead
  /** Where it is not, and how; undefined when all of it is. */
  fault: string | undefined
}

/**
 * Computes the chain again, from its first entry. `told`: heads that were told elsewhere (the log), which must be in it; only they
 * show that nothing is missing at the end.
 */
export function checkAudit(db: Database.Database, told: AuditHead[] = []): AuditVerdict {
  return db.transaction(() => {
    const links = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit_links ORDER BY up_to')
    const rows = db
      .prepare<[number, number], AuditRow>(`
        SELECT sequence, at, caller, operation, relayer_id, subject, result, request_id FROM audit
        WHERE sequence > ? AND sequence <= ? ORDER BY sequence`)
      .raw()
    let head = beginning
    for (const link of links.iterate()) {
      const sealed = rows.all(head.up_to, link.up_to)
      const places = `${head.up_to + 1} to ${link.up_to}`
      if (sealed.length !== link.up_to - head.up_to) return { head, fault: `Entries are missing among ${places}` }
      if (!seal(head.hash, sealed).equals(link.hash))
        return { head, fault: `Entries ${places} are not what was written` }
      head = link
    }
    const outside = db
      .prepare<[number], number>('SELECT COUNT(*) FROM audit WHERE sequence < 1 OR sequence > ?')
      .pluck()
    if (outside.get(head.up_to) !== 0) return { head, fault: `There are entries outside of 1 to ${head.up_to}` }
    return { head, fault: missing(db, told) }
  })()
}

function missing(db: Database.Database, told: AuditHead[]): string | undefined {
  const link = db.prepare<[number, Uint8Array]>('SELECT 1 FROM audit_links WHERE up_to = ? AND hash = ?')
  const lost = told.find(({ up_to, hash }) => !link.get(up_to, hash))
  return lost && `The head that was told of entry ${lost.up_to} is not in the trail: what it stood for is gone`
}
