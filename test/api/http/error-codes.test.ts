import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Failure } from '../../../generated/openapi.ts'
import { statusOf } from '../../../server/api/http/errors.ts'
import type { ErrorCode } from '../../../server/domain/errors.ts'
import { responseFault } from '../../support/contract.ts'
import { exchange, rawRequest } from '../../support/raw-http.ts'
import { testRig } from '../../support/test-rig.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const reverting = `0x${'ee'.repeat(20)}`
const token = 'rig'.repeat(11)

/** A call that provokes a code: the method and path, the body, and further headers. */
type Call = [line: string, body?: unknown, headers?: Record<string, string>]
interface Provoked {
  calls: Call[]
  /** Codes of the details. */
  details?: string[]
  names?: 'transaction'
}

/** The call that provokes each code, and its details; the last of several calls does. */
const provoked: Partial<Record<ErrorCode, Provoked>> = {
  invalid_request: {
    calls: [['POST relayers/demo/sign', { text: 'a', message: 1 }]],
    details: ['unknown_member', 'invalid_type'],
  },
  insufficient_funds: {
    calls: [['POST relayers/demo/transactions', { to, value: `${10n ** 30n}` }]],
    details: ['insufficient_funds'],
  },
  execution_reverted: {
    calls: [['POST relayers/demo/transactions', { to: reverting, value: '0' }]],
    details: ['execution_reverted'],
  },
  unauthorized: { calls: [['GET relayers', undefined, { Authorization: 'Bearer nobody' }]], details: ['unauthorized'] },
  forbidden: { calls: [['GET relayers', undefined, { as: 'sign' }]], details: ['forbidden'] },
  policy_violation: { calls: [['POST relayers/limited/transactions', { to, value: '2' }]], details: ['max_value'] },
  relayer_paused: { calls: [['POST relayers/paused/sign', { message: 'a' }]] },
  not_found: { calls: [['GET relayers/nobody']] },
  method_not_allowed: { calls: [['DELETE relayers']], details: ['method_not_allowed'] },
  already_exists: { calls: [['POST notifications', { id: 'ops', type: 'webhook', url: 'http://127.0.0.1:9' }]] },
  in_use: { calls: [['DELETE networks/evm:local']], details: ['in_use'] },
  invalid_state: { calls: [['POST relayers/demo/nonce/reconcile', { next_nonce: 900 }]], details: ['invalid_state'] },
  already_sent: {
    calls: [1, 2].map(
      (value): Call => ['POST relayers/demo/transactions', { to, value: `${value}`, deduplication_id: 'a' }],
    ),
    details: ['already_sent'],
    names: 'transaction',
  },
  payload_too_large: {
    calls: [['POST relayers/demo/sign', { message: 'a'.repeat(1_100_000) }]],
    details: ['payload_too_large'],
  },
  unsupported_media_type: {
    calls: [['POST relayers/demo/sign', { message: 'a' }, { 'Content-Type': 'text/plain' }]],
    details: ['unsupported_media_type'],
  },
  idempotency_mismatch: {
    calls: [1, 2].map(
      (value): Call => ['POST relayers/demo/transactions', { to, value: `${value}` }, { 'Idempotency-Key': 'k' }],
    ),
    details: ['idempotency_mismatch'],
    names: 'transaction',
  },
  gas_limit_too_low: {
    calls: [['POST relayers/demo/transactions', { to, data: `0x${'ff'.repeat(2_000)}`, gas_limit: 25_000 }]],
    details: ['gas_limit_too_low'],
  },
  rate_limited: {
    calls: [1, 2, 3].map((): Call => ['GET relayers', undefined, { as: 'slow' }]),
    details: ['rate_limited'],
  },
  unavailable: { calls: [['POST relayers/offline/transactions', { to, value: '1' }]], details: ['unavailable'] },
}

/** What no call of the API can provoke here: by bytes that are no HTTP, or by a failure around the service. */
const elsewhere: Partial<Record<ErrorCode, string>> = {
  request_timeout: 'test/api/http/slow-sockets.test.ts',
  expectation_failed: 'test/api/http/bad-input.test.ts',
  header_too_large: 'test/api/http/bad-input.test.ts',
  not_implemented: 'test/api/http/bad-input.test.ts',
  limit_reached: 'test/api/handlers/notification-owners.test.ts',
  key_service_refused: 'test/keys/aws-kms.test.ts',
  precondition_failed: 'test/api/handlers/revisions.test.ts',
  precondition_required: 'test/api/handlers/revisions.test.ts',
  possibly_sent: 'test/sending/faults/restored.test.ts',
  bad_gateway: 'test/api/http/caller-shares.test.ts',
  outcome_unknown: 'test/sending/faults/after-commit.test.ts',
  internal: 'test/api/http/request-log.test.ts',
}

test('answers every code of the catalogue with its status, its details and the id of the request', async () => {
  const rig = await testRig()
  const client = rig.client()
  const address = async (id: string) =>
    (await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id } })).data.address
  await rig.chain.setBalance(await address('demo'), 10n ** 20n)
  await rig.chain.rpc('anvil_setCode', [reverting, '0x60006000fd'])
  await client.post('/api/v1/networks', {
    body: { name: 'far', network_type: 'evm', chain_id: 5, rpc_urls: ['http://127.0.0.1:9'], is_testnet: true },
  })
  const relayer = async (id: string, more: object) => {
    const { data } = await client.post('/api/v1/signers', {
      body: { id: `of-${id}`, type: 'generated', config: {} } as never,
    })
    return client.post('/api/v1/relayers', {
      body: {
        id,
        name: id,
        network: 'local',
        network_type: 'evm',
        paused: false,
        signer_id: data.id,
        ...more,
      } as never,
    })
  }
  await relayer('limited', { policies: { max_value: '1' } })
  await relayer('paused', { paused: true })
  await relayer('offline', { network: 'far' })
  await client.post('/api/v1/notifications', { body: { id: 'ops', type: 'webhook', url: 'http://127.0.0.1:9' } })
  const keyOf = async (body: object) => (await client.post('/api/v1/api-keys', { body: body as never })).data.token
  const keys: Record<string, string> = {
    sign: await keyOf({ name: 'sign', scopes: ['sign'] }),
    slow: await keyOf({ name: 'slow', scopes: ['read'], rate_limit: { per_second: 1, burst: 1 } }),
  }

  const call = async ([line, body, { as = '', ...more } = {}]: Call) => {
    const [method = '', path] = line.split(' ')
    const headers = { Authorization: `Bearer ${keys[as] ?? token}`, 'Content-Type': 'application/json', ...more }
    if (body === undefined) Reflect.deleteProperty(headers, 'Content-Type')
    return fetch(`${rig.url()}/api/v1/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
  for (const [code, { calls, details, names }] of Object.entries(provoked)) {
    let response = new Response()
    for (const its of calls) response = await call(its)
    const failure = (await response.json()) as Failure
    expect
      .soft({ status: response.status, code: failure.code }, code)
      .toEqual({ status: statusOf[code as ErrorCode], code })
    expect
      .soft(
        failure.details?.map((detail) => detail.code),
        code,
      )
      .toEqual(details ?? failure.details?.map(() => code))
    expect.soft(failure.request_id, code).toBe(response.headers.get('X-Request-Id'))
    expect.soft(failure.transaction !== undefined, code).toBe(names === 'transaction')
    expect.soft(responseFault(undefined, response.status, {}, failure), code).toBeUndefined()
  }
})

test('names for each code the call or the test that provokes it', () => {
  expect([...Object.keys(provoked), ...Object.keys(elsewhere)].sort()).toEqual(Object.keys(statusOf).sort())
  const root = join(import.meta.dirname, '..', '..', '..')
  const refusals = readFileSync(join(root, 'test/support/refusals.ts'), 'utf8')
  const names = (code: string, file: string) => `${refusals}${readFileSync(join(root, file), 'utf8')}`.includes(code)
  expect(Object.entries(elsewhere).filter(([code, file]) => !names(code, file))).toEqual([])
})

test('gives bytes that are no request a failure with the id of the response', async () => {
  const rig = await testRig()
  const { headers, text } = await exchange(rig.url(), rawRequest('GET /api/v1/health', ['a b: c']))
  expect(JSON.parse(text)).toMatchObject({ code: 'invalid_request', request_id: headers['x-request-id'] })
})

test('says when a limit of a day has room again, and then it has', async () => {
  const rig = await testRig()
  const { relayer_id } = await rig.addAccount({ policies: { max_value_per_day: '5' } })
  const path = { relayer_id }
  const send = (value: string) =>
    rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path, body: { to, value } })
  await send('3')
  const refused = await send('3').catch((error) => error)
  const [detail] = refused.details
  expect(detail).toMatchObject({ path: 'policies/max_value_per_day', code: 'max_value_per_day' })
  const inMs = Date.parse(detail.resets_at) - Date.now()
  expect(inMs).toBeGreaterThan(24 * 3_600_000)
  expect(inMs).toBeLessThan(24 * 3_600_000 + 300_000)
  rig.clock.ahead_ms = inMs
  expect((await send('3')).data.value).toBe('3')
  // More than the whole limit never fits.
  expect((await send('6').catch((error) => error)).details[0].resets_at).toBeUndefined()
})

test('tells the holder of an expired token so, and nobody else', async () => {
  const rig = await testRig()
  const { data } = await rig.client().post('/api/v1/api-keys', {
    body: { name: 'short', scopes: ['read'], expires_at: new Date(Date.now() + 60_000).toISOString() },
  })
  const detailOf = async (text: string) => {
    const response = await fetch(`${rig.url()}/api/v1/relayers`, { headers: { Authorization: `Bearer ${text}` } })
    return ((await response.json()) as Failure).details?.[0]
  }
  expect(await detailOf(data.token)).toBeUndefined()
  rig.clock.ahead_ms = 61_000
  expect(await detailOf(data.token)).toEqual({
    path: '/headers/authorization',
    code: 'expired',
    message: `expired at ${data.api_key.expires_at}`,
  })
  expect(await detailOf(`${data.token.slice(0, -1)}${data.token.endsWith('a') ? 'b' : 'a'}`)).toMatchObject({
    code: 'unauthorized',
    message: 'is no API key that is valid now',
  })
})

test('names the nearest id of those that the caller may see', async () => {
  const rig = await testRig()
  const client = rig.client()
  const tokenOf = async (body: object) => (await client.post('/api/v1/api-keys', { body: body as never })).data.token
  const other = await rig.addAccount()
  const limited = await tokenOf({ name: 'limited', scopes: ['read'], relayer_ids: [other.relayer_id] })
  const blind = await tokenOf({ name: 'blind', scopes: ['sign'] })
  const ask = async (path: string, as: string, init = {}) => {
    const headers = { Authorization: `Bearer ${as}`, 'Content-Type': 'application/json' }
    const { message, details } = (await (
      await fetch(`${rig.url()}/api/v1/${path}`, { headers, ...init })
    ).json()) as Failure
    return [message, details]
  }
  const hint = (name: string, given: string, near: string) => [
    { path: `/path/${name}`, code: 'not_found', message: `there is no ${given}; did you mean ${near}?` },
  ]
  const sentence = 'Relayer with ID dmo not found'
  expect(await ask('relayers/dmo', token)).toEqual([sentence, hint('relayer_id', 'dmo', 'demo')])
  expect(await ask('relayers/dmo/transactions', token)).toEqual([sentence, hint('relayer_id', 'dmo', 'demo')])
  expect((await ask('networks/evm:locl', token))[1]).toEqual(hint('network_id', 'evm:locl', 'evm:local'))
  expect(await ask('relayers/quite-another', token)).toEqual(['Relayer with ID quite-another not found', undefined])
  expect(await ask('relayers/dmo', limited)).toEqual([sentence, undefined])
  const sign = { method: 'POST', body: '{"message":"a"}' }
  expect(await ask('relayers/dmo/sign', blind, sign)).toEqual(['Not found', undefined])
  const owner = await rig.addAccount()
  const sent = await client.transactions.send(owner.relayer_id, { to: owner.address, value: '1' })
  const whereabouts = (message: string) => [{ path: '/path/transaction_id', code: 'not_found', message }]
  const elsewhere = `relayers/${other.relayer_id}/transactions/${sent.id}`
  expect((await ask(elsewhere, token))[1]).toEqual(whereabouts(`the relayer ${owner.relayer_id} has this transaction`))
  expect((await ask(elsewhere, limited))[1]).toBeUndefined()
  const fixed = { method: 'PATCH', body: '{"network":"other","nam":"A"}' }
  expect((await ask('relayers/demo', token, fixed))[1]).toEqual([
    {
      path: '/body/network',
      code: 'unknown_member',
      message: 'cannot be changed after the creation; create another one with this value',
    },
    { path: '/body/nam', code: 'unknown_member', message: expect.stringMatching(/did you mean name\?$/) },
  ])
  // What is missing is the transaction.
  expect((await ask('relayers/demo/transactions/dem', token))[1]).toBeUndefined()
  // Also in a body, of what the caller may see.
  const relayer = { id: 'a', name: 'A', network: 'locl', network_type: 'evm', paused: false, signer_id: 'demo' }
  const made = { method: 'POST', body: JSON.stringify(relayer) }
  expect((await ask('relayers', token, made))[1]).toEqual([
    { path: '/body/network', code: 'not_found', message: 'no network has this name; did you mean local?' },
  ])
  const pool = { method: 'POST', body: JSON.stringify({ id: 'p', network: 'local', relayer_ids: ['demo', 'dmo'] }) }
  expect((await ask('pools', token, pool))[1]).toEqual([
    {
      path: '/body/relayer_ids/1',
      code: 'not_found',
      message: 'the network of the pool has no relayer with this id; did you mean demo?',
    },
  ])
})
