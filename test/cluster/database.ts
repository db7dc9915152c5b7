import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres, stopPostgres, urlOf } from '../support/postgres-server.ts'
import { startStandby } from '../support/postgres-standby.ts'

/** `stopped`: the mistake of an asynchronous standby, which does not have the newest commits when it is promoted. */
export type Replication = 'synchronous' | 'stopped'

/** PostgreSQL of a stage: a primary, and a standby that can take its place. */
export interface Database {
  start(): Promise<void>
  /** Of the present primary. */
  url(): string
  /** Runs a statement. */
  rows<Row extends object>(statement: string, values?: unknown[]): Promise<Row[]>
  /** Stops the database as a power failure does, and starts it after the time. */
  fail(ms: number): Promise<void>
  /** Gives the primary a fresh standby. From then on commits wait until it has them. */
  addStandby(): Promise<void>
  /**
   * An immediate stop of the primary, after which `stopped` is called, and after the time the promotion of the standby. The former
   * primary does not come back.
   */
  failOver(ms: number, stopped: () => void): Promise<void>
  stop(): Promise<void>
}

interface DatabaseOptions {
  replication?: Replication | undefined
  /** Another server is the primary now. */
  moved: (url: string) => void
}

const lookMs = 50
const patienceMs = 60_000
const newFolder = () => mkdtempSync(join(tmpdir(), 'relayer-cluster-pg-'))

export function createDatabase({ replication = 'synchronous', moved }: DatabaseOptions): Database {
  let primary = newFolder()
  let standby: string | undefined

  async function remove(folder: string): Promise<void> {
    await stopPostgres(folder, 'immediate').catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  }

  async function stop(): Promise<void> {
    await Promise.all([primary, standby].map((folder) => folder && remove(folder)))
  }

  /** Waits until the primary reports this state of its standby. */
  async function until(state: string | undefined): Promise<void> {
    for (const end = performance.now() + patienceMs; ; await pause(lookMs)) {
      const [found] = await query<{ state: string }>(
        primary,
        "SELECT state || ' ' || sync_state AS state FROM pg_stat_replication",
      )
      if (found?.state === state) return
      if (performance.now() > end) throw new Error(`The standby is ${found?.state}, not ${state}`)
    }
  }

  async function set(folder: string, name: string, value: string): Promise<void> {
    await query(folder, `ALTER SYSTEM SET ${name} = '${value}'`)
    await query(folder, 'SELECT pg_reload_conf()')
  }

  return {
    start: () => startPostgres(primary),
    url: () => urlOf(primary, 'postgres'),
    rows: (statement, values) => query(primary, statement, values),
    async fail(ms) {
      await stopPostgres(primary, 'immediate')
      await pause(ms)
      await startPostgres(primary)
    },
    async addStandby() {
      standby = newFolder()
      await set(primary, 'wal_keep_size', '1GB')
      await startStandby(primary, standby)
      await until('streaming async')
      if (replication === 'synchronous') {
        await set(primary, 'synchronous_standby_names', '*')
        await until('streaming sync')
      } else {
        await set(standby, 'primary_conninfo', '')
        await until(undefined)
      }
    },
    async failOver(ms, stopped) {
      if (standby === undefined) throw new Error('There is no standby')
      const former = primary
      await stopPostgres(former, 'immediate')
      stopped()
      await pause(ms)
      const [found] = await query<{ promoted: boolean }>(standby, 'SELECT pg_promote(true, 60) AS promoted')
      if (!found?.promoted) throw new Error('The standby was not promoted within 60 s')
      primary = standby
      standby = undefined
      moved(urlOf(primary, 'postgres'))
      await remove(former)
    },
    stop,
  }
}

async function query<Row extends object>(folder: string, statement: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: urlOf(folder, 'postgres') })
  await client.connect()
  try {
    return (await client.query<Row>(statement, values)).rows
  } finally {
    await client.end()
  }
}
