import { setImmediate as turn } from 'node:timers/promises'
import type { AuditEntry, AuditFilter, Store } from '../store.ts'
import type { Connection } from './connection.ts'

const nothing = { caller: null, operation: null, relayer_id: null, subject: null, after: null, before: null }

/** Looked through in one turn of the event loop: some milliseconds. */
const window = 10_000

type Row = AuditEntry & { sequence: number }

export function audit({
  db,
  write,
  record,
  auditHead,
}: Connection): Pick<Store, 'appendAudit' | 'auditHead' | 'listAudit'> {
  const where = `sequence > $above AND sequence <= $up_to
    AND ($caller IS NULL OR caller = $caller) AND ($operation IS NULL OR operation = $operation)
    AND ($relayer_id IS NULL OR relayer_id = $relayer_id) AND ($subject IS NULL OR subject = $subject)
    AND ($after IS NULL OR at > $after) AND ($before IS NULL OR at < $before)`
  const count = db.prepare<[object], number>(`SELECT COUNT(*) FROM audit WHERE ${where}`).pluck()
  const select = db.prepare<[object], Row>(`
    SELECT sequence, at, caller, operation, relayer_id, subject, result, request_id FROM audit WHERE ${where}
    ORDER BY sequence DESC LIMIT $limit OFFSET $offset`)
  const first = db.prepare<[], number | null>('SELECT min(sequence) FROM audit').pluck()

  return {
    auditHead,
    appendAudit: (entries) => write(() => entries.forEach(record)),
    async listAudit({ offset, limit }, filter: AuditFilter) {
      const { up_to: newest } = auditHead()
      const oldest = first.get() ?? 1
      if (Object.keys(filter).length === 0) {
        // The numbers have no gaps: a page is a range of them, at any depth.
        const values = { ...nothing, up_to: newest - offset, above: oldest - 1, limit, offset: 0 }
        return { items: select.all(values), total_items: newest - oldest + 1 }
      }
      const wanted = { ...nothing, ...filter }
      const items: Row[] = []
      // Every entry costs its signature a write; an index would cost it more of them. A search goes through all that there is,
      // in steps between which others have their turn.
      let total_items = 0
      for (let up_to = newest; up_to >= oldest; up_to -= window) {
        const values = { ...wanted, up_to, above: up_to - window }
        const found = count.get(values) as number
        const skip = Math.max(0, offset - total_items)
        const room = limit - items.length
        if (found > skip && room > 0) items.push(...select.all({ ...values, limit: room, offset: skip }))
        total_items += found
        await turn()
      }
      return { items, total_items }
    },
  }
}
