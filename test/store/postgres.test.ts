import { inspect } from 'node:util'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../server/domain/errors.ts'
import type { PendingAuditEntry } from '../../server/domain/rows.ts'
import { type ConnectionSettings, connect } from '../../server/store/postgres/connection.ts'
import { migrations } from '../../server/store/postgres/prepare-database.ts'
import { DatabaseDown, oneByOne, sql } from '../../server/store/queries/database.ts'
import { LeaseLost } from '../../server/store/worker.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { newDatabase as createDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'

/** Creates a database that is dropped after the test. Resolves to its URL. */
async function newDatabase(): Promise<string> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  return url
}

const settingsOf = (url: string): ConnectionSettings => ({
  url,
  max_connections: 4,
  timeout_ms: 10_000,
  allow_weak: [],
})

async function connected(url?: string) {
  const its = url ?? (await newDatabase())
  const connection = await connect(settingsOf(its))
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= connection.close()
    return closed
  }
  onTestFinished(close)
  return { ...connection, close, url: its }
}

/** A connection of the test's own. */
async function client(url: string) {
  const its = new pg.Client({ connectionString: url })
  // Its database may be dropped before it ends.
  its.on('error', () => undefined)
  await its.connect()
  onTestFinished(() => its.end())
  return its
}

/** Resolves when a statement of the database has waited for a lock so long. */
async function waiting(url: string, ms = 0) {
  const its = await client(url)
  await until('a statement waits for a lock', async () => {
    const { rows } = await its.query(`
      SELECT 1 FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND clock_timestamp() - query_start > ${ms} * INTERVAL '1 ms'`)
    return rows.length > 0
  })
}

const insertNotification = sql(
  "INSERT INTO notifications (id, type, url) VALUES ($id, 'webhook', 'https://example.com')",
)
const countNotifications = sql<{ count: number }>('SELECT count(*) AS count FROM notifications')

const entry = (operation: string): PendingAuditEntry => ({
  at: 1,
  caller: 'environment',
  operation,
  relayer_id: null,
  subject: null,
  http_status: 200,
  request_id: null,
  recorded: false,
})

describe('startup', () => {
  test('migrates once when servers start at the same time, and all use the database', async () => {
    const url = await newDatabase()
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => connect(settingsOf(url))))
    const ready = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    onTestFinished(async () => {
      for (const connection of ready) await connection.close()
    })
    expect(new Set(ready.map(({ membership }) => membership.row_id)).size).toBe(10)
  })

  test('waits for the migrations of another server longer than for any other statement', async () => {
    const url = await newDatabase()
    const other = await client(url)
    await other.query('BEGIN; SELECT pg_advisory_xact_lock(7243001)')
    const connecting = connected(`${url}&statement_timeout=200&query_timeout=200`)
    await Promise.race([connecting, waiting(url, 500)])
    await other.query('COMMIT')
    await expect(connecting).resolves.toBeDefined()
  })

  test('turns the compilation of statements off, which takes longer than most statements', async () => {
    const { read } = await connected()
    expect(await read.one(sql<{ jit: string }>("SELECT current_setting('jit') AS jit"))).toEqual({ jit: 'off' })
  })

  test('leaves no connection open when the database goes down while a server starts', async () => {
    const url = await newDatabase()
    const before = await connected(url)
    const proxy = await startDatabaseProxy(url)
    onTestFinished(proxy.stop)
    const own = await client(url)
    // The registration of the next server waits.
    await own.query('BEGIN; LOCK TABLE servers IN EXCLUSIVE MODE')
    const connecting = connect(settingsOf(proxy.url))
    // Another of its connections may be opened only after the database is gone.
    const failure = expect(connecting).rejects.toSatisfy(
      (error) => error instanceof StoreUnavailable || error instanceof DatabaseDown,
    )
    await waiting(url)
    await proxy.set('closed')
    await failure
    await own.query('ROLLBACK')
    await proxy.set('open')
    const opened = proxy.opened()
    await before.read.one(sql('SELECT pg_sleep(0.5)'))
    expect(proxy.opened()).toBe(opened)
  })

  test('refuses a database of a newer version unless it still supports this one', async () => {
    const { url, close } = await connected()
    await close()
    const own = await client(url)
    await own.query("INSERT INTO schema_migrations VALUES ($1, '', $1)", [migrations.length])
    await expect(connect(settingsOf(url))).rejects.toThrow(/has migration \d+ .*newer version/)
    await own.query('UPDATE schema_migrations SET oldest_server = 0')
    await expect(connected(url)).resolves.toBeDefined()
  })

  test('refuses a database of version 0, and one whose schema has another text now', async () => {
    const { url, close } = await connected()
    await close()
    const own = await client(url)
    await own.query("UPDATE schema_migrations SET checksum = '' WHERE number = 0")
    await expect(connect(settingsOf(url))).rejects.toThrow(/its schema\.sql has another text/)
    await own.query('CREATE TABLE schema_version (id INTEGER)')
    await expect(connect(settingsOf(url))).rejects.toThrow(/Version 0 wrote the database/)
  })

  test('refuses a setting that weakens durability by name, or allows it by name', async () => {
    const url = await newDatabase()
    const own = await client(url)
    await own.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
    await expect(connect(settingsOf(url))).rejects.toThrow('synchronous_commit = off')
    const { warnings, close } = await connect({ ...settingsOf(url), allow_weak: ['synchronous_commit'] })
    await close()
    expect(warnings).toEqual(['synchronous_commit = off'])
  })

  test('shows the URL in no error', async () => {
    const failure = connect(settingsOf('postgres://someone:secret@127.0.0.1:1/nothing'))
    await expect(failure).rejects.toThrow('PostgreSQL cannot be reached (ECONNREFUSED)')
    await expect(failure).rejects.not.toThrow(/secret/)
  })
})

describe('database transactions', () => {
  test('rolls back after an error, and keeps the generation and the audit trail', async () => {
    const { writeCached, generation, read, auditHead } = await connected()
    const before = await generation()
    const auditEntry = entry('createNotification')
    const failing = writeCached(async (dbTransaction) => {
      await dbTransaction.run(insertNotification, { id: 'a' })
      throw new Error('after the insert')
    }, auditEntry)
    await expect(failing).rejects.toThrow('after the insert')
    expect(await read.one(countNotifications)).toEqual({ count: 0 })
    expect([await generation(), (await auditHead()).up_to, auditEntry.recorded]).toEqual([before, 0, false])
  })

  test('moves the generation and adds the audit entry with a change, and neither with a refused one', async () => {
    const { writeCached, generation, auditHead } = await connected()
    const before = await generation()
    const [refused, accepted] = [entry('refused'), entry('accepted')]
    await writeCached(async () => 'refused', refused)
    expect([await generation(), (await auditHead()).up_to, refused.recorded]).toEqual([before, 0, false])
    await writeCached((dbTransaction) => dbTransaction.run(insertNotification, { id: 'a' }), accepted)
    expect([await generation(), (await auditHead()).up_to, accepted.recorded]).toEqual([before + 1, 1, true])
  })

  test('repeats a single statement that was in a deadlock', async () => {
    const { write, read, url } = await connected()
    for (const id of ['a', 'b']) await write((dbTransaction) => dbTransaction.run(insertNotification, { id }))
    const other = await client(url)
    const lock = (id: string) => `SELECT FROM notifications WHERE id = '${id}' FOR UPDATE`
    // PostgreSQL aborts the transaction whose own deadlock_timeout has passed first.
    await other.query(`SET deadlock_timeout = '1min'; BEGIN; ${lock('a')}`)
    const rename = sql(`
      UPDATE notifications SET url = 'https://example.com/new' WHERE id IN (
        SELECT id FROM notifications ORDER BY id DESC FOR UPDATE)`)
    const renaming = read.run(rename)
    await waiting(url)
    await other.query(lock('b'))
    await other.query('COMMIT')
    expect(await renaming).toBe(2)
  })

  test('repeats a deadlocked database transaction as a whole, and runs the steps after its commit once', async () => {
    const { write, read } = await connected()
    for (const id of ['a', 'b']) await write((dbTransaction) => dbTransaction.run(insertNotification, { id }))
    const rename = sql('UPDATE notifications SET url = url || $by WHERE id = $id')
    const both = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() }
    let committed = 0
    const cross = (by: string, ids: [string, string], mine: PromiseWithResolvers<void>, theirs: Promise<void>) =>
      write(async (dbTransaction) => {
        dbTransaction.afterCommit(() => {
          committed += 1
        })
        await dbTransaction.run(rename, { by, id: ids[0] })
        mine.resolve()
        await theirs
        await dbTransaction.run(rename, { by, id: ids[1] })
      })
    await Promise.all([
      cross('x', ['a', 'b'], both.first, both.second.promise),
      cross('y', ['b', 'a'], both.second, both.first.promise),
    ])
    expect(committed).toBe(2)
    const urls = await read.all(sql<{ url: string }>('SELECT url FROM notifications'))
    expect(urls.map(({ url }) => [...url.slice(-2)].sort().join(''))).toEqual(['xy', 'xy'])
  })

  test('changes nothing without its lease, and ends before a takeover with it', async () => {
    const { write, fences, membership, url, read } = await connected()
    const own = await client(url)
    const { rows } = await own.query<{ token: string }>(
      "INSERT INTO work_leases (kind, row_id, server_row_id) VALUES ('sender', 7, $1) RETURNING token",
      [membership.row_id],
    )
    const token = Number(rows[0]?.token)
    const insert = (id: string, its = token) =>
      fences.run({ kind: 'sender', row_id: 7, token: its }, () =>
        write((dbTransaction) => dbTransaction.run(insertNotification, { id })),
      )
    await insert('a')
    await expect(insert('b', token - 1)).rejects.toThrow(LeaseLost)

    const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const writing = fences.run({ kind: 'sender', row_id: 7, token }, () =>
      write(async (dbTransaction) => {
        await dbTransaction.run(insertNotification, { id: 'c' })
        begun.resolve()
        await mayEnd.promise
      }),
    )
    await begun.promise
    let isTaken = false
    const taking = own.query("DELETE FROM work_leases WHERE kind = 'sender'").then(() => {
      isTaken = true
    })
    const waits = sql<{ waits: boolean }>('SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted) AS waits')
    await expect.poll(() => read.one(waits)).toEqual({ waits: true })
    expect(isTaken).toBe(false)
    mayEnd.resolve()
    await Promise.all([writing, taking])
    await expect(insert('d')).rejects.toThrow(LeaseLost)
    expect(await read.one(countNotifications)).toEqual({ count: 2 })
  })

  test('answers 503 with Retry-After after the loss of the connection, and uses another one next', async () => {
    const { write, read, url } = await connected()
    const own = await client(url)
    const failing = write(async (dbTransaction) => {
      await dbTransaction.run(insertNotification, { id: 'a' })
      await own.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")
      await dbTransaction.run(insertNotification, { id: 'b' })
    })
    await expect(failing).rejects.toMatchObject({ code: 'unavailable', data: { retry_after_s: 1 } })
    await write((dbTransaction) => dbTransaction.run(insertNotification, { id: 'c' }))
    expect(await read.one(countNotifications)).toEqual({ count: 1 })
  })

  test('changes whose COMMIT is not answered are 503, and are not made again', async () => {
    const direct = await connected()
    await direct.read.run(sql('CREATE TABLE numbers (number integer)'))
    const proxy = await startDatabaseProxy(direct.url)
    onTestFinished(proxy.stop)
    const connection = await connected(proxy.url)
    const insert = sql('INSERT INTO numbers VALUES ($number)')
    const change = oneByOne(
      () => ({}),
      (dbTransaction, number: number) => dbTransaction.run(insert, { number }),
    )
    const add = (number: number) => connection.groupCommit(change, number)
    proxy.loseCommit()
    const answers = await Promise.allSettled([add(1), add(2)])
    expect(answers).toMatchObject([1, 2].map(() => ({ status: 'rejected', reason: { code: 'outcome_unknown' } })))
    await add(3)
    const numbers = await direct.read.all(sql<{ number: number }>('SELECT number FROM numbers ORDER BY number'))
    expect(numbers.map(({ number }) => number)).toEqual([1, 2, 3])
  })

  test('commits requests before background work, of which one commit has a limited amount', async () => {
    const { fences, membership, url, read, groupCommit } = await connected()
    const own = await client(url)
    await own.query('CREATE TABLE numbers (number integer, made_in bigint DEFAULT txid_current())')
    await own.query('INSERT INTO numbers VALUES (0)')
    const { rows } = await own.query<{ token: string }>(
      "INSERT INTO work_leases (kind, row_id, server_row_id) VALUES ('sender', 7, $1) RETURNING token",
      [membership.row_id],
    )
    const token = Number(rows[0]?.token)
    const insert = sql(
      'INSERT INTO numbers SELECT $number FROM (SELECT 1 FROM numbers WHERE number = 0 FOR UPDATE) AS first',
    )
    const change = oneByOne(
      ({ rows }: { number: number; rows: number }) => ({ transactions: Array<number>(rows).fill(0) }),
      (dbTransaction, { number }) => dbTransaction.run(insert, { number }),
    )
    const add = (its: { number: number; rows: number }) => groupCommit(change, its)
    const inBackground = (number: number) =>
      fences.run({ kind: 'sender', row_id: 7, token }, () => add({ number, rows: 100 }))

    await own.query('BEGIN; SELECT 1 FROM numbers WHERE number = 0 FOR UPDATE')
    const first = inBackground(1)
    const waits = sql<{ waits: boolean }>('SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted) AS waits')
    await expect.poll(() => read.one(waits), { interval: 2 }).toEqual({ waits: true })
    const others = [inBackground(2), inBackground(3), inBackground(4), add({ number: 5, rows: 1 })]
    await own.query('COMMIT')
    await Promise.all([first, ...others])
    const made = await read.all(
      sql<{ numbers: number[] }>(`
        SELECT json_agg(number ORDER BY number) AS numbers FROM numbers WHERE number > 0 GROUP BY made_in ORDER BY made_in`),
    )
    expect(made.map(({ numbers }) => numbers)).toEqual([[1], [5], [2, 3], [4]])
  })

  test('quotes no value of a row in an error', async () => {
    const { write } = await connected()
    const secret = sql(
      "INSERT INTO notifications (id, type, url) VALUES ('a', 'webhook', $url), (NULL, 'webhook', $url)",
    )
    const error = await write((dbTransaction) =>
      dbTransaction.run(secret, { url: 'https://hooks.example.com/token' }),
    ).catch((its) => its)
    expect(error).toMatchObject({ code: '23502' })
    expect(inspect(error)).not.toContain('token')
  })

  test('makes one audit chain of concurrent database transactions', async () => {
    const { write, read, auditHead } = await connected()
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        write(
          (dbTransaction) => dbTransaction.run(insertNotification, { id: `n${index}` }),
          entry(`operation ${index}`),
        ),
      ),
    )
    expect((await auditHead()).up_to).toBe(20)
    const batches = await read.all(
      sql<{ first: number; up_to: number }>('SELECT first, up_to FROM audit ORDER BY up_to'),
    )
    expect(batches).toEqual(Array.from({ length: 20 }, (_, index) => ({ first: index + 1, up_to: index + 1 })))
  })
})
