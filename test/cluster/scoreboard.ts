import { meanings as ofOneServer } from '../crash/scoreboard.ts'
import type { ClusterResult, ClusterVerdict } from './cluster.ts'

type ColumnName = keyof ClusterVerdict

const meanings: Record<ColumnName, string> = {
  ...ofOneServer,
  forgotten: 'acknowledged submissions that the service does not have',
  unknown: 'broadcast bytes that the database does not have',
  outbox: 'events without exactly one delivery, or that the webhook did not hear',
  audit: 'faults of the audit chains',
  late: 'done by a server without its lease, or left by all',
  ended: 'servers that ended by themselves',
  idle: 'failovers that were not in the middle of a burst',
}

const maxQuoted = 5

/** The failed rules. */
export const wrongIn = (verdict: ClusterVerdict): ColumnName[] =>
  (Object.keys(meanings) as ColumnName[]).filter((name) => verdict[name] !== 0)

/** For a person: a line a number. */
export function scoreboard({
  options,
  verdict,
  tally,
  chains,
  interrupted,
  notes,
  circumstances,
  settled_ms,
  duration_ms,
}: ClusterResult): string {
  const { servers, relayers, submissions, kills, stalls, cuts, stops, seed } = options
  const { retries, refused, broken, unavailable, wrong } = tally
  const line = (name: string, value: string | number, note: string) =>
    `  ${name.padEnd(12)}${`${value}`.padStart(8)}  ${note}`
  const lines = [
    `Cluster test: ${servers} servers, ${relayers} relayers, seed ${seed}`,
    line('kills', kills, 'kill -9 of a server'),
    line('stalls', stalls, 'SIGSTOP of a server, longer than its lease'),
    line('cuts', cuts, 'of the network between a server and the database'),
    line('stops', stops, 'immediate stops of PostgreSQL'),
    line('failovers', interrupted.length, `promotions of a standby; ${burstsOf(interrupted)}`),
    line('submissions', submissions, 'distinct, through a random server'),
    line('retries', retries, `connections refused ${refused}, broken ${broken}; 503 ${unavailable}`),
    line('chains', chains, 'audit chains; a server continues the chain of one that has ended'),
    ...(Object.keys(meanings) as ColumnName[]).map((name) =>
      line(name, verdict[name], `${verdict[name] === 0 ? 'ok ' : 'BAD'} ${meanings[name]}`),
    ),
    line('settled', `${Math.round(settled_ms / 1_000)} s`, 'after the last incident'),
    line('duration', `${Math.round(duration_ms / 1_000)} s`, ''),
    ...[...new Set(wrong)].slice(0, maxQuoted).map((text) => `  answered: ${text}`),
    ...notes.slice(0, maxQuoted).map((text) => `  noted: ${text}`),
    ...circumstances.map((text) => `  ${text}`),
  ]
  return `${lines.map((text) => text.trimEnd()).join('\n')}\n`
}

function burstsOf(interrupted: ClusterResult['interrupted']): string {
  const sum = (name: 'acknowledged' | 'unanswered') => interrupted.reduce((total, burst) => total + burst[name], 0)
  return `of their bursts, ${sum('acknowledged')} were acknowledged before, ${sum('unanswered')} were not`
}
