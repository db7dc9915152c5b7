import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres, stopPostgres, urlOf } from '../../support/postgres-server.ts'
import { clock_tick_ms } from '../measure.ts'

export interface Postgres {
  /** A new, empty database: its URL. */
  create(name: string): Promise<string>
  /** User and system time of all its processes so far. */
  cpu_ms(): number
  stop(): Promise<void>
}

/** A PostgreSQL server with its default settings, in a folder of its own. */
export async function startBenchPostgres(): Promise<Postgres> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-bench-pg-'))
  await startPostgres(folder)
  const pid = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  // It is no child of ours, and would go on without us.
  const kill = () => {
    process.kill(pid, 'SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', kill)
  return {
    async create(name) {
      await query(urlOf(folder, 'postgres'), `CREATE DATABASE ${name}`)
      return urlOf(folder, name)
    },
    cpu_ms: () => cpuOf_ms(pid),
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
function cpuOf_ms(pid: number): number {
  const own = timesOf(pid).reduce((sum, ticks) => sum + ticks, 0)
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return children.reduce((sum, child) => sum + usedBy(child), own) * clock_tick_ms
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
