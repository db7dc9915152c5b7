import { PerformanceObserver } from 'node:perf_hooks'
import { queryObjects } from 'node:v8'
import { expect, onTestFinished, test } from 'vitest'
import { explain } from '../../server/app/start-failure.ts'
import { type Service, startWithDatabase } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { startDatabaseProxy } from '../support/database-proxy.ts'
import { newDatabase } from '../support/postgres.ts'
import { production } from '../support/resources.ts'
import { startTestService, type TestService, temporaryFolder } from '../support/service.ts'

const password = 'hunter2-of-the-database'

/** A new database, and its URL with a password, which the server does not require. */
async function database() {
  const made = await newDatabase()
  onTestFinished(made.drop)
  return { ...made, url: made.url.replace('postgres@', `postgres:${password}@`) }
}

async function answerOf(service: TestService, path: string, body?: object) {
  const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
  const response = await service.raw(path, init)
  return { status: response.status, retry_after: response.headers.get('retry-after'), text: await response.text() }
}

test('answers 503 with Retry-After while the database is down or silent, recovers, and logs no password', async () => {
  const { url } = await database()
  const proxy = await startDatabaseProxy(url)
  onTestFinished(proxy.stop)
  // The time to answer 503 is measured elsewhere; a busy machine must not be taken for a silent database.
  const service = await startTestService({ DATABASE_URL: proxy.url, DATABASE_TIMEOUT_MS: '3000', METRICS_PORT: '0' })
  const sign = () => answerOf(service, '/api/v1/relayers/demo/sign', { message: 'Hello' })
  expect((await sign()).status).toBe(200)
  for (const state of ['closed', 'silent'] as const) {
    await proxy.set(state)
    await expect.poll(async () => (await answerOf(service, '/api/v1/ready')).status).toBe(503)
    expect((await answerOf(service, '/api/v1/health')).status).toBe(200)
    for (const answer of [
      await sign(),
      await answerOf(service, '/api/v1/relayers'),
      await answerOf(service, '/api/v1/relayers/demo/transactions/'),
      await answerOf(service, '/api/v1/relayers/demo/transactions', { to: `0x${'5a'.repeat(20)}`, value: '1' }),
      await answerOf(service, '/api/v1/notifications', { url: 'https://hooks.example.com' }),
    ]) {
      expect(answer).toMatchObject({ status: 503, retry_after: expect.stringMatching(/^\d+$/) })
      expect(answer.text).not.toContain(password)
    }
    await proxy.set('open')
    await expect.poll(async () => (await sign()).status).toBe(200)
    expect((await answerOf(service, '/api/v1/ready')).status).toBe(200)
  }
  const metrics = await (await fetch(service.metrics_url as string)).text()
  await service.close()
  const log = service.logged.join('')
  expect(log).toContain('database down')
  expect(log).toContain('database up')
  expect(log + metrics).not.toContain(password)
})

test('has the entry of a signature in the audit trail once when the answer to its commit is lost', async () => {
  const { url } = await database()
  const proxy = await startDatabaseProxy(url)
  onTestFinished(proxy.stop)
  const service = await startTestService({ DATABASE_URL: proxy.url, DATABASE_TIMEOUT_MS: '3000' })
  let signed = 0
  const sign = async () => {
    const { status } = await answerOf(service, '/api/v1/relayers/demo/sign', { message: 'Hello' })
    if (status === 200) signed += 1
    return status
  }
  // Other work commits too.
  const isLost = async () => {
    proxy.loseCommit()
    await sign()
    return service.logged.join('').includes('audit trail not writable')
  }
  await expect.poll(isLost, { timeout: 10_000 }).toBe(true)
  // Nothing is signed until the entries were written again.
  await expect.poll(sign, { timeout: 10_000 }).toBe(200)
  await service.close()
  const { client } = await startTestService({ DATABASE_URL: url, DATA_DIR: service.data_dir })
  const { pagination } = await client.get('/api/v1/audit', { query: { operation: 'signMessage' } })
  expect(pagination.total_items).toBe(signed)
})

test('does not start when the database is down or may lose acknowledged commits, and gives the reason without the password', async () => {
  const { url, query } = await database()
  const refusal = async (settings: Record<string, string>) => {
    const error = await startTestService(settings).then(() => undefined, String)
    expect(error).not.toContain(password)
    return error
  }
  const nowhere = url.replace(/host=[^&]*/, 'host=%2Fnowhere')
  expect(await refusal({ DATABASE_URL: nowhere })).toMatch(/PostgreSQL cannot be reached \(ENOENT\)/)
  const missing = new URL(url.replace(/@\//, '@localhost/'))
  missing.pathname = '/nowhere'
  expect(await refusal({ DATABASE_URL: missing.href })).toMatch(
    /\(3D000\): it has no database with the name in its URL: create it/,
  )
  const [{ name } = { name: '' }] = await query<{ name: string }>('SELECT current_database() AS name')
  await query(`ALTER DATABASE ${name} SET synchronous_commit = off`)
  const settings = { ...production, DATABASE_URL: url }
  expect(await refusal(settings)).toMatch(/may lose acknowledged commits: synchronous_commit = off/)
  const allowed = await startTestService({ ...settings, DATABASE_ALLOW_WEAK: 'synchronous_commit' })
  expect(allowed.logged.join('')).toContain('PostgreSQL may lose acknowledged commits')
})

test('says that the database is unavailable when it goes down at any moment of the start', async () => {
  const { url } = await database()
  let refused = 0
  for (let messages = 1; ; messages += 2) {
    const proxy = await startDatabaseProxy(url)
    proxy.closeAfter(messages)
    const started = await startTestService({ DATABASE_URL: proxy.url, MASTER_KEY: '5a'.repeat(32) }).catch(
      (error: unknown) => error,
    )
    await proxy.stop()
    if (!(started instanceof Error)) break
    refused += 1
    expect(explain(started)).toMatch(
      /^(?:PostgreSQL cannot be reached \([\w ]+\)(?:: [a-z ]+)?|The database became unavailable\.)$/,
    )
  }
  expect(refused).toBeGreaterThan(10)
})

test('waits for a database that is down, or goes down at some moment of the start, and starts when it is back', async () => {
  const { url } = await database()
  for (const messages of [0, 1, 9, 19, 29]) {
    const proxy = await startDatabaseProxy(url)
    onTestFinished(proxy.stop)
    if (messages === 0) await proxy.set('closed')
    else proxy.closeAfter(messages)
    const config = readConfig({
      ...{ PORT: '0', DATA_DIR: temporaryFolder(), LOG_LEVEL: 'silent' },
      ...{ DATABASE_URL: proxy.url, MASTER_KEY: '5a'.repeat(32) },
    })
    const waits = Promise.withResolvers<unknown>()
    const starting = startWithDatabase(config, new AbortController().signal, waits.resolve)
    expect(explain(await waits.promise)).toMatch(/cannot be reached|became unavailable/)
    proxy.closeAfter(Number.POSITIVE_INFINITY)
    await proxy.set('open')
    const service = (await starting) as Service
    const headers = { Authorization: `Bearer ${service.api_key}` }
    expect((await fetch(`${service.url}/api/v1/relayers/demo`, { headers })).status).toBe(200)
    await service.close()
  }
})

test('keeps nothing of a start that fails because the database is down', async () => {
  const { url } = await database()
  const settings = {
    ...{ DATABASE_URL: url.replace(/host=[^&]*/, 'host=%2Fnowhere'), METRICS_PORT: '0' },
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  }
  /** What watches garbage collections for the metrics. */
  const watching = () => queryObjects(PerformanceObserver, { format: 'count' })
  const before = watching()
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(startTestService(settings)).rejects.toThrow(/cannot be reached/)
  }
  expect(watching()).toBe(before)
})

test('ends the wait for the database when it is stopped', async () => {
  const { url } = await database()
  const config = readConfig({
    PORT: '0',
    DATA_DIR: temporaryFolder(),
    DATABASE_URL: url.replace(/host=[^&]*/, 'host=%2Fnowhere'),
  })
  const stopped = new AbortController()
  const started = startWithDatabase(config, stopped.signal, () => stopped.abort())
  expect(await started).toBeUndefined()
})

test('stops in order while the database is down, and logs the audit entries that it could not write', async () => {
  const { url, query } = await database()
  const proxy = await startDatabaseProxy(url)
  onTestFinished(proxy.stop)
  const service = await startTestService({ DATABASE_URL: proxy.url })
  // The answer of a signature does not wait for its audit entry.
  expect((await answerOf(service, '/api/v1/relayers/demo/sign', { message: 'Hello' })).status).toBe(200)
  await proxy.set('closed')
  await service.close()
  const logged = /"operation":"signMessage".*"msg":"audit entries not written"/.test(service.logged.join(''))
  // On a busy machine, the entry is written before the database goes down.
  const written = await query("SELECT 1 FROM audit WHERE entries LIKE '%signMessage%'")
  expect(written.length).toBe(logged ? 0 : 1)
})
