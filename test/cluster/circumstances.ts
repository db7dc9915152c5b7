import { readFileSync } from 'node:fs'
import type { Stage } from './stage.ts'

const quotedLines = 40
const quotedCharacters = 400

/**
 * Lines that explain unfinished work: the servers and their leases, the transactions that have not ended, the activity of PostgreSQL,
 * and the end of each server's log.
 */
export async function readCircumstances({ rows, members }: Pick<Stage, 'rows' | 'members'>): Promise<string[]> {
  const tables = {
    server: `SELECT row_id, name, state, started_at, until - clock_timestamp() AS left FROM servers ORDER BY row_id`,
    lease: `SELECT kind, work_leases.row_id, token, server_row_id, name, state FROM work_leases
      LEFT JOIN servers ON servers.row_id = server_row_id ORDER BY kind, work_leases.row_id`,
    relayer: `SELECT relayer_row_id, status, wait_reason, status_reason, intent, count(*), min(nonce) AS from, max(nonce) AS to,
        max(changed_at) AS changed_at
      FROM transactions GROUP BY relayer_row_id, status, wait_reason, status_reason, intent ORDER BY relayer_row_id, status`,
    disabled: `SELECT row_id, paused, system_disabled, disabled_reason FROM relayers WHERE system_disabled = 1 OR paused = 1`,
    session: `SELECT pid, state, wait_event_type, wait_event, clock_timestamp() - xact_start AS since, left(query, 200) AS query
      FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'`,
  }
  const lines: string[] = [`now: ${new Date().toISOString()}`]
  for (const [name, statement] of Object.entries(tables)) {
    // The database may be down.
    const found = await rows(statement).catch((error: Error) => [error.message])
    lines.push(...found.map((row) => `${name}: ${JSON.stringify(row)}`))
  }
  for (const member of members) {
    lines.push(`log of ${member.url}, process ${member.pid()}:`)
    const log = readFileSync(member.logFile, 'utf8').trimEnd().split('\n')
    lines.push(...log.slice(-quotedLines).map((line) => `  ${withoutStack(line).slice(0, quotedCharacters)}`))
  }
  return lines
}

/** A line of the log, which is JSON, or of the output of a start. */
function withoutStack(line: string): string {
  // The last line of a killed process may be cut off.
  if (!line.startsWith('{') || !line.endsWith('}')) return line
  const { time, err, ...others } = JSON.parse(line)
  return JSON.stringify({ time: new Date(time).toISOString(), ...others, ...(err && { error: err.message }) })
}
