import type { ColumnName, Verdict } from './judge.ts'
import type { TrialResult } from './trial.ts'

const meanings: Record<ColumnName, string> = {
  unanswered: 'causes that were never answered',
  undelivered: 'events that were never accepted',
  holes: "numbers that a relayer's sequence lacks or has twice",
  altered: 'arrivals with other bytes or another id than the first',
  unsigned: 'arrivals whose signatures are not right',
  disorder: 'arrivals before the earlier ones of their subject were accepted',
  stories: 'relayers and transactions whose events are not the whole story',
  again: 'events that came again after a 2xx, beyond 2 %',
  crowded: 'deliveries that a target had open beyond ten',
  followed: 'redirects that were followed',
  unsettled: 'deliveries that the service does not call delivered',
  errors: 'answers that should not be, and errors in the log',
  database: 'faults that SQLite finds in the file',
}

const maxQuoted = 5

/** The failed rules. */
export const wrongIn = (verdict: Verdict): ColumnName[] =>
  (Object.keys(meanings) as ColumnName[]).filter((name) => verdict[name] !== 0)

/** For a person: a line a number. */
export function scoreboard({
  options,
  kills,
  arrivals,
  faults,
  events,
  repeated,
  errors,
  verdict,
  ...rest
}: TrialResult): string {
  const line = (name: string, value: string | number, note: string) =>
    `  ${name.padEnd(12)}${`${value}`.padStart(8)}  ${note}`
  const percent = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`
  const kinds = Object.entries(faults.kinds).map(([kind, count]) => `${kind} ${count}`)
  const lines = [
    `Webhooks of ${options.fault ? `the service with the fault ${options.fault}` : 'the service'}, seed ${options.seed}`,
    line('kills', kills.start + kills.work, `kill -9, ${kills.start} of them during the start`),
    line('events', events, `to ${rest.targets} targets, of ${rest.relayers} relayers`),
    line('arrivals', arrivals, ''),
    line('faults', faults.count, `${percent(faults.count, arrivals)} of the answers: ${kinds.join(', ')}`),
    line('repeated', repeated, `${percent(repeated, events)} of the events came again after a 2xx`),
    ...(Object.keys(meanings) as ColumnName[]).map((name) =>
      line(name, verdict[name], `${verdict[name] === 0 ? 'ok ' : 'BAD'} ${meanings[name]}`),
    ),
    line('duration', `${Math.round(rest.duration_ms / 1_000)} s`, ''),
    ...[...new Set(errors)].slice(0, maxQuoted).map((text) => `  said: ${text}`),
  ]
  return `${lines.map((text) => text.trimEnd()).join('\n')}\n`
}
