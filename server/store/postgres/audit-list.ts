import { setImmediate as turn } from 'node:timers/promises'
import { type AuditRow, type ListedAuditEntry, matcher, max_lot, readEntry } from '../audit-lots.ts'
import type { Store } from '../store.ts'
import { chain } from './audit.ts'
import { type Connection, sql } from './connection.ts'

const lots = sql<{ entries: string }>(`
  SELECT entries FROM audit WHERE chain = $chain AND up_to >= $from AND up_to < $to ORDER BY up_to DESC`)

export function auditList({ read, auditHead }: Connection): Pick<Store, 'listAudit'> {
  /** The entries with these numbers, newest first. */
  async function entriesOf(from: number, to: number): Promise<ListedAuditEntry[]> {
    // The lot that contains the last number may end at most one lot after it.
    const found = await read.all(lots, { chain, from, to: to + max_lot })
    return found
      .flatMap(({ entries }) => (JSON.parse(entries) as AuditRow[]).reverse().map(readEntry))
      .filter(({ sequence }) => sequence >= from && sequence <= to)
  }

  return {
    async listAudit({ offset, limit }, filter) {
      const newest = (await auditHead()).up_to
      if (Object.keys(filter).length === 0) {
        // The numbers have no gaps: a page is a range of them, at any depth.
        const to = newest - offset
        const from = Math.max(1, to - limit + 1)
        return { items: from <= to ? await entriesOf(from, to) : [], total_items: newest }
      }
      // An index would cost every signature a write. A search reads the whole trail instead, in steps between which other work runs.
      const matches = matcher(filter)
      const items: ListedAuditEntry[] = []
      let total_items = 0
      for (let to = newest; to > 0; to -= max_lot) {
        const found = (await entriesOf(Math.max(1, to - max_lot + 1), to)).filter(matches)
        const skip = Math.max(0, offset - total_items)
        items.push(...found.slice(skip, skip + limit - items.length))
        total_items += found.length
        await turn()
      }
      return { items, total_items }
    },
  }
}
