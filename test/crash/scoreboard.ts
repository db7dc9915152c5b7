import type { CrashResult } from './crash.ts'
import type { ColumnName, Verdict } from './judge.ts'

export const meanings: Record<ColumnName, string> = {
  unaccepted: 'submissions that never heard a 201',
  unlisted: 'ids that are not in the list exactly once',
  unconfirmed: 'transactions that are not confirmed',
  lost: 'submissions that are not on the chain',
  twice: 'transactions on the chain that nobody asked for',
  gaps: 'nonces that the chain or the list lacks',
  receipts: 'transactions without a receipt of their own',
  unrecorded: 'transactions on the chain whose bytes the database does not have',
  rebroadcast: 'broadcast bytes that are not stored, or not the first of their nonce and price',
  signatures: "broadcast bytes that are not signed by the relayer's key",
  events: 'transactions whose events are not the whole story',
  answers: 'answers that differ or should not be, and errors in the log',
  counter: 'by which the next nonce is off',
  database: 'faults that were found in the database',
}

const maxQuoted = 5

/** The failed rules. */
export const wrongIn = (verdict: Verdict): ColumnName[] =>
  (Object.keys(meanings) as ColumnName[]).filter((name) => verdict[name] !== 0)

/** For a person: a line a number. */
export function scoreboard({ options, kills, tally, logged, verdict, duration_ms }: CrashResult): string {
  const { submissions, seed, fault, signer = 'local' } = options
  const { retries, refused, broken, unavailable, wrong } = tally
  const line = (name: string, value: string | number, note: string) =>
    `  ${name.padEnd(12)}${`${value}`.padStart(8)}  ${note}`
  const lines = [
    `Crash test of ${fault ? `the service with the fault ${fault}` : 'the service'}, signer ${signer}, seed ${seed}`,
    line('kills', kills.start + kills.work, `kill -9, ${kills.start} of them during the start`),
    line('restarts', kills.start + kills.work, ''),
    line('submissions', submissions, 'distinct, through HTTP'),
    line('retries', retries, `connections refused ${refused}, broken ${broken}; 503 ${unavailable}`),
    ...(Object.keys(meanings) as ColumnName[]).map((name) => {
      return line(name, verdict[name], `${verdict[name] === 0 ? 'ok ' : 'BAD'} ${meanings[name]}`)
    }),
    line('duration', `${Math.round(duration_ms / 1_000)} s`, ''),
    ...[...new Set(wrong)].slice(0, maxQuoted).map((text) => `  answered: ${text}`),
    ...logged.slice(0, maxQuoted).map((text) => `  logged: ${text}`),
  ]
  return `${lines.map((text) => text.trimEnd()).join('\n')}\n`
}
