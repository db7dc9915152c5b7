import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres, stopPostgres, urlOf, writeSettings } from '../../support/postgres-server.ts'
import { clockTickMs } from '../measure.ts'

export interface Postgres {
  /** Of the process that starts all others. */
  pid: number
  /** A new, empty database: its URL. */
  create(name: string): Promise<string>
  /** User and system time of all its processes so far. */
  cpu_ms(): number
  /** What a database has executed so far. */
  counts(name: string): Promise<Counts>
  stop(): Promise<void>
}

export interface Counts {
  /** With BEGIN and COMMIT. */
  statements: number
  /** Database transactions of several statements that were committed. */
  commits: number
}

/** A PostgreSQL server with its default settings, apart from the counts of statements, in a folder of its own. */
export async function startBenchPostgres(): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-bench-pg-'))
  await startPostgres(folder)
  await stopPostgres(folder)
  writeSettings(folder, ["shared_preload_libraries = 'pg_stat_statements'"])
  await startPostgres(folder)
  await query(urlOf(folder, 'postgres'), 'CREATE EXTENSION pg_stat_statements')
  const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  // It is no child of ours, and would go on without us.
  const kill = () => {
    process.kill(pid, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', kill)
  return {
    pid,
    async create(name) {
      await query(urlOf(folder, 'postgres'), `CREATE DATABASE ${name}`)
      return urlOf(folder, name)
    },
    cpu_ms: () => cpuOfMs(pid),
    async counts(name) {
      const [counts] = await query<Counts>(
        urlOf(folder, 'postgres'),
        `SELECT coalesce(sum(calls), 0)::float AS statements,
           coalesce(sum(calls) FILTER (WHERE query = 'COMMIT'), 0)::float AS commits
         FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid WHERE datname = '${name}'`,
      )
      return counts as Counts
    },
    async stop() {
      process.off('exit', kill)
      await stopPostgres(folder)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function query<Row extends object>(url: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(statement)).rows
  } finally {
    await client.end()
  }
}

/** With the children that have ended: backends come and go. */
function cpuOfMs(pid: number): number {
  const own = timesOf(pid).reduce((sum, ticks) => sum + ticks, 0)
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return children.reduce((sum, child) => sum + usedBy(child), own) * clockTickMs
}

/** 0 for a child that has ended meanwhile. */
function usedBy(pid: number): number {
  try {
    const [user = 0, system = 0] = timesOf(pid)
    return user + system
  } catch {
    return 0
  }
}

/** User and system time, and those of the children that have ended, in ticks. */
const timesOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 15).map(Number) ?? []
