import { changedRules } from '../../domain/refusals.ts'
import type { AuditEntry, RefusedBy } from '../../domain/rows.ts'
import { nameOfCaller } from './api-keys.ts'
import { type Database, type Session, sql } from './database.ts'

/** What a rule refused since its last change. Times: milliseconds since the Unix epoch. */
export interface Refusals extends RefusedBy {
  count: number
  since: number
  last_at: number
  /** Whose request was the last, by its id and by its name. */
  caller: string
  caller_name: string
  reason: string
  /** Somebody has acknowledged all of them. */
  is_acknowledged: boolean
  /** Null: not since this is recorded. */
  changed_by: string | null
  changed_by_name: string | null
  changed_at: number | null
}

type StoredRefusal = Omit<Refusals, 'is_acknowledged'> & { acknowledged_at: number }

const count = sql(`
  INSERT INTO refusals (resource, id, rule, count, since, last_at, caller, reason)
  SELECT $resource::text, $id::text, $rule::text, $count::bigint, $at::bigint, $at::bigint, $caller::text, $reason::text
  WHERE NOT EXISTS (SELECT 1 FROM rule_changes WHERE resource = $resource::text AND id = $id::text AND at >= $at::bigint)
  ON CONFLICT (resource, id, rule) DO UPDATE SET count = refusals.count + excluded.count, last_at = excluded.last_at,
    caller = excluded.caller, reason = excluded.reason`)
const end = sql('DELETE FROM refusals WHERE resource = $resource AND id = $id')
const change = sql(`
  INSERT INTO rule_changes (resource, id, caller, at) VALUES ($resource, $id, $caller, $at)
  ON CONFLICT (resource, id) DO UPDATE SET caller = excluded.caller, at = excluded.at`)
const forget = sql('DELETE FROM rule_changes WHERE resource = $resource AND id = $id')
const acknowledge = sql(`
  UPDATE refusals SET acknowledged_at = $at WHERE resource = $resource AND id = $id AND rule = $rule`)
// A count may be stored after its resource was deleted.
const nameOfKey = (id: string) =>
  `coalesce(${nameOfCaller(id)}, CASE ${id} WHEN 'environment' THEN 'the environment key' WHEN 'command_line' THEN 'the command line' ELSE ${id} END)`
const selectRefusal = sql<StoredRefusal>(`
  SELECT refusals.*, ${nameOfKey('refusals.caller')} AS caller_name, rule_changes.caller AS changed_by,
    ${nameOfKey('rule_changes.caller')} AS changed_by_name, rule_changes.at AS changed_at
  FROM refusals LEFT JOIN rule_changes USING (resource, id)
  WHERE id IN (SELECT id FROM relayers) OR id IN (SELECT id FROM pools) OR id IN (SELECT id FROM sponsorships)
  ORDER BY since DESC LIMIT 1000`)

/**
 * Follows the audit entries of a commit: a rule that refuses is counted as often as the trail counts it (api/http/audit.ts), so that
 * a refusal costs no write of its own; a change of the rules ends what was counted.
 */
export async function countRefusals(session: Session, entries: readonly AuditEntry[]): Promise<void> {
  const refused = entries.flatMap(({ refused_by, ...entry }) => (refused_by ? [{ ...entry, ...refused_by }] : []))
  // In one order, so that two servers never wait for each other.
  for (const { resource, id, rule, ...entry } of refused.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    const { at, caller, failure, count: times = 1 } = entry
    await session.run(count, { resource, id, rule, at, caller, count: times, reason: failure?.message ?? '' })
  }
  for (const entry of entries) {
    const changed = changedRules(entry)
    if (!changed || entry.http_status >= 400) continue
    await session.run(end, { ...changed })
    if (entry.operation.startsWith('delete')) await session.run(forget, { ...changed })
    else await session.run(change, { ...changed, caller: entry.caller, at: entry.at })
  }
}

const nameOf = ({ resource, id, rule }: RefusedBy) => JSON.stringify([resource, id, rule])

/** What rules refused since they were changed, the newest first; up to 1,000. */
export async function refusals({ read }: Database): Promise<Refusals[]> {
  const rows = await read.all(selectRefusal)
  return rows.map(({ acknowledged_at, ...row }) => ({ ...row, is_acknowledged: row.last_at <= acknowledged_at }))
}

/** Those of now; later ones are not. */
export const acknowledgeRefusals = (session: Session, { resource, id, rule }: RefusedBy, at: number): Promise<number> =>
  session.run(acknowledge, { resource, id, rule, at })
