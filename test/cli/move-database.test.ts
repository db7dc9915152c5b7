import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { moveDatabase } from '../../server/cli/move-database.ts'
import { connectClient } from '../../server/store/postgres/pool.ts'
import { prepareDatabase } from '../../server/store/postgres/prepare-database.ts'
import { createSession } from '../../server/store/postgres/session.ts'
import { openPostgresStore } from '../../server/store/postgres.ts'
import { movedTables } from '../../server/store/transfer/copy.ts'
import { runCommand } from '../support/command.ts'
import { dataRoot } from '../support/data-root.ts'
import { newDatabase, type TestDatabase } from '../support/postgres.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { makeEveryRow } from './every-row.ts'

let made: string
beforeAll(async () => {
  made = mkdtempSync(join(dataRoot, 'relayer-every-row-'))
  await makeEveryRow(made)
})
afterAll(() => rmSync(made, { recursive: true, force: true }))

/** The number of messages of a whole run. */
let steps = 0

const counting = ['--import', './test/support/kill-after-query.ts']

/** A copy of the database with every kind of row, and an empty PostgreSQL database. */
async function start() {
  const folder = temporaryFolder()
  for (const name of readdirSync(made)) copyFileSync(join(made, name), join(folder, name))
  const target = await emptyDatabase()
  const file = join(folder, 'relayer.sqlite')
  const move = (settings: Record<string, string> = {}, to = target.url) =>
    runCommand('move-database', ['--from', `sqlite:${file}`, '--to', to], { DATA_DIR: folder, ...settings }, counting)
  /** In this process. */
  const moveHere = (other: Partial<Parameters<typeof moveDatabase>[0]> = {}, to = target.url) =>
    moveDatabase(
      {
        ...{ database: { type: 'sqlite', file }, data_dir: folder },
        ...{ master_key: undefined, key_encryption_key: undefined, vault: undefined },
        ...other,
      },
      to,
    )
  return { folder, file, aside: `${file}.moved`, target, move, moveHere }
}

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await newDatabase()
  onTestFinished(database.drop)
  return database
}

async function connected({ url }: TestDatabase) {
  const client = await connectClient({ url }, { application_name: 'evm-relayer-service move-database' })
  onTestFinished(() => client.end())
  return client
}

/** The rows of all tables of both databases, by table. */
async function bothSides(file: string, target: TestDatabase) {
  const db = new Database(file, { readonly: true })
  const client = await connected(target)
  const tables = await movedTables(db, createSession(client))
  const shown = (row: object) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ]),
    )
  const sides: Record<'sqlite' | 'postgres', Record<string, object[]>> = { sqlite: {}, postgres: {} }
  for (const { name, columns, key } of tables) {
    const text = `SELECT ${columns.map((column) => `"${column.name}"`).join(', ')} FROM ${name} ORDER BY ${key.join(', ')}`
    sides.sqlite[name] = db.prepare<[], object>(text).all().map(shown)
    sides.postgres[name] = (await client.query(text)).rows.map(shown)
  }
  db.close()
  return sides
}

test('moves every row of every table, and the service continues where it was', async () => {
  const { folder, file, aside, target, move, moveHere } = await start()
  const stepsFile = join(file, '..', 'steps')
  const end = await move({ STEPS: stepsFile })
  steps = Number(readFileSync(stepsFile, 'utf8'))
  expect(end).toMatchObject({ code: 0, err: '' })
  expect(end.out).toContain('all nonce counters')
  expect([existsSync(file), existsSync(aside), existsSync(`${file}-wal`)]).toEqual([false, true, false])

  const { sqlite, postgres } = await bothSides(aside, target)
  for (const [table, rows] of Object.entries(sqlite)) {
    expect.soft(rows, `the source has rows in ${table}`).not.toEqual([])
    expect.soft(postgres[table], table).toEqual(rows)
  }

  const client = await connected(target)
  const next = async (table: string) =>
    (await client.query(`SELECT nextval(pg_get_serial_sequence('${table}', 'row_id')) AS id`)).rows[0].id
  const db = new Database(aside, { readonly: true })
  const highest = db.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck()
  // One signer was deleted: its row id is not assigned again.
  for (const table of ['signers', 'relayers', 'networks'])
    expect(await next(table)).toBeGreaterThan(highest.get(table) ?? 0)
  expect(await next('transactions')).toBe((sqlite.transactions ?? []).length + 1)
  db.close()
  // The counts follow again.
  expect((await client.query("SELECT 1 FROM pg_trigger WHERE tgenabled <> 'O'")).rows).toEqual([])

  await client.end()

  const { client: api } = await startTestService({ DATA_DIR: folder, DATABASE_URL: target.url })
  const relayers = await Array.fromAsync(api.all('/api/v1/relayers', {}))
  expect(relayers.length).toBe(sqlite.relayers?.length)
  for (const { id, address } of relayers) {
    const { data: nonce } = await api.get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id: id } })
    const account = sqlite.accounts?.find((row) => 'address' in row && row.address === address)
    expect.soft(nonce.next_nonce, id).toBe((account as { next_nonce: number } | undefined)?.next_nonce ?? 0)
  }
  await api.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: 'demo' }, body: { message: 'Hello' } })
  // The trail of the file comes before that of the server.
  const endOf = (rows: unknown) => (rows as { up_to: number }[] | undefined)?.at(-1)?.up_to ?? 0
  const last = endOf(sqlite.audit)
  const movedEntries = last - endOf(sqlite.audit_checkpoints)
  const { data: entries, pagination } = await api.get('/api/v1/audit', { query: { per_page: 1_000 } })
  expect(pagination.total_items).toBeGreaterThanOrEqual(movedEntries)
  expect(entries.slice(-movedEntries).map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: movedEntries }, (_, index) => last - index),
  )
  await expect(moveHere()).rejects.toThrow(`${aside} is the file of a database that was moved`)
  await expect(startTestService({ DATA_DIR: folder })).rejects.toThrow(
    'was moved to PostgreSQL: set DATABASE_URL to it',
  )
})

test('completes a move after a kill at any point, and moves every row once', async () => {
  expect(steps).toBeGreaterThan(60)

  const { file, aside, target, move, moveHere } = await start()
  // The last messages are COMMIT and ANALYZE. A run that was killed after the COMMIT leaves the file, and the next one renames it.
  const points = [Math.ceil(Math.random() * steps), Math.ceil(steps * 0.6), steps - 2, steps - 1, steps]
  for (const at of points) {
    const end = await move({ KILL_AT: `${at}` })
    if (end.code === 0) break
    expect(end, `killed after message ${at} of ${steps}`).toMatchObject({ code: 'SIGKILL', out: '' })
    expect(existsSync(file)).toBe(true)
  }
  if (existsSync(file)) {
    expect(await moveHere()).toContain('An earlier run has moved all rows.')
  }
  const { sqlite, postgres } = await bothSides(aside, target)
  expect(postgres).toEqual(sqlite)

  // The same file, with one more entry: it was in use since.
  renameSync(aside, file)
  const db = new Database(file)
  db.exec(
    `INSERT INTO audit (up_to, first, entries, hash) SELECT max(up_to) + 1, max(up_to) + 1, '[]', zeroblob(32) FROM audit`,
  )
  db.close()
  await expect(moveHere()).rejects.toThrow('is not empty')
})

test('refuses while a service uses one of the databases, and changes nothing', async () => {
  const { file, target, moveHere } = await start()
  const inUse = new Database(file)
  inUse.exec('SELECT 1 FROM relayers')
  await expect(moveHere()).rejects.toThrow('The database is in use; stop every service')
  inUse.close()

  const world = { now: Date.now, makeId: () => '', checkEvent: () => undefined }
  const store = await openPostgresStore({ url: target.url, max_connections: 4, timeout_ms: 700, allow_weak: [] }, world)
  await expect(moveHere()).rejects.toThrow('A service or another session is connected')
  await store.close()
  const other = await connectClient({ url: `${target.url}&application_name=other` })
  await expect(moveHere()).rejects.toThrow('A service or another session is connected')
  await other.end()
  expect(existsSync(file)).toBe(true)
  const client = await connected(target)
  expect((await client.query('SELECT 1 FROM networks')).rows).toEqual([])
  expect(await moveHere()).toContain('are in PostgreSQL')
})

test('rejects a wrong master key, and rows that another program changed', async () => {
  const { file, target, moveHere } = await start()
  await expect(moveHere({ master_key: Buffer.alloc(32, 1) })).rejects.toThrow('another master key')
  await expect(moveHere({ database: { type: 'sqlite', file: join(file, '..', 'other.sqlite') } })).rejects.toThrow(
    'There is no database',
  )
  const db = new Database(file)
  db.exec("UPDATE relayers SET policies = '{}', paused = 1 WHERE id = 'demo'")
  db.close()
  await expect(moveHere()).rejects.toThrow('Another program changed rows')
  const client = await connected(target)
  expect((await client.query("SELECT 1 FROM pg_tables WHERE tablename = 'relayers'")).rows).toEqual([])
  expect(existsSync(file)).toBe(true)
})

test('takes the target from DATABASE_URL_FILE', async () => {
  const { file, target } = await start()
  const urlFile = join(temporaryFolder(), 'database-url')
  writeFileSync(urlFile, `${target.url}\n`)
  const settings = { DATA_DIR: dirname(file), DATABASE_URL_FILE: urlFile, DATABASE_ALLOW_PLAINTEXT: 'true' }
  const end = await runCommand('move-database', ['--from', `sqlite:${file}`], settings)
  expect(end).toMatchObject({ code: 0, out: expect.stringContaining('are in PostgreSQL'), err: '' })
})

test('shows the password of the URL in no message', async () => {
  const { file, move, moveHere } = await start()
  const unreachable = 'postgres://user:hidden@127.0.0.1:1/database'
  expect(await move({}, unreachable)).toMatchObject({
    ...{ code: 1, out: '' },
    err: 'The command changed nothing.\nPostgreSQL cannot be reached (ECONNREFUSED): nothing listens at the host and port of its URL\n',
  })
  const { err } = await runCommand('move-database', [unreachable], {})
  expect(err).toContain('Usage')
  expect(err).not.toMatch(/hidden|\n\s+at /)
  const fault = await moveHere({}, 'postgres://user:hidden@[/database').catch((error: Error) => `${error.stack}`)
  expect(fault).toContain('cannot be reached')
  expect(fault).not.toContain('hidden')
  expect(existsSync(file)).toBe(true)
})

test('names a table or column that only one database has, and moves nothing', async () => {
  const { file, target, moveHere } = await start()
  await prepareDatabase({ url: target.url, allow_weak: [] })
  const client = await connected(target)
  await client.query('CREATE TABLE novelties (row_id BIGINT PRIMARY KEY); ALTER TABLE relayers ADD COLUMN mood TEXT')
  await expect(moveHere()).rejects.toThrow('novelties.row_id')
  await expect(moveHere()).rejects.toThrow('relayers.mood')
  const db = new Database(file)
  db.exec('ALTER TABLE signers ADD COLUMN colour TEXT')
  db.close()
  await expect(moveHere()).rejects.toThrow('signers.colour')
  expect((await client.query('SELECT 1 FROM networks')).rows).toEqual([])
})
