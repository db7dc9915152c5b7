import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import type { AuditEntry } from '../store.ts'

/** An entry as it is kept, and as it is hashed: its columns in this order, the number first. */
export type AuditRow = [sequence: number, ...columns: ReturnType<typeof columnsOf>]

/** The end of the chain: how far it goes, and the hash that stands for all of it. */
export interface AuditHead {
  up_to: number
  hash: Uint8Array
}

export interface Trail {
  /** Writes the entries and their link, inside the database transaction that is under way. */
  append(entries: AuditEntry[]): void
  head(): AuditHead
}

export const beginning: AuditHead = { up_to: 0, hash: new Uint8Array(32) }

export function createTrail(db: Database.Database): Trail {
  const last = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit_links ORDER BY up_to DESC LIMIT 1')
  const insert = db.prepare<AuditRow>(`
    INSERT INTO audit (sequence, at, caller, operation, relayer_id, subject, result, request_id)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  const insertLink = db.prepare<[number, Uint8Array]>('INSERT INTO audit_links (up_to, hash) VALUES (?, ?)')
  const head = () => last.get() ?? beginning

  return {
    head,
    append(entries) {
      if (entries.length === 0) return
      const before = head()
      const rows = entries.map((entry, index): AuditRow => [before.up_to + index + 1, ...columnsOf(entry)])
      for (const row of rows) insert.run(...row)
      insertLink.run(before.up_to + rows.length, seal(before.hash, rows))
    },
  }
}

/** The hash of a link. */
export const seal = (before: Uint8Array, rows: AuditRow[]): Buffer =>
  hash('sha256', `${Buffer.from(before).toString('hex')}${JSON.stringify(rows)}`, 'buffer')

const columnsOf = (entry: AuditEntry) =>
  [entry.at, entry.caller, entry.operation, entry.relayer_id, entry.subject, entry.result, entry.request_id] as const
