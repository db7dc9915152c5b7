import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { connectClient } from '../../server/store/postgres/pool.ts'
import { startPostgres, urlOf } from './postgres-server.ts'

/**
 * A PostgreSQL server for the tests of one run. The first test that needs it starts it; test/support/postgres-setup.ts stops it.
 */

const lookMs = 50
/** Far above the time that a busy machine needs. */
const patienceMs = 60_000

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
  for (const end = performance.now() + patienceMs; !existsSync(ready); await pause(lookMs)) {
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
  /** Runs a statement of the test's own. Numbers of 64 bits are read as numbers. */
  query<Row extends object>(statement: string): Promise<Row[]>
  /** Copies the database for `restore`. No other connection may be open during the copy. */
  backUp(): Promise<void>
  restore(): Promise<void>
  /** Also ends the connections to it. */
  drop(): Promise<void>
}

/** A new, empty database. */
export async function newDatabase(): Promise<TestDatabase> {
  const folder = await sharedServer()
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await withServer(folder, (client) => client.query(`CREATE DATABASE ${name}`))
  const url = urlOf(folder, name)
  const run = (...statements: string[]) =>
    withServer(folder, async (client) => {
      for (const statement of statements) await client.query(statement)
    })
  return {
    url,
    async query<Row extends object>(statement: string) {
      const client = await connectClient({ url })
      try {
        return (await client.query(statement)).rows as Row[]
      } finally {
        await client.end()
      }
    },
    backUp: () => run(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`),
    restore: () => run(`DROP DATABASE ${name}`, `CREATE DATABASE ${name} TEMPLATE ${name}_copy`),
    drop: () => run(`DROP DATABASE ${name} WITH (FORCE)`, `DROP DATABASE IF EXISTS ${name}_copy`),
  }
}
