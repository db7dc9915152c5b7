import { hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import type { AuditEntry } from '../rows.ts'

/** An entry in a lot. */
export type AuditRow = [
  sequence: number,
  at: number,
  caller: string,
  operation: string,
  relayer_id: string | null,
  subject: string | null,
  result: number,
  request_id: string | null,
]

/** Entries that are committed together, and the hash that covers them and all earlier ones. */
export interface AuditLot extends AuditHead {
  first: number
  entries: string
}

/** The end of the trail: the number of the last entry, and the hash that covers the whole trail. */
export interface AuditHead {
  up_to: number
  hash: Uint8Array
}

export interface Trail {
  /** Writes the entries, inside the current database transaction. */
  append(entries: AuditEntry[]): void
  head(): AuditHead
}

/** Reading one lot takes some milliseconds. */
export const max_lot = 5_000

export const beginning: AuditHead = { up_to: 0, hash: new Uint8Array(32) }

export function createTrail(db: Database.Database): Trail {
  const last = db.prepare<[], AuditHead>('SELECT up_to, hash FROM audit ORDER BY up_to DESC LIMIT 1')
  const insert = db.prepare<[AuditLot]>(
    'INSERT INTO audit (up_to, first, entries, hash) VALUES ($up_to, $first, $entries, $hash)',
  )
  const head = () => last.get() ?? beginning

  return {
    head,
    append(entries) {
      for (let at = 0; at < entries.length; at += max_lot) {
        const lot = entries.slice(at, at + max_lot)
        const before = head()
        const text = JSON.stringify(lot.map((entry, index) => rowOf(entry, before.up_to + index + 1)))
        const up_to = before.up_to + lot.length
        insert.run({ up_to, first: before.up_to + 1, entries: text, hash: seal(before.hash, text) })
      }
    },
  }
}

/** The hash of a lot. */
export const seal = (before: Uint8Array, entries: string): Buffer =>
  hash('sha256', `${Buffer.from(before).toString('hex')}${entries}`, 'buffer')

const rowOf = (entry: AuditEntry, sequence: number): AuditRow => [
  sequence,
  entry.at,
  entry.caller,
  entry.operation,
  entry.relayer_id,
  entry.subject,
  entry.result,
  entry.request_id,
]
