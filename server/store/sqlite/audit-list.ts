import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { type ListedAuditEntry, matcher, maxBatch, readBatch } from '../audit-batches.ts'
import type { Store } from '../store.ts'
import { checkpointOf } from './audit.ts'
import type { Connection } from './connection.ts'

/** The only chain. */
const chain = 1

export function audit(connection: Connection): Pick<Store, 'appendAudit' | 'auditHead' | 'auditHeads' | 'listAudit'> {
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
    appendAudit: (entries) => write((transaction) => entries.forEach(transaction.record)),
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
