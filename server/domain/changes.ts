import { type Kind, type Members, members, sorted, withoutSecrets } from './revision.ts'
import type { AuditEntry, PendingAuditEntry } from './rows.ts'
import { mask, showRpcUrls } from './values.ts'

const maxChanges = 50
const maxValue = 500
/** Whoever reads the audit trail may not learn them. */
const masked: ReadonlySet<PropertyKey> = new Set(['signing_key'])

/**
 * Notes in the audit entry of a change what it changed, by the members of members too: a policy, not all of them. Secrets are masked: one
 * that was changed is named. What there was not before is created: its status is 201. A database transaction that is repeated notes anew.
 */
export function noteChanges<K extends Kind>(
  entry: PendingAuditEntry | undefined,
  kind: K,
  before: Partial<Members<K>> | null,
  after: Partial<Members<K>> | null,
): void {
  if (!entry) return
  const names = members[kind] as readonly (keyof Members<K> & string)[]
  const changes = names.flatMap((name) => changesIn(name, before?.[name], after?.[name], name))
  if (changes.length > 0) entry.changes = changes.slice(0, maxChanges)
  else delete entry.changes
  entry.http_status = before === null && after !== null ? 201 : 200
}

function changesIn(name: string, before: unknown, after: unknown, member: string): NonNullable<AuditEntry['changes']> {
  if (JSON.stringify(before ?? null, sorted) === JSON.stringify(after ?? null, sorted)) return []
  if (isObject(before) && isObject(after)) {
    const inner = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return inner.flatMap((one) => changesIn(one, before[one], after[one], `${member}.${one}`))
  }
  const shown = (value: unknown): string | null => {
    if (value === undefined || value === null) return null
    if (masked.has(name)) return JSON.stringify(mask)
    const text = JSON.stringify(
      name === 'url' ? showRpcUrls([{ url: `${value}` }])[0]?.url : withoutSecrets(name, value),
    )
    return text.length > maxValue ? `${text.slice(0, maxValue - 1)}…` : text
  }
  return [{ member, before: shown(before), after: shown(after) }]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
