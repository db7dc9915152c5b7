import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { hashMessage } from 'ethers'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRelayerClient } from '../../../client/index.ts'
import { checkAudit } from '../../../server/store/sqlite/audit.ts'
import { testChain } from '../../support/chain.ts'
import { operations, parametersIn } from '../../support/contract.ts'
import { nodeEnvironment } from '../../support/node-environment.ts'
import { spawnService } from '../../support/process.ts'
import { json, rawRequest } from '../../support/raw-http.ts'
import { startTestService, type TestService, temporaryFolder } from '../../support/service.ts'
import { testRig } from '../../support/test-rig.ts'

const demo = { path: { relayer_id: 'demo' } }
const audit = '/api/v1/audit'
const hex = '11'.repeat(32)

const entries = async (service: TestService, query = {}) => {
  const { data } = await service.client.get(audit, { query: { per_page: 1_000, ...query } })
  return data.toReversed()
}
const sign = (service: TestService, message = 'a') =>
  service.client.post('/api/v1/relayers/{relayer_id}/sign', { ...demo, body: { message } })

/** Until the last batch is written. */
const settled = (service: TestService, count: number) =>
  expect.poll(async () => (await entries(service)).length).toBe(count)

test('returns the head of the trail that the verification computes', async () => {
  const service = await startTestService()
  for (const message of ['a', 'b']) await sign(service, message)
  await settled(service, 2)
  const db = new Database(join(service.data_dir, 'relayer.sqlite'), { readonly: true })
  const { head } = checkAudit(db)
  db.close()
  const { data } = await service.client.get('/api/v1/audit/head')
  const hash = Buffer.from(head.hash).toString('hex')
  expect(data).toEqual({ entries_count: 2, hash, chains: [{ chain: 1, last_sequence: 2, hash }] })
})

describe('recorded entries', () => {
  test('records a signature with caller, operation, digest and request id, and without the text', async () => {
    const service = await startTestService()
    const message = 'the text that nobody may read here'
    const answer = await service.raw('/api/v1/relayers/demo/sign', {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${service.api_key}`,
        'Content-Type': 'application/json',
        'X-Request-Id': 'mine-1',
      },
      body: JSON.stringify({ message }),
    })
    expect(answer.status).toBe(200)
    const body = { domain_separator: hex, hash_struct_message: hex }
    await service.client.post('/api/v1/relayers/{relayer_id}/sign-typed-data', { ...demo, body })
    await settled(service, 2)
    const [first, second] = await entries(service)
    expect(first).toEqual({
      chain: 1,
      sequence: 1,
      created_at: expect.stringMatching(/Z$/),
      caller: 'environment',
      caller_name: null,
      operation: 'signMessage',
      relayer_id: 'demo',
      subject: hashMessage(message),
      subject_name: null,
      http_status: 200,
      request_id: 'mine-1',
      key_request_id: null,
      count: 1,
      failure: null,
      changes: [],
    })
    expect(second).toMatchObject({
      operation: 'signTypedDataHashes',
      subject: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(JSON.stringify([first, second])).not.toContain('nobody')
  })

  test('names an API key also after its revocation', async () => {
    const service = await startTestService()
    const { client } = service
    const { data: key } = await client.post('/api/v1/api-keys', { body: { name: 'payer', scopes: ['manage'] } })
    const own = createRelayerClient({ baseUrl: service.url, token: key.token })
    await own.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { name: 'Demo' } })
    await client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: key.api_key.id } })
    const { data } = await client.get('/api/v1/audit', { query: { operation: 'updateRelayer' } })
    expect(data).toMatchObject([{ caller: key.api_key.id, caller_name: 'payer' }])
  })

  test('names a transaction by its reference, or else by its relayer and nonce', async () => {
    const rig = await testRig()
    const account = await rig.addAccount()
    await account.send(1, { reference: 'order-7' })
    await account.send(1)
    const { data } = await rig.client().get('/api/v1/audit', { query: { relayer_id: account.relayer_id } })
    expect(data.filter(({ operation }) => operation === 'sendTransaction').map((its) => its.subject_name)).toEqual([
      `${account.relayer_id} · nonce 1`,
      'order-7',
    ])
  })

  test('says what a change changed, member by member, before and after, and masks secrets', async () => {
    const service = await startTestService()
    const { client } = service
    const url = 'https://hooks.example.com/token-of-a-hook'
    await client.post('/api/v1/notifications', { body: { id: 'hook', url, signing_key: 'the first key of a hook' } })
    await client.patch('/api/v1/notifications/{notification_id}', {
      path: { notification_id: 'hook' },
      body: { url: `${url}-2`, signing_key: 'the next key of a hook' },
    })
    const change = (body: object) =>
      client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body, header: { 'If-Match': '*' } } as never)
    await change({ policies: { max_value: '5', allow_messages: false } })
    await change({ policies: { max_value: '6' }, paused: true })
    // Refused: it changes nothing.
    await expect(change({ paused: false, notification_id: 'nowhere' })).rejects.toThrow()
    await client.patch('/api/v1/networks/{network_id}', {
      path: { network_id: 'evm:local' },
      body: { rpc_urls: ['https://node.example.com/v3/key-of-a-node'] },
      header: { 'If-Match': '*' },
    } as never)
    const { data } = await client.get('/api/v1/audit', { query: { per_page: 100 } })
    const changes = data.toReversed().map((entry) => entry.changes.map((its) => [its.member, its.before, its.after]))
    expect(changes.filter((its) => its.length > 0)).toEqual([
      [
        ['url', '"https://hooks.example.com/***"', '"https://hooks.example.com/***"'],
        ['signing_key', '"***"', '"***"'],
      ],
      [
        ['policies.max_value', null, '"5"'],
        ['policies.allow_messages', null, 'false'],
      ],
      [
        ['paused', 'false', 'true'],
        ['policies.max_value', '"5"', '"6"'],
      ],
      [['rpc_urls', expect.any(String), '[{"url":"https://node.example.com/***","weight":100}]']],
    ])
    expect(JSON.stringify(data)).not.toMatch(/token-of|key of a hook|key-of-a-node/)
  })

  test('records every operation that changes something, once, whether it succeeds or is refused', async () => {
    const service = await startTestService({ RATE_LIMIT_BURST: '10000' })
    // What the JSON-RPC endpoints do is recorded as the operation that they carry out (sponsorships/json-rpc.test.ts).
    const writing = operations.filter(({ audited }) => audited !== undefined && audited !== 'none')
    for (const operation of writing) {
      const path = parametersIn(operation, 'path').reduce(
        (filled, { name }) => filled.replace(`{${name}}`, name === 'relayer_id' ? 'demo' : 'none'),
        operation.path,
      )
      const [example] = operation.examples
      const headers = {
        Authorization: `Bearer ${service.api_key}`,
        'Content-Type': 'application/json',
        'X-Request-Id': operation.id,
      }
      const answer = await service.raw(path, {
        method: operation.method,
        headers,
        ...(example !== undefined && { body: JSON.stringify(example) }),
      })
      await answer.text()
      const found = async () =>
        (await entries(service, { operation: operation.id })).filter(({ request_id }) => request_id === operation.id)
      await expect.poll(async () => (await found()).length, { message: operation.id }).toBe(1)
      expect
        .soft(await found(), operation.id)
        .toMatchObject([{ http_status: answer.status, request_id: operation.id, caller: 'environment' }])
    }
    const read = operations.filter((operation) => !writing.includes(operation))
    for (const { id } of read) expect.soft(await entries(service, { operation: id }), id).toEqual([])
  })

  test('records a refusal by a policy or a pause with its status', async () => {
    const service = await startTestService()
    await service.client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused: true } })
    await expect(sign(service)).rejects.toMatchObject({ status: 403 })
    await settled(service, 2)
    expect(await entries(service)).toMatchObject([
      { operation: 'updateRelayer', relayer_id: 'demo', http_status: 200 },
      { operation: 'signMessage', relayer_id: 'demo', http_status: 403 },
    ])
  })

  test('records a transaction, and each signature for it, in the same commits as their changes', async () => {
    const chain = await testChain()
    const service = await startTestService()
    const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [chain.url] } }
    await service.client.patch('/api/v1/networks/{network_id}', network)
    const { data: relayer } = await service.client.get('/api/v1/relayers/{relayer_id}', demo)
    await chain.setBalance(relayer.address, 10n ** 20n)
    const send = () =>
      service.client.post('/api/v1/relayers/{relayer_id}/transactions', {
        ...demo,
        query: { wait: 'confirmed' },
        header: { 'Idempotency-Key': 'once' },
        body: { to: relayer.address, value: '1' },
      })
    const { data } = await send()
    expect(await entries(service)).toMatchObject([
      { operation: 'updateNetwork', subject: 'evm:local' },
      { operation: 'sendTransaction', relayer_id: 'demo', subject: data.id, http_status: 201 },
      {
        operation: 'signTransactionToSend',
        caller: 'service',
        relayer_id: 'demo',
        subject: data.hash,
        request_id: null,
      },
    ])

    // A second request is another audit entry about the same transaction.
    await send()
    await settled(service, 4)
    expect((await entries(service)).at(-1)).toMatchObject({
      operation: 'sendTransaction',
      subject: data.id,
      http_status: 201,
    })
  })

  test('keeps the entry of a response that was sent 50 ms before a kill -9', async () => {
    const DataDir = join(temporaryFolder(), 'data')
    const ApiKey = 'k'.repeat(40)
    const service = spawnService({ DATA_DIR: DataDir, API_KEY: ApiKey })
    const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
    const headers = { Authorization: `Bearer ${ApiKey}`, 'Content-Type': 'application/json' }
    const ask = (path: string, body?: string) =>
      fetch(`${url}${path}`, { headers, ...(body && { method: 'POST', body }) })
    await ask('/api/v1/relayers/demo/sign', '{"message":"a"}')
    await expect.poll(async () => ((await (await ask(audit)).json()) as { data: unknown[] }).data.length).toBe(1)
    await ask('/api/v1/notifications', '{"url":"http://127.0.0.1:1"}')
    service.signal('SIGKILL')
    await service.ended
    const db = new Database(join(DataDir, 'relayer.sqlite'))
    expect(db.prepare('SELECT entries FROM audit ORDER BY up_to').pluck().all()).toEqual([
      expect.stringContaining('signMessage'),
      expect.stringContaining('createNotification'),
    ])
    expect(checkAudit(db)).toMatchObject({ fault: undefined, head: { up_to: 2 } })
    db.close()
  })

  test('keeps the entries of earlier responses after a kill -9 under load', async () => {
    const DataDir = temporaryFolder()
    const service = spawnService({ DATA_DIR: DataDir, LOG_LEVEL: 'silent' })
    const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
    const apiKey = readFileSync(join(DataDir, 'api-key'), 'utf8').trim()
    const authorization = `Authorization: Bearer ${apiKey}`
    const request = (path: string, body: string) =>
      rawRequest(`POST /api/v1/relayers/demo/${path}`, [authorization, ...json(body)], body)
    // Each takes some milliseconds, and many are read in one turn of the event loop.
    const types = { Numbers: [{ name: 'all', type: 'uint256[]' }] }
    const all = Array.from({ length: 4_900 }, (_, index) => index)
    const slow = JSON.stringify({ types, primaryType: 'Numbers', domain: {}, message: { all } })
    const slowRequests = (count: number) =>
      Buffer.concat(Array.from({ length: count }, () => request('sign-typed-data/full', slow)))
    const before = 20
    const messages = Array.from({ length: 10 }, (_, index) => `message ${index}`)
    /** How many answers there had been when each was answered. */
    const signedAt = new Map<string, number>()
    let answers = 0
    const isOlder = (message: string) => answers - (signedAt.get(message) ?? answers) >= 30
    const sockets = messages.map((message) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      let own = 0
      socket.on('data', (chunk) => {
        for (const _ of chunk.toString('latin1').matchAll(/HTTP\/1\.1 200/g)) {
          own += 1
          answers += 1
          if (own === before + 1) signedAt.set(message, answers)
        }
        // Kills it now, before its timers run.
        if (messages.some(isOlder)) service.signal('SIGKILL')
      })
      // The service is killed.
      socket.on('error', () => {})
      const signing = request('sign', JSON.stringify({ message }))
      socket.write(Buffer.concat([slowRequests(before), signing, slowRequests(60)]))
      return socket
    })
    await service.ended
    for (const socket of sockets) socket.destroy()
    const db = new Database(join(DataDir, 'relayer.sqlite'))
    const trail = db.prepare('SELECT entries FROM audit ORDER BY up_to').pluck().all().join()
    expect(messages.filter((message) => isOlder(message) && !trail.includes(hashMessage(message)))).toEqual([])
    db.close()
  })

  test('signs nothing while the trail cannot be written', async () => {
    const service = await startTestService()
    const db = new Database(join(service.data_dir, 'relayer.sqlite'))
    db.exec('ALTER TABLE audit RENAME TO elsewhere')
    await sign(service)
    await expect
      .poll(() => sign(service).then(String, ({ details }) => details))
      .toEqual([{ path: 'audit', code: 'unavailable', message: 'the audit trail cannot be written; try again later' }])
    db.exec('ALTER TABLE elsewhere RENAME TO audit')
    db.close()
    await expect.poll(() => sign(service).then(() => 'signed', String)).toBe('signed')
    const recorded = async () => (await entries(service)).map(({ http_status }) => http_status)
    await expect
      .poll(async () => (await recorded()).filter((result) => result === 200).length)
      .toBeGreaterThanOrEqual(2)
  })
})

test('lists audit entries newest first, by page and by filter', async () => {
  const service = await startTestService()
  for (const message of ['a', 'b', 'c', 'd', 'e']) await sign(service, message)
  await settled(service, 5)
  const page = await service.client.get(audit, { query: { page: 2, per_page: 2 } })
  expect(page.data.map(({ sequence }) => sequence)).toEqual([3, 2])
  expect(page.pagination).toEqual({ current_page: 2, per_page: 2, total_items: 5 })
  const by = async (query: object) => (await entries(service, query)).map(({ sequence }) => sequence)
  expect(await by({ subject: hashMessage('c') })).toEqual([3])
  expect(await by({ caller: 'environment', relayer_id: 'demo', operation: 'signMessage' })).toEqual([1, 2, 3, 4, 5])
  expect(await by({ caller: 'nobody' })).toEqual([])
  const filtered = await service.client.get(audit, { query: { relayer_id: 'demo', page: 3, per_page: 2 } })
  expect(filtered.data.map(({ sequence }) => sequence)).toEqual([1])
  expect(filtered.pagination).toEqual({ current_page: 3, per_page: 2, total_items: 5 })
  const [, second] = await entries(service)
  expect(await by({ created_after: second?.created_at })).toEqual(
    (await entries(service))
      .filter(({ created_at }) => created_at > (second?.created_at ?? ''))
      .map(({ sequence }) => sequence),
  )
})

describe('the chain', () => {
  /** A trail of some batches, in a separate file. */
  async function trail() {
    const service = await startTestService()
    for (let batch = 0; batch < 4; batch += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, index) => sign(service, `${batch} ${index}`)))
      await service.client.post('/api/v1/notifications', { body: { url: 'http://127.0.0.1:1' } })
    }
    await service.close()
    return { service, db: new Database(join(service.data_dir, 'relayer.sqlite')) }
  }

  test('detects 1,000 random edits, deletions and reorderings', async () => {
    const { service, db } = await trail()
    const head = checkAudit(db).head
    expect(checkAudit(db, [head])).toEqual({ head, checkpoint: undefined, skipped: 0, fault: undefined })
    expect(head.up_to).toBe(84)
    expect(service.logged.join('')).toContain(`"hash":"${Buffer.from(head.hash).toString('hex')}","msg":"audit head"`)

    const batches = db.prepare('SELECT up_to, entries FROM audit ORDER BY up_to').all() as {
      up_to: number
      entries: string
    }[]
    const batch = fc.constantFrom(...batches)
    const setEntries = (upTo: number, entries: unknown[]) =>
      db.prepare('UPDATE audit SET entries = ? WHERE up_to = ?').run(JSON.stringify(entries), upTo)
    const changed = (name: string, change: (entries: unknown[][], at: number) => void) =>
      fc.tuple(batch, fc.nat()).map(([{ up_to, entries }, seed]) => ({
        name: `${name} in ${up_to}`,
        run: () => {
          const parsed = JSON.parse(entries) as unknown[][]
          change(parsed, seed % parsed.length)
          setEntries(up_to, parsed)
        },
      }))
    const tampering = fc.oneof(
      fc.tuple(fc.integer({ min: 1, max: 7 }), fc.oneof(fc.integer(), fc.string())).chain(([column, value]) =>
        changed(`column ${column} is ${value}`, (entries, at) => {
          const [entry] = entries.slice(at)
          if (entry) entry[column] = value
        }),
      ),
      changed('one is gone', (entries, at) => void entries.splice(at, 1)),
      changed('one is there twice', (entries, at) => void entries.splice(at, 0, ...entries.slice(at, at + 1))),
      changed('the order is another', (entries, at) => void entries.push(...entries.splice(0, at))),
      batch.map(({ up_to }) => ({
        name: `${up_to} is gone`,
        run: () => db.exec(`DELETE FROM audit WHERE up_to = ${up_to}`),
      })),
      batch.map(({ up_to }) => ({
        name: `all from ${up_to} on`,
        run: () => db.exec(`DELETE FROM audit WHERE up_to >= ${up_to}`),
      })),
      fc.tuple(batch, batch).map(([one, other]) => ({
        name: `${one.up_to} and ${other.up_to} change places`,
        run: () => {
          setEntries(one.up_to, JSON.parse(other.entries))
          setEntries(other.up_to, JSON.parse(one.entries))
        },
      })),
      fc.constant({
        name: 'one is added',
        run: () =>
          db.exec(
            `INSERT INTO audit (up_to, first, entries, hash) VALUES (${head.up_to + 1}, ${head.up_to + 1}, '[]', zeroblob(32))`,
          ),
      }),
    )
    const undo = new Error('undone')
    for (const { name, run } of fc.sample(tampering, 1_000)) {
      const before = db.prepare('SELECT total_changes()').pluck().get()
      try {
        db.transaction(() => {
          const rows = db.prepare('SELECT * FROM audit').raw().all()
          run()
          const isSame = JSON.stringify(db.prepare('SELECT * FROM audit').raw().all()) === JSON.stringify(rows)
          expect.soft(isSame || checkAudit(db, [head]).fault !== undefined, name).toBe(true)
          throw undo
        })()
      } catch (error) {
        if (error !== undo) throw error
      }
      expect(db.prepare('SELECT total_changes()').pluck().get()).not.toBe(before)
    }
    expect(checkAudit(db, [head]).fault).toBe(undefined)
    db.close()
  })

  test('verifies the trail by the command, and its end by the log', async () => {
    const { service, db } = await trail()
    const log = join(service.data_dir, 'service.log')
    writeFileSync(log, service.logged.join(''))
    const environment = { ...nodeEnvironment, DATA_DIR: service.data_dir }
    const verify = (...args: string[]) =>
      promisify(execFile)(process.execPath, ['server/cli/audit.ts', ...args], { env: environment })
    expect((await verify('verify')).stdout).toMatch(/^84 entries are unchanged\. Head: [0-9a-f]{64}\n$/)
    expect((await verify('verify', '--log', log)).stdout).toMatch(/All 1 heads in the log are in the trail\.\n$/)
    const { up_to } = db.prepare('SELECT up_to FROM audit ORDER BY up_to DESC LIMIT 1 OFFSET 1').get() as {
      up_to: number
    }
    db.exec(`DELETE FROM audit WHERE up_to > ${up_to}`)
    expect((await verify('verify')).stdout).toMatch(new RegExp(`^${up_to} entries`))
    await expect(verify('verify', '--log', log)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('entry 84'),
    })
    db.exec(`UPDATE audit SET entries = replace(entries, 'environment', 'nobody') WHERE up_to = ${up_to}`)
    await expect(verify('verify')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not what was written'),
    })
    await expect(verify()).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('Usage') })
    db.close()
  })
})
