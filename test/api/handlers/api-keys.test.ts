import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRelayerClient } from '../../../client/index.ts'
import type { CreateApiKeyRequest, Failure } from '../../../generated/client.ts'
import { type ContractOperation, operations, parametersIn } from '../../support/contract.ts'
import { nodeEnvironment } from '../../support/node-environment.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { databaseSettings, storedBytes } from '../../support/service-database.ts'

const scopes = ['sign', 'send', 'read', 'notifications', 'manage'] as const
const demo = { path: { relayer_id: 'demo' } }
const apiKeys = '/api/v1/api-keys'
const oneKey = '/api/v1/api-keys/{api_key_id}'

async function makeKey(service: TestService, body: Partial<CreateApiKeyRequest> = {}) {
  const whole = { name: `A key ${randomBytes(8).toString('hex')}`, scopes: [...scopes], ...body }
  const { data } = await service.client.post(apiKeys, { body: whole })
  return { ...data, path: { api_key_id: data.api_key.id } }
}

const sign = (service: TestService, token: string, headers: Record<string, string> = {}) =>
  fetch(`${service.url}/api/v1/relayers/demo/sign`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    body: '{"message":"a"}',
  })
const signs = async (...given: Parameters<typeof sign>) => (await sign(...given)).status

/** A request that the contract's own example makes, to one relayer; `body` in its place. */
function send(service: TestService, token: string, operation: ContractOperation, relayerId: string, body?: string) {
  const path = parametersIn(operation, 'path').reduce(
    (filled, { name }) =>
      filled.replace(`{${name}}`, name === 'relayer_id' ? relayerId : name === 'call_id' ? `0x${'1'.repeat(64)}` : '1'),
    operation.path,
  )
  const [example] = operation.examples
  const text = example === undefined ? undefined : (body ?? JSON.stringify(example))
  return fetch(`${service.url}${path}`, {
    method: operation.method,
    headers: { Authorization: `Bearer ${token}`, ...(text !== undefined && { 'Content-Type': 'application/json' }) },
    ...(text !== undefined && { body: text }),
  })
}

/** All that a caller sees of an answer. */
async function seen(answer: Response) {
  const { date: _, ratelimit: __, 'x-request-id': ___, ...headers } = Object.fromEntries(answer.headers)
  const body = (await answer.text()).replace(/"request_id":"[^"]*"/, '"request_id":""')
  return { status: answer.status, headers, body }
}

const guarded = operations.filter(({ guarded }) => guarded)
/** Those that a key may use for its own relayers. */
const ofRelayer = guarded.filter(({ path, roles }) => path.includes('{relayer_id}') && !roles.includes('all_relayers'))

describe('rights of a key', () => {
  test('requires a scope for every operation, and refuses a key with another scope', async () => {
    const service = await startTestService({ RATE_LIMIT_BURST: '10000' })
    for (const scope of scopes) {
      const { token } = await makeKey(service, { scopes: [scope] })
      for (const operation of guarded) {
        const { status, body } = await seen(await send(service, token, operation, 'no-such', '{'))
        const isHeld = (role: string) => role === scope || role === 'all_relayers'
        const allowed = operation.anyRole ? operation.roles.some(isHeld) : operation.roles.every(isHeld)
        expect.soft(status === 403, `${operation.id} with ${scope}: ${body}`).toBe(!allowed)
      }
    }
  })

  test('answers for a relayer outside a key’s limit as for one that does not exist', async () => {
    const service = await startTestService({ RATE_LIMIT_BURST: '10000' })
    const own = await createRelayer(service.client, { id: 'own' })
    const { token } = await makeKey(service, { relayer_ids: [own.id] })
    expect(ofRelayer.length).toBeGreaterThan(15)
    for (const operation of ofRelayer) {
      for (const body of [undefined, '{', '{}', '{"unknown":1}']) {
        const foreign = await seen(await send(service, token, operation, 'demo', body))
        const missing = await seen(await send(service, token, operation, 'omed', body))
        expect.soft({ ...foreign, body: foreign.body.replaceAll('demo', 'omed') }, operation.id).toEqual(missing)
        if (body === undefined) {
          expect.soft(foreign.status, operation.id).toBe(404)
          const told = await seen(await send(service, service.api_key, operation, 'omed'))
          expect.soft(JSON.parse(told.body), operation.id).toEqual(JSON.parse(missing.body))
        }
      }
    }
    expect((await service.client.get('/api/v1/relayers/{relayer_id}', demo)).data).toMatchObject({ paused: false })
  })

  test('shows a limited key its relayers only, and refuses changes of shared resources', async () => {
    const service = await startTestService({ RATE_LIMIT_BURST: '10000' })
    for (const id of ['a', 'b', 'c']) await createRelayer(service.client, { id })
    const { token } = await makeKey(service, { relayer_ids: ['c', 'a'] })
    const client = createRelayerClient({ baseUrl: service.url, token })
    const list = await client.get('/api/v1/relayers', { query: { per_page: 1, page: 2 } })
    expect(list.data.map(({ id }) => id)).toEqual(['c'])
    expect(list.pagination).toEqual({ current_page: 2, per_page: 1, total_items: 2 })

    // A notification belongs to the key that created it (notification-owners.test.ts).
    const ofCreator = (operation: ContractOperation) => operation.path.startsWith('/api/v1/notifications')
    const shared = guarded.filter((operation) => !ofRelayer.includes(operation) && !ofCreator(operation))
    const open = new Set([
      ...['listRelayers', 'listTransactions', 'listRelayerQueues', 'getRelayerActivity', 'listRelayerSpending'],
      ...['listNetworks', 'getNetwork', 'listNetworkNodes', 'getOwnApiKey', 'listAbis', 'getAbi'],
      ...['getPool', 'sendPoolTransaction', 'dryRunPoolTransaction', 'getTransaction'],
      ...[
        'sendPoolTransactionBatch',
        'getTransactionExplanation',
        'streamPoolEvents',
        'callPoolJsonRpc',
        'callMcp',
        'movePoolTransaction',
      ],
      ...['listProblems', 'updateProblem', 'searchResources'],
    ])
    for (const operation of shared) {
      const { status } = await send(service, token, operation, 'a')
      expect.soft(status === 403, operation.id).toBe(!open.has(operation.id))
    }
  })

  test('grants no rights on a new relayer with the id of a deleted one', async () => {
    const service = await startTestService()
    await createRelayer(service.client, { id: 'own' })
    const { token, path } = await makeKey(service, { relayer_ids: ['own'] })
    const client = createRelayerClient({ baseUrl: service.url, token })
    const own = { path: { relayer_id: 'own' } }
    await client.get('/api/v1/relayers/{relayer_id}', own)
    await service.client.delete('/api/v1/relayers/{relayer_id}', own)
    await createRelayer(service.client, { id: 'own' })
    await expect(client.get('/api/v1/relayers/{relayer_id}', own)).rejects.toMatchObject({ status: 404 })
    expect((await service.client.get(oneKey, { path })).data.relayer_ids).toEqual([])
  })

  test('lets only keys with all scopes and no limit manage API keys', async () => {
    const service = await startTestService()
    const status = async (body: Partial<CreateApiKeyRequest>) => {
      const { token } = await makeKey(service, body)
      return (await fetch(`${service.url}${apiKeys}`, { headers: { Authorization: `Bearer ${token}` } })).status
    }
    expect(await status({})).toBe(200)
    expect(await status({ scopes: ['manage', 'read', 'send', 'sign'] })).toBe(403)
    expect(await status({ relayer_ids: ['demo'] })).toBe(403)
    expect(await status({ allowed_cidrs: ['0.0.0.0/0'] })).toBe(403)
    expect(await status({ expires_at: '2999-01-01T00:00:00Z' })).toBe(403)
  })
})

describe('the life cycle of a key', () => {
  test('creates, shows, changes and revokes an API key with immediate effect, and shows its token only once', async () => {
    const clock = { now_ms: Date.parse('2030-01-01T00:00:00Z') }
    const service = await startTestService({}, { now: () => clock.now_ms })
    const { api_key, token, path } = await makeKey(service, { name: 'checkout', scopes: ['sign'] })
    expect(token).toMatch(new RegExp(`^relayer_${api_key.id}_[A-Za-z0-9_-]{43}$`))
    expect((await service.client.get(oneKey, { path })).data).toEqual({ ...api_key, budget_usage: null })
    expect((await service.client.get(apiKeys)).data).toEqual([api_key])
    expect(await signs(service, token)).toBe(200)

    const change = (body: object) => service.client.patch(oneKey, { path, body })
    await change({ scopes: ['read'] })
    expect(await signs(service, token)).toBe(403)
    await change({ scopes: ['sign'], expires_at: '2030-01-01T00:00:01+00:00' })
    expect(await signs(service, token)).toBe(200)
    clock.now_ms += 1_000
    expect(await signs(service, token)).toBe(401)
    expect((await change({ expires_at: null })).data).toEqual({ ...api_key, last_used_at: null })
    expect(await signs(service, token)).toBe(200)
    await service.client.delete(oneKey, { path })
    expect(await signs(service, token)).toBe(401)
    await expect(service.client.get(oneKey, { path })).rejects.toMatchObject({ message: 'API key not found' })
  })

  test('refuses the name of another key, also to a sponsorship’s, until that key is revoked', async () => {
    const service = await startTestService()
    const { path } = await makeKey(service, { name: 'ci', scopes: ['manage', 'send'] })
    const outcome = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        ({ status, code, details }) => `${status} ${code} ${details?.[0]?.path}`,
      )
    const taken = '409 already_exists /body/name'
    expect(await outcome(makeKey(service, { name: 'ci', scopes: ['read'] }))).toBe(taken)
    const other = await makeKey(service, { name: 'other' })
    const rename = (name: string) => outcome(service.client.patch(oneKey, { path: other.path, body: { name } }))
    expect([await rename('ci'), await rename('other')]).toEqual([taken, 'done'])
    expect((await service.client.get(apiKeys)).data.map(({ name }) => name)).toEqual(['ci', 'other'])

    const sponsor = (id: string) =>
      outcome(
        service.client.post('/api/v1/sponsorships', {
          body: { id, relayer_id: 'demo', max_gas_per_call: 100_000, max_fee_per_call: '1', max_fee_per_day: '1' },
        }),
      )
    const long = 'x'.repeat(127)
    expect([await sponsor('page'), await sponsor(`${long}a`), await sponsor(`${long}b`)]).toEqual(Array(3).fill('done'))
    expect([await rename('Sponsorship page'), await rename('Sponsorship pay')]).toEqual([taken, 'done'])
    expect(await sponsor('pay')).toBe('409 already_exists /body/id')

    await service.client.delete(oneKey, { path })
    expect(await outcome(makeKey(service, { name: 'ci', scopes: ['read'] }))).toBe('done')
  })

  test('accepts each former token after rotations until its own end, and none after one with 0 seconds', async () => {
    const clock = { now_ms: Date.parse('2030-01-01T00:00:00Z') }
    const service = await startTestService({}, { now: () => clock.now_ms })
    const { token: first, path } = await makeKey(service)
    const rotate = async (body = {}) => (await service.client.post(`${oneKey}/rotate`, { path, body })).data
    const { token: second, api_key } = await rotate()
    expect(api_key.previous_token_expires_at).toBe('2030-01-02T00:00:00.000Z')
    expect([await signs(service, first), await signs(service, second)]).toEqual([200, 200])
    const { token: third } = await rotate({ previous_token_valid_seconds: 60 })
    expect([await signs(service, first), await signs(service, second), await signs(service, third)]).toEqual([
      200, 200, 200,
    ])
    clock.now_ms += 60_000
    expect([await signs(service, first), await signs(service, second), await signs(service, third)]).toEqual([
      200, 401, 200,
    ])
    clock.now_ms += 86_400_000 - 60_000
    expect(await signs(service, first)).toBe(401)
    const { token: fourth } = await rotate()
    const { token: fifth } = await rotate({ previous_token_valid_seconds: 0 })
    expect([await signs(service, third), await signs(service, fourth), await signs(service, fifth)]).toEqual([
      401, 401, 200,
    ])
  })

  test('applies a revocation by another process on the same store at once', async () => {
    const service = await startTestService()
    const other = await startTestService({ DATA_DIR: service.data_dir })
    const { token, path } = await makeKey(service)
    expect(await signs(other, token)).toBe(200)
    await service.client.delete(oneKey, { path })
    expect(await signs(other, token)).toBe(401)
  })

  test('ends an event stream when its key is revoked', async () => {
    const service = await startTestService()
    const { token, path } = await makeKey(service)
    const headers = { Authorization: `Bearer ${token}` }
    const stream = await fetch(`${service.url}/api/v1/relayers/demo/events`, { headers })
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    // A key that is revoked between the headers and the first event ends the stream before it.
    expect(await reader?.read()).toEqual({ done: false, value: ': connected\n\n' })
    await service.client.delete(oneKey, { path })
    expect(await reader?.read()).toEqual({ done: true, value: undefined })
  })

  test('shows the time of the last use, and keeps it over a restart', async () => {
    const service = await startTestService()
    const { token, path } = await makeKey(service)
    await sign(service, token)
    await service.close()
    const again = await startTestService({ DATA_DIR: service.data_dir })
    const { data } = await again.client.get(oneKey, { path })
    expect(Date.parse(data.last_used_at ?? '')).toBeGreaterThanOrEqual(Date.parse(data.created_at))
  })

  test('applies a key’s own rate limit instead of the default', async () => {
    const clock = { elapsed_ms: 0 }
    const service = await startTestService({}, { elapsed: () => clock.elapsed_ms })
    const { token, path } = await makeKey(service, { rate_limit: { per_second: 1, burst: 2 } })
    const statuses = [await signs(service, token), await signs(service, token), await signs(service, token)]
    expect(statuses).toEqual([200, 200, 429])
    expect(await signs(service, service.api_key)).toBe(200)
    await service.client.patch(oneKey, { path, body: { rate_limit: null } })
    // With PostgreSQL, a server refuses this long without asking the database again.
    clock.elapsed_ms += 50
    expect(await signs(service, token)).toBe(200)
  })

  test('rejects an invalid key, and names the member', async () => {
    const service = await startTestService()
    const wrong: [Partial<CreateApiKeyRequest>, string][] = [
      [{ relayer_ids: ['demo', 'none'] }, '/body/relayer_ids/1'],
      [{ allowed_cidrs: ['10.0.0.0/8', '10.0.0.0/33'] }, '/body/allowed_cidrs/1'],
      [{ allowed_cidrs: ['1.2.3/8'] }, '/body/allowed_cidrs/0'],
      [{ allowed_cidrs: ['::1/129'] }, '/body/allowed_cidrs/0'],
      [{ expires_at: '2030-13-01T00:00:00Z' }, '/body/expires_at'],
      [{ expires_at: '2001-01-01T00:00:00Z' }, '/body/expires_at'],
      [{ scopes: [] }, '/body/scopes'],
      [{ name: '' }, '/body/name'],
    ]
    for (const [body, path] of wrong) {
      const refused = makeKey(service, body)
      await expect.soft(refused, path).rejects.toMatchObject({ status: 400, details: [{ path }] })
    }
    expect((await service.client.get(apiKeys)).data).toEqual([])
  })
})

describe('allowed addresses of a key', () => {
  const from = (address: string) => ({ 'X-Forwarded-For': address })

  test('uses the address of the connection, whatever a header says', async () => {
    const service = await startTestService()
    const { token, path } = await makeKey(service, { allowed_cidrs: ['10.0.0.0/8'] })
    expect([await signs(service, token), await signs(service, token, from('10.0.0.1'))]).toEqual([401, 401])
    const toldTo = async (secret: string) => {
      const answer = await service.raw(apiKeys, { headers: { Authorization: `Bearer ${secret}` } })
      return ((await answer.json()) as Failure).details?.[0]?.message
    }
    expect(await toldTo(token)).toMatch(
      /^is an API key that may not be used from 127\.0\.0\.1: its allowed_cidrs .* TRUSTED_PROXIES /,
    )
    // Without the secret, nobody learns that the key exists.
    expect(await toldTo(`${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`)).toBe(
      'is no API key that is valid now',
    )
    await service.client.patch(oneKey, { path, body: { allowed_cidrs: ['::1/128', '127.0.0.0/8'] } })
    expect(await signs(service, token, from('10.0.0.1'))).toBe(200)
  })

  test('uses the address that a trusted proxy reports, and no earlier one', async () => {
    const service = await startTestService({ TRUSTED_PROXIES: '127.0.0.1, 192.168.0.0/16' })
    const { token } = await makeKey(service, { allowed_cidrs: ['10.0.0.0/8', 'fd00::/8'] })
    const table: [string, number][] = [
      ['10.1.2.3', 200],
      ['::ffff:10.1.2.3', 200],
      ['fd12::1', 200],
      ['11.1.2.3', 401],
      ['fe80::1', 401],
      ['10.1.2.3, 11.1.2.3', 401],
      ['11.1.2.3, 10.1.2.3', 200],
      ['10.1.2.3, 192.168.7.7', 200],
      ['nonsense', 401],
      ['', 401],
    ]
    for (const [address, status] of table) {
      expect.soft(await signs(service, token, from(address)), address).toBe(status)
    }
  })
})

test('refuses 3,000 malformed tokens, and tells of their form only', async () => {
  const service = await startTestService()
  const { token, api_key } = await makeKey(service)
  const other = randomBytes(32).toString('base64url')
  const printable = fc.string({
    unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)),
    maxLength: 200,
  })
  const cut = fc.tuple(fc.constantFrom(token, service.api_key), fc.nat(token.length - 1), printable)
  const near = cut.map(([whole, at, text]) => whole.slice(0, at) + text + whole.slice(at + 1))
  const shaped = fc.constantFrom(
    `relayer_${api_key.id}_${other}`,
    `relayer_${service.api_key}`,
    `relayer_${api_key.id}_`,
  )
  const scheme = fc.constantFrom('Bearer ', 'bearer ', 'Bearer  ', 'Basic ', '')
  const values = fc.sample(fc.tuple(scheme, fc.oneof(printable, near, shaped)), 3_000).map(([a, b]) => a + b)
  const right = new Set([token, service.api_key].map((key) => `bearer ${key}`))
  const bodies = new Set<string>()
  const wrong = values.filter((value) => !right.has(value.trim().replace(/^bearer +/i, 'bearer ')))
  while (wrong.length > 0) {
    const answers = wrong.splice(0, 50).map(async (Authorization) => {
      const answer = await fetch(`${service.url}${apiKeys}`, { headers: { Authorization } })
      const { request_id: _, ...body } = (await answer.json()) as { request_id: string }
      bodies.add(`${answer.status} ${answer.headers.get('www-authenticate')} ${JSON.stringify(body)}`)
    })
    await Promise.all(answers)
  }
  const told = (message: string) =>
    `401 Bearer ${JSON.stringify({
      success: false,
      data: null,
      code: 'unauthorized',
      message: 'Unauthorized',
      doc_url: '/docs#/section/errors/unauthorized',
      details: [{ path: '/headers/authorization', message, code: 'unauthorized' }],
    })}`
  expect([...bodies].sort()).toEqual([
    told('is no API key that is valid now'),
    told('must be the word Bearer, a space and the API key'),
  ])
})

test('creates the first key, lists, rotates and revokes on the command line', async () => {
  const { url, data_dir } = await startTestService()
  const command = async (...args: string[]) => {
    const environment = { ...nodeEnvironment, DATA_DIR: data_dir, ...(await databaseSettings(data_dir)) }
    return promisify(execFile)(process.execPath, ['server/cli/api-key.ts', ...args], { env: environment })
  }
  const use = async (token: string) =>
    (await fetch(`${url}${apiKeys}`, { headers: { Authorization: `Bearer ${token}` } })).status
  const all = scopes.flatMap((scope) => ['--scope', scope])
  const { stdout: first, stderr } = await command('create', '--name', 'first', ...all)
  const [, id = ''] = /^API key (\S+) \(first\)/.exec(stderr) ?? []
  expect(await use(first.trim())).toBe(200)
  const { stdout: second } = await command('rotate', id, '--previous-token-valid-seconds', '0')
  expect([await use(first.trim()), await use(second.trim())]).toEqual([401, 200])
  expect((await command('list')).stdout).toMatch(
    new RegExp(`^${id}  first  sign,.* all relayers  expires never, last used .*\n$`),
  )
  await command('revoke', id)
  expect(await use(second.trim())).toBe(401)
  const agent = ['create', '--name', 'agent', '--scope', 'send']
  const budget = JSON.stringify({ assets: [{ asset: 'coin', max_amount_per_day: '10' }] })
  const { stdout: limited } = await command(...agent, '--budget', budget)
  const self = await fetch(`${url}/api/v1/api-keys/self`, { headers: { Authorization: `Bearer ${limited.trim()}` } })
  expect(await self.json()).toMatchObject({ data: { budget_usage: { assets: [{ asset: 'coin', limit: '10' }] } } })
  const wrong = [
    ['create', '--name', 'x'],
    [...agent, '--budget', '{'],
    [...agent, '--budget', '{"assets":[{"asset":"gold","max_amount_per_day":"10"}]}'],
    ['revoke', id],
  ]
  const refused = wrong.map((args) => expect.soft(command(...args), args.join(' ')).rejects.toMatchObject({ code: 1 }))
  await Promise.all(refused)
})

test('shows a token in no log line, no later response and no database file', async () => {
  const service = await startTestService()
  const { token, path } = await makeKey(service)
  const { data } = await service.client.post(`${oneKey}/rotate`, { path, body: {} })
  const answers = JSON.stringify([await service.client.get(apiKeys), await service.client.get(oneKey, { path })])
  await service.close()
  const stored = (await storedBytes(service)).map(([, bytes]) => bytes.toString('latin1')).join()
  for (const secret of [token, data.token].map((whole) => whole.slice(-43))) {
    for (const place of [answers, service.logged.join(''), stored]) expect(place.includes(secret)).toBe(false)
  }
})
