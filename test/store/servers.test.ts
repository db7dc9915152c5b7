import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { RightsFault } from '../../server/domain/rows.ts'
import { Vault } from '../../server/keys/secret-encryption.ts'
import { connectClient } from '../../server/store/postgres/pool.ts'
import { openPostgresStore } from '../../server/store/postgres.ts'
import { UnknownOutcome } from '../../server/store/queries/database.ts'
import type { Signal, Store } from '../../server/store/store.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../support/database-proxy.ts'
import { newDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { newTransaction } from './conformance/relayers.ts'
import { addRelayer, apiKeyOf, unique } from './conformance/resources.ts'

// Two servers on one PostgreSQL database; the first reaches it through a network that fails.

const guard = new Vault(Buffer.alloc(32, 1))
const unavailable = expect.objectContaining({ code: 'unavailable', data: { retry_after_s: 1 } })
const faults: RightsFault[] = []

let database: TestDatabase
let network: DatabaseProxy
let here: Store
let there: Store

async function open(url: string): Promise<Store> {
  let ids = 0
  const prefix = unique('made')
  const store = await openPostgresStore(
    { url, max_connections: 5, timeout_ms: 1_000, allow_weak: [] },
    {
      now: Date.now,
      makeId() {
        ids += 1
        return `${prefix}-${ids}`
      },
      checkEvent: () => undefined,
    },
  )
  const sealed = guard.seal(Buffer.from('proof'), 'vault_check')
  await store.protect(
    (known) => ({ guard, is_protected: known !== undefined, sealed, wrapped: null }),
    (fault) => faults.push(fault),
  )
  return store
}

beforeAll(async () => {
  database = await newDatabase()
  network = await startDatabaseProxy(database.url)
  here = await open(network.url)
  there = await open(database.url)
})

afterAll(async () => {
  await Promise.all([here, there].map((store) => store?.close()))
  await network?.stop()
  await database?.drop()
})

/** The signals that a store receives from now on, as text. */
function heardBy(store: Store): string[] {
  const heard: string[] = []
  store.subscribe((signal: Signal | undefined) => {
    heard.push(
      signal === undefined
        ? 'all'
        : 'relayer_row_id' in signal
          ? `${signal.kind} ${signal.relayer_row_id}`
          : signal.kind,
    )
  })
  return heard
}

describe('the generation', () => {
  test('sees each change of one server at the next read of the other', async () => {
    const { id } = await addRelayer({ store: there })
    for (let paused = 0; paused < 50; paused += 1) {
      const before = await here.generation()
      await there.updateRelayer(id, (its) => ({ ...its, paused: paused % 2 === 0 }))
      expect(await here.generation()).toBeGreaterThan(before)
      expect((await here.getRelayer(id))?.paused).toBe(paused % 2 === 0)
    }
    const before = await here.generation()
    expect(await here.generation()).toBe(before)
  })

  test('treats a number that decreases, as after a restored backup, as a change', async () => {
    const client = await connectClient({ url: database.url })
    onTestFinished(() => client.end())
    const before = await here.generation()
    await client.query('UPDATE generation SET value = value - 1')
    expect(await here.generation()).toBeGreaterThan(before)
  })
})

describe('rows that grant rights', () => {
  test('trusts changes of both servers at once', async () => {
    const { id } = await addRelayer({ store: there })
    const key = unique('key')
    await here.createApiKey(apiKeyOf(key, { relayer_ids: [id] }))
    for (let round = 0; round < 20; round += 1) {
      const [one, other] = round % 2 === 0 ? [here, there] : [there, here]
      await Promise.all([
        one.updateRelayer(id, (its) => ({ ...its, name: `Round ${round}` })),
        other.updateApiKey(key, { name: `Round ${round}` }),
        one.getRelayer(id),
        other.getRelayer(id),
        other.apiKeys(),
      ])
      expect([(await one.getRelayer(id))?.name, (await other.getRelayer(id))?.name]).toEqual([
        `Round ${round}`,
        `Round ${round}`,
      ])
    }
    await there.deleteRelayer(id)
    expect(await here.getRelayer(id)).toBeUndefined()
    expect((await here.apiKeys()).find((its) => its.id === key)).toMatchObject({ relayer_ids: [] })
    expect(faults).toEqual([])
  })
})

describe('signals', () => {
  test('reach the other server, and not their sender', async () => {
    const [mine, theirs] = [heardBy(here), heardBy(there)]
    here.tell({ kind: 'work', relayer_row_id: 7 })
    here.tell({ kind: 'resend', relayer_row_id: 8 })
    await until('the signals are heard', () => theirs.includes('changed'))
    expect(theirs).toEqual(['work 7', 'resend 8', 'changed'])
    expect(mine).toEqual([])
  })

  test('arrive by the thousands', async () => {
    const heard = heardBy(there)
    for (let rowId = 1; rowId <= 2_000; rowId += 1) here.tell({ kind: 'work', relayer_row_id: rowId })
    await until('all are heard', () => new Set(heard).size === 2_001)
  })

  test('listens again after a lost connection, and reports that signals may be missing', async () => {
    const heard = heardBy(here)
    const version = here.version()
    await network.set('closed')
    await network.set('open')
    await until('everything is looked at', () => heard.includes('all'))
    expect(here.version()).toBeGreaterThan(version)
    there.tell({ kind: 'work', relayer_row_id: 9 })
    await until('a signal is heard again', () => heard.includes('work 9'))
  })
})

describe('the database down', () => {
  test.each(['closed', 'silent'] as const)('%s: refuses all calls with 503, and recovers', async (state) => {
    const { id } = await addRelayer({ store: here })
    await network.set(state)
    const refused = await Promise.allSettled([
      here.generation(),
      here.getRelayer(id),
      here.ping(),
      here.updateRelayer(id, (its) => ({ ...its, name: 'Away' })),
    ])
    expect(refused).toEqual(refused.map(() => ({ status: 'rejected', reason: unavailable })))
    // The other server is not concerned.
    expect(await there.getRelayer(id)).toMatchObject({ id })
    await there.updateRelayer(id, (its) => ({ ...its, paused: true }))
    await network.set('open')
    await until('the store answers', () =>
      here.getRelayer(id).then(
        (its) => its?.paused === true,
        () => false,
      ),
    )
    expect(await here.updateRelayer(id, (its) => ({ ...its, paused: false }))).toMatchObject({ paused: false })
  })

  test('treats a read-only database as down', async () => {
    const client = await connectClient({ url: database.url })
    onTestFinished(() => client.end())
    const name = new URL(database.url).pathname.slice(1)
    await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    // The setting holds for new connections.
    await network.set('closed')
    await network.set('open')
    await until('reads are refused', () =>
      here.ping().then(
        () => false,
        () => true,
      ),
    )
    await expect(here.generation()).rejects.toEqual(unavailable)
    await client.query('SET default_transaction_read_only = off')
    await client.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
    await until('reads are answered', () =>
      here.ping().then(
        () => true,
        () => false,
      ),
    )
  })
})

describe('a commit whose answer is lost', () => {
  test('is not repeated: each of its requests returns that the outcome is unknown, and its idempotency key returns the outcome', async () => {
    const relayer = await addRelayer({ store: here })
    const accept = (key?: string) => {
      const idempotency = key === undefined ? {} : { idempotency: { caller: 'me', key, body_hash: 'same' } }
      return here.createTransaction(newTransaction(relayer, unique('transaction'), idempotency))
    }
    network.loseCommit()
    const answers = await Promise.allSettled([accept(), accept('mine'), accept()])
    expect(answers).toEqual(answers.map(() => ({ status: 'rejected', reason: expect.any(UnknownOutcome) })))
    expect(await there.countUnfinished(relayer.row_id)).toBe(3)
    expect(await accept('mine')).toMatchObject({ outcome: 'replayed', transaction: { nonce: 1 } })
  })

  test('leaves the entries of the audit trail in it once when they are written again', async () => {
    const operation = unique('operation')
    const entry = {
      at: 0,
      caller: 'me',
      operation,
      relayer_id: null,
      subject: null,
      http_status: 200,
      request_id: null,
    }
    const entries = [entry, { ...entry, http_status: 201 }]
    const results = async () =>
      (await there.listAudit({ offset: 0, limit: 9 }, { operation })).items.map((it) => it.http_status)
    network.loseCommit()
    await expect(here.appendAudit(entries)).rejects.toThrow(UnknownOutcome)
    expect(await results()).toEqual([201, 200])
    // Another commit of the same chain follows before the repetition.
    await here.appendAudit([{ ...entry, operation: 'another' }])
    await here.appendAudit(entries)
    expect(await results()).toEqual([201, 200])
    await here.appendAudit(entries)
    expect(await results()).toEqual([201, 200, 201, 200])
  })

  test('is no failure that may be repeated: the response has no Retry-After', async () => {
    const { id } = await addRelayer({ store: here })
    network.loseCommit()
    const change = here.updateRelayer(id, (its) => ({ ...its, name: 'Changed' }))
    await expect(change).rejects.toMatchObject({ code: 'outcome_unknown', data: {}, faults: [{ of: 'store' }] })
    expect(await there.getRelayer(id)).toMatchObject({ name: 'Changed' })
  })
})

test('accepts one transaction with a deduplication_id, also by two relayers on two servers at once', async () => {
  const [one, other] = [await addRelayer({ store: here }), await addRelayer({ store: there })]
  for (let round = 0; round < 20; round += 1) {
    const its = { deduplication_id: unique('id') }
    const answers = await Promise.all([
      here.createTransaction(newTransaction(one, unique('transaction'), its)),
      there.createTransaction(newTransaction({ ...other, chain_id: one.chain_id }, unique('transaction'), its)),
    ])
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['already_sent', 'created'])
  }
})

test('accepts one unfinished transaction with an exclusive key, also by two relayers on two servers at once', async () => {
  const [one, other] = [await addRelayer({ store: here }), await addRelayer({ store: there })]
  const sponsored = { sponsorship_row_id: 1, user: null, charge: '1', holders: [], exclusive_key: '' }
  for (let round = 0; round < 20; round += 1) {
    const its = { sponsored: { ...sponsored, exclusive_key: unique('key') } }
    const answers = await Promise.all([
      here.createTransaction(newTransaction(one, unique('transaction'), its)),
      there.createTransaction(newTransaction({ ...other, chain_id: one.chain_id }, unique('transaction'), its)),
    ])
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['created', 'exclusive_key_taken'])
  }
})
