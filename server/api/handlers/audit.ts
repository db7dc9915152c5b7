import type { AuditEntry as Shown } from '../../../generated/openapi.ts'
import { type Handlers, page } from '../../domain/operation.ts'
import type { AuditFilter, PageRequest } from '../../domain/rows.ts'
import { readTime } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { type ChainHead, headOfAll, type ListedAuditEntry } from '../../store/queries/audit.ts'
import { readFrom } from '../http/errors.ts'

/** The audit trail that api/http/audit.ts and the store record. */
export function audit({ store }: Pick<ServicesContext, 'store'>) {
  return {
    async listAuditEntries({ query }) {
      const { caller, operation, relayer_id, subject, outcome, exclude_service, created_after, created_before } = query
      const filter: AuditFilter = {}
      if (caller !== undefined) filter.caller = caller
      if (operation !== undefined) filter.operation = operation
      if (relayer_id !== undefined) filter.relayer_id = relayer_id
      if (subject !== undefined) filter.subject = subject
      if (outcome !== undefined) filter.outcome = outcome
      if (exclude_service) filter.exclude_service = true
      if (created_after !== undefined)
        filter.after = Date.parse(readFrom('/query', () => readTime(created_after, ['created_after'])))
      if (created_before !== undefined)
        filter.before = Date.parse(readFrom('/query', () => readTime(created_before, ['created_before'])))
      const read = async (slice: PageRequest) => {
        const { items, total_items } = await store.listAudit(slice, filter)
        const [callers, transactions] = await Promise.all([
          store.callerNames([...new Set(items.map((entry) => entry.caller))]),
          store.transactionNames([...new Set(items.flatMap(({ subject }) => subject ?? []))]),
        ])
        const named = items.map((entry) => ({
          ...entry,
          caller_name: callers.get(entry.caller) ?? null,
          subject_name: transactions.get(entry.subject ?? '') ?? null,
        }))
        return { items: named, total_items }
      }
      return page(query, read, show)
    },

    async getAuditHead() {
      const heads = await store.auditHeads()
      const { up_to, hash } = headOfAll(heads)
      return { entries_count: up_to, hash: hex(hash), chains: heads.map(showChain) }
    },
  } satisfies Partial<Handlers>
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const showChain = ({ chain, up_to, hash }: ChainHead) => ({ chain, last_sequence: up_to, hash: hex(hash) })

const show = ({ at, ...entry }: ListedAuditEntry & Record<'caller_name' | 'subject_name', string | null>): Shown => ({
  ...entry,
  key_request_id: entry.key_request_id ?? null,
  count: entry.count ?? 1,
  failure: entry.failure ?? null,
  changes: entry.changes ?? [],
  created_at: new Date(at).toISOString(),
})
