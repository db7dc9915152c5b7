import { chmodSync, copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import openapi from '../../generated/openapi.json' with { type: 'json' }
import packageJson from '../../package.json' with { type: 'json' }
import { callIdOf } from '../../server/services/sponsored-calls.ts'
import { migrations as postgresMigrations } from '../../server/store/postgres/prepare-database.ts'
import { migrations as sqliteMigrations } from '../../server/store/sqlite/open-database.ts'
import { everyPaymentId } from '../cli/every-row.ts'
import { newDatabase } from '../support/postgres.ts'
import { startTestService, type TestService, temporaryFolder } from '../support/service.ts'

/** A filled database of each release, which make-fixture.ts has written. */
const fixtures = join(import.meta.dirname, 'fixtures')
const versions = readdirSync(fixtures).sort()
/** That of test/support/rig.ts, which filled them. */
const apiKey = 'rig'.repeat(11)
const receiver = `0x${'5a'.repeat(20)}`

const answerId = "transaction_row_id || ' ' || idempotency_key"
const selectAnswers = `SELECT ${answerId} AS id, answer FROM idempotency`

const databases = {
  sqlite: {
    newest: sqliteMigrations,
    async open(version: string, folder: string) {
      const file = join(folder, 'relayer.sqlite')
      writeFileSync(file, gunzipSync(readFileSync(join(fixtures, version, 'relayer.sqlite.gz'))))
      const db = new Database(file)
      const applied = db.prepare<[], { checksum: string }>('SELECT checksum FROM schema_migrations WHERE number = 0')
      const checksum = applied.get()?.checksum
      const answers = db.prepare<[], Answered>(selectAnswers).all()
      const setAnswer = db.prepare(`UPDATE idempotency SET answer = ? WHERE ${answerId} = ?`)
      for (const { id, answer } of answers) setAnswer.run(aged(answer), id)
      db.close()
      return { checksum, settings: { DATABASE_URL: `sqlite:${file}` } }
    },
  },
  postgres: {
    newest: postgresMigrations,
    async open(version: string) {
      const database = await newDatabase()
      onTestFinished(database.drop)
      await database.query(`${gunzipSync(readFileSync(join(fixtures, version, 'postgres.sql.gz')))}`)
      const applied = await database.query<{ checksum: string }>(
        'SELECT checksum FROM schema_migrations WHERE number = 0',
      )
      const answers = await database.query<Answered>(selectAnswers)
      for (const { id, answer } of answers)
        await database.query(
          `UPDATE idempotency SET answer = '${aged(answer).replaceAll("'", "''")}' WHERE ${answerId} = '${id}'`,
        )
      return { checksum: applied[0]?.checksum, settings: { DATABASE_URL: database.url } }
    },
  },
}

interface Answered {
  id: string
  answer: string
}

/** A stored answer as a version would have written it whose transactions have another member, and none that says the speed. */
function aged(answer: string): string {
  const age = (its: { row?: object }) => {
    const { speed: _, ...others } = (its.row ?? its) as { speed?: unknown }
    const row = { ...others, former_member: 'x' }
    return its.row ? { ...its, row } : row
  }
  const stored = JSON.parse(answer)
  return JSON.stringify(Array.isArray(stored) ? stored.map(age) : age(stored))
}

test('this version has a fixture', () => {
  expect(versions, 'run `npm run fixture`, and add its folder').toContain(packageJson.version)
})

for (const version of versions) {
  for (const [name, { newest, open }] of Object.entries(databases)) {
    test(`opens a filled database of ${version} on ${name}, answers every read, repeats answers of an older form, and signs`, async () => {
      const folder = temporaryFolder()
      const { checksum, settings } = await open(version, folder)
      expect(
        checksum,
        `schema.sql of ${name} is not that of ${version}. Until 1.0.0: run \`npm run fixture\`. After it: add a migration instead`,
      ).toBe(newest[0]?.checksum)
      const masterKey = join(folder, 'master-key')
      copyFileSync(join(fixtures, version, 'master-key'), masterKey)
      chmodSync(masterKey, 0o600)
      const service = await startTestService({ DATA_DIR: folder, API_KEY: apiKey, ...settings })

      const answers = await readEverything(service)
      const failed = answers.filter((its) => its.status !== 200 && !mayFail.get(its.status)?.test(its.path))
      expect(failed).toEqual([])
      const unread = reads.filter((template) => !answers.some((its) => its.template === template && its.status !== 404))
      expect(unread).toEqual([])

      await repeats(service)
      const { client } = service
      const path = { relayer_id: 'demo' }
      const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
      expect(data.sig).toMatch(/^0x/)
    })
  }
}

interface Answer {
  template: string
  path: string
  status: number
  code?: string
}

/** All reads of the contract but streams. */
const reads = Object.entries(openapi.paths).flatMap(([path, its]) =>
  'get' in its && !path.endsWith('/events') ? path : [],
)
/** What some relayers and pools do not have, and what is asked of the chain. */
const mayFail = new Map([
  [404, /\/funding$|\/by-nonce\/0$/],
  [503, /\/balance$/],
])

/** Each read is called for each thing that the list before its parameter shows; the contract is checked for each answer. */
async function readEverything({ raw, client }: TestService): Promise<Answer[]> {
  const transactions = await Array.fromAsync(client.all('/api/v1/transactions', {}))
  const calls = transactions.flatMap(({ id, data }) => (data === '0x12345678' ? callIdOf(id) : []))
  /** Parameters that no list names. */
  const known: Record<string, string[]> = {
    nonce: ['0'],
    user: [receiver],
    call_id: calls,
    payment: [await everyPaymentId()],
  }
  const answers: Answer[] = []
  const listed = new Map<string, Promise<string[]>>()
  const idsOf = (list: string) => {
    const ids = listed.get(list) ?? readIds(list)
    listed.set(list, ids)
    return ids
  }
  async function readIds(list: string): Promise<string[]> {
    const path = list.replace(/(\/relayers\/[^/]+\/transactions)$/, '$1/')
    const { data } = (await (await raw(`${path}?per_page=1000`)).json()) as { data: { id: string }[] }
    return data.map(({ id }) => id)
  }
  async function fill(path: string): Promise<string[]> {
    const [found, list = '', name = ''] = /^(.*?)\/\{(\w+)\}/.exec(path) ?? []
    if (found === undefined) return [path]
    const values = known[name] ?? (await idsOf(list))
    const filled = await Promise.all(values.map((value) => fill(path.replace(`{${name}}`, encodeURIComponent(value)))))
    return filled.flat()
  }
  for (const template of reads) {
    for (const path of await fill(template)) {
      const response = await raw(template.endsWith('/search') ? `${path}?q=token` : path)
      const { code } = (await response.json()) as { code?: string }
      answers.push({ template, path, status: response.status, ...(code && { code }) })
    }
  }
  return answers
}

/** Requests of the release with its idempotency keys are answered as they were. */
async function repeats({ client }: TestService): Promise<void> {
  const all = await Array.fromAsync(client.all('/api/v1/transactions', {}))
  const first = all.find(({ value }) => value === '77')
  const path = { relayer_id: first?.relayer_id as string }
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path,
    header: { 'Idempotency-Key': 'known' },
    body: {
      ...{ to: receiver, value: '77', data: '0x1234', gas_limit: 60_000 },
      ...{ metadata: { order: '7' }, deduplication_id: 'every row' },
    },
  })
  expect(data.id).toBe(first?.id)
  const { data: batch } = await client.post('/api/v1/relayers/{relayer_id}/transactions/batch', {
    path,
    header: { 'Idempotency-Key': 'known-batch' },
    body: { transactions: [{ to: receiver, value: '78' }] },
  })
  expect(batch.map(({ id }) => id)).toEqual(all.flatMap(({ id, value }) => (value === '78' ? id : [])))
}
