import { hashMessage, Transaction, TypedDataEncoder, verifyMessage, verifyTypedData } from 'ethers'
import { describe, expect, test } from 'vitest'
import { type Answer, jsonRpcOf } from '../../support/json-rpc.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'

async function start(settings = {}, policies = {}, world = {}) {
  const service = await startTestService(settings, world)
  const relayer = await createRelayer(service.client, { policies })
  return { ...service, relayer, rpc: jsonRpcOf(service.url, service.api_key, relayer.id) }
}

const call = (method: string, params: unknown[] = [], id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params })
const codes = (answers: Answer[]) => answers.map(({ id, error }) => [id, error?.code])

describe('JSON-RPC 2.0', () => {
  test.each<[string, unknown, unknown, number]>([
    ['no JSON', '{"jsonrpc": "2.0", "method"', null, -32_700],
    ['no UTF-8 text', '{"a":"\\ud800"}', null, -32_700],
    ['a number', '1', null, -32_600],
    ['an empty batch', '[]', null, -32_600],
    ['an object that is no call', {}, null, -32_600],
    ['another version', { ...call('eth_chainId'), jsonrpc: '1.0' }, 1, -32_600],
    ['an id that is an object', { ...call('eth_chainId'), id: {} }, null, -32_600],
    ['no method', { jsonrpc: '2.0', id: 'a' }, 'a', -32_600],
    ['an unknown method', call('eth_nothing'), 1, -32_601],
    ['params by name', { ...call('eth_chainId'), params: { a: 1 } }, 1, -32_602],
  ])('%s', async (_, body, id, code) => {
    const { rpc } = await start()
    const { status, answer } = await rpc.post(body)
    expect(status).toBe(200)
    expect(answer).toMatchObject({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } })
  })

  test('answers an invalid call of a batch with its own error, and returns every id unchanged', async () => {
    const { rpc, relayer } = await start()
    const ids = [1, 'a', null, 0.5, -7]
    const { answer } = await rpc.post([
      ...ids.map((id) => call('eth_accounts', [], id)),
      3,
      call('eth_sign', [], 9),
      [],
    ])
    expect(answer.slice(0, 5)).toEqual(ids.map((id) => ({ jsonrpc: '2.0', id, result: [relayer.address] })))
    expect(codes(answer.slice(5))).toEqual([
      [null, -32_600],
      [9, -32_601],
      [null, -32_600],
    ])
  })

  test('carries out a notification, and returns nothing for it', async () => {
    const { rpc, client, relayer } = await start()
    const sign = { jsonrpc: '2.0', method: 'personal_sign', params: ['notified', relayer.address] }
    expect(await rpc.post(sign)).toEqual({ status: 204, answer: undefined })
    expect(await rpc.post([sign, { jsonrpc: '2.0', method: 'eth_nothing' }])).toEqual({
      status: 204,
      answer: undefined,
    })
    expect((await rpc.post([sign, call('net_version')])).answer).toEqual([{ jsonrpc: '2.0', id: 1, result: '31337' }])
    const signed = async () => {
      const { data } = await client.get('/api/v1/audit', { query: { operation: 'signMessage' } })
      return data.filter(({ subject }) => subject === hashMessage('notified')).length
    }
    await expect.poll(signed).toBe(3)
  })

  test('accepts at most 1,000 calls in a batch, and counts each of them against the rate limit', async () => {
    const { rpc } = await start({ RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '40' }, {}, { elapsed: () => 0 })
    const batch = (size: number) => Array.from({ length: size }, (_, id) => call('eth_chainId', [], id))
    expect((await rpc.post(batch(1_001))).answer).toMatchObject({ id: null, error: { code: -32_600 } })
    expect((await rpc.post(batch(10))).answer).toHaveLength(10)
    expect(await rpc.post(batch(30))).toMatchObject({ status: 429, answer: { code: 'rate_limited' } })
    // More than the burst is never admitted, and says so.
    expect(await rpc.post(batch(50))).toMatchObject({ status: 400, answer: { code: 'invalid_request' } })
  })

  test('answers failures of the whole request by HTTP status', async () => {
    const { rpc, raw } = await start()
    expect((await rpc.post(call('eth_chainId'), { Authorization: 'Bearer wrong' })).status).toBe(401)
    expect((await rpc.post(call('eth_chainId'), { 'Content-Type': 'text/plain' })).status).toBe(415)
    // web3.py sends no Content-Type when its user sets another header.
    const bytes = new TextEncoder().encode(JSON.stringify(call('eth_chainId')))
    const untyped = await fetch(rpc.url, { method: 'POST', headers: rpc.headers, body: bytes })
    expect(await untyped.json()).toMatchObject({ result: '0x7a69' })
    const large = JSON.stringify(call('eth_chainId', ['x'.repeat(1_100_000)]))
    expect((await rpc.post(large)).status).toBe(413)
    const missing = await raw('/api/v1/relayers/none/rpc', { method: 'POST', body: JSON.stringify(call('a')) })
    expect(missing.status).toBe(404)
  })
})

describe('methods that the relayer answers itself', () => {
  test('answers for its account and network while no chain can be reached', async () => {
    const { rpc, relayer } = await start()
    expect(await rpc.result('eth_accounts')).toEqual([relayer.address])
    expect(await rpc.result('eth_requestAccounts')).toEqual([relayer.address])
    expect(await rpc.result('eth_chainId')).toBe('0x7a69')
    expect(await rpc.result('net_version')).toBe('31337')
    expect(await rpc.result('web3_clientVersion')).toMatch(/^evm-relayer-service\/\d/)
    expect(await rpc.result('eth_getTransactionCount', [relayer.address, 'pending'])).toBe('0x0')
    expect((await rpc.call('eth_blockNumber')).error).toMatchObject({ code: 4_900 })
  })

  test.each([
    'eth_sign',
    'eth_sendRawTransaction',
    'eth_signTypedData_v3',
    'eth_newFilter',
    'personal_unlockAccount',
    'anvil_mine',
  ])('rejects the method %s', async (method) => {
    const { rpc } = await start()
    // The words by which ethers recognizes it.
    const hint = method === 'eth_sign' ? ': use personal_sign or eth_signTypedData_v4' : ''
    const message = `the method ${method} does not exist/is not available${hint}`
    expect((await rpc.call(method)).error).toMatchObject({ code: -32_601, message })
  })

  test('personal_sign: signs hex as bytes, and anything else as text', async () => {
    const { rpc, relayer } = await start()
    const sign = (message: string) => rpc.result('personal_sign', [message, relayer.address])
    const signer = (message: string | Uint8Array, sig: string) => verifyMessage(message, sig).toLowerCase()
    expect(signer('Hello', await sign('Hello'))).toBe(relayer.address)
    expect(signer('Hello', await sign(`0x${Buffer.from('Hello').toString('hex')}`))).toBe(relayer.address)
    expect(signer(Uint8Array.of(0, 255), await sign('0x00ff'))).toBe(relayer.address)
    expect(signer('0x0', await sign('0x0'))).toBe(relayer.address)
    expect(signer('', await sign('0x'))).toBe(relayer.address)
  })

  test.each(['eth_signTypedData_v4', 'eth_signTypedData'])(
    '%s: accepts the document as an object and as text',
    async (method) => {
      const { rpc, relayer } = await start()
      const domain = { name: 'Exchange', chainId: 31_337 }
      const types = { Order: [{ name: 'amount', type: 'uint256' }] }
      const value = { amount: (2n ** 200n).toString() }
      const document = TypedDataEncoder.getPayload(domain, types, value)
      for (const given of [document, JSON.stringify(document)]) {
        const sig = await rpc.result(method, [relayer.address, given])
        expect(verifyTypedData(domain, types, value, sig).toLowerCase()).toBe(relayer.address)
      }
      const other = { ...document, domain: { ...document.domain, chainId: 1 } }
      const { error } = await rpc.call(method, [relayer.address, other])
      expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining('chain id must be 31337') })
      expect((await rpc.call(method, [relayer.address, '{'])).error.code).toBe(-32_602)
    },
  )

  test('eth_signTransaction: returns the signed bytes of exactly the given transaction', async () => {
    const { rpc, relayer } = await start()
    const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
    const given = { from: relayer.address, to, value: '0x1', gas: '0x5208', nonce: '0x7', chainId: '0x7a69' }
    const prices = { maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' }
    const signed = Transaction.from(await rpc.result('eth_signTransaction', [{ ...given, ...prices }]))
    expect(signed).toMatchObject({ type: 2, value: 1n, gasLimit: 21_000n, nonce: 7, chainId: 31_337n })
    expect(signed.from?.toLowerCase()).toBe(relayer.address)
    const legacy = Transaction.from(await rpc.result('eth_signTransaction', [{ ...given, gasPrice: '0x77359400' }]))
    expect(legacy).toMatchObject({ type: 0, gasPrice: 2_000_000_000n })
    for (const missing of ['nonce', 'gas'] as const) {
      const { error } = await rpc.call('eth_signTransaction', [{ ...given, ...prices, [missing]: undefined }])
      expect(error).toMatchObject({ code: -32_602, message: expect.stringContaining(`${missing} must be given`) })
    }
  })

  test('rejects accounts other than the relayer’s', async () => {
    const { rpc } = await start()
    const other = `0x${'11'.repeat(20)}`
    for (const [method, params] of [
      ['personal_sign', ['a', other]],
      ['eth_signTypedData_v4', [other, {}]],
      ['eth_signTransaction', [{ from: other }]],
      ['eth_sendTransaction', [{ from: other, to: other, value: '0x1' }]],
    ] as const) {
      expect.soft((await rpc.call(method, [...params])).error, method).toMatchObject({ code: 4_100 })
    }
  })
})

describe('rights', () => {
  test('checks the scopes for each call of a batch', async () => {
    const { client, url, relayer } = await start()
    const calls = [
      call('eth_chainId', [], 'any'),
      call('personal_sign', ['a', relayer.address], 'sign'),
      call('eth_sendTransaction', [{ to: relayer.address }], 'send'),
      call('eth_blockNumber', [], 'read'),
    ]
    for (const scope of ['sign', 'send', 'read'] as const) {
      const { data } = await client.post('/api/v1/api-keys', { body: { name: scope, scopes: [scope] } })
      const { answer } = await jsonRpcOf(url, data.token, relayer.id).post(calls)
      const refused = answer.filter(({ error }: Answer) => error?.code === 4_100).map(({ id }: Answer) => id)
      expect(refused).toEqual(['sign', 'send', 'read'].filter((other) => other !== scope))
    }
    const { data } = await client.post('/api/v1/api-keys', { body: { name: 'none', scopes: ['notifications'] } })
    expect((await jsonRpcOf(url, data.token, relayer.id).post(calls)).status).toBe(403)
  })

  test('applies policies and a pause, and names them in the error', async () => {
    const { rpc, client, relayer } = await start({}, { allow_messages: false, allow_sign_transaction: false })
    const { error } = await rpc.call('personal_sign', ['a', relayer.address])
    expect(error).toMatchObject({
      code: 4_001,
      message: 'policies/allow_messages: This relayer does not sign messages',
      data: { code: 'policy_violation', details: [{ path: 'policies/allow_messages' }] },
    })
    const path = { relayer_id: relayer.id }
    await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: true } })
    expect((await rpc.call('personal_sign', ['a', relayer.address])).error).toMatchObject({ code: 4_100 })
    expect(await rpc.result('eth_chainId')).toBe('0x7a69')
  })

  test('records each signature as its operation in the audit trail, also a refused one', async () => {
    const { rpc, client, relayer } = await start()
    await rpc.post(
      [
        call('personal_sign', ['one', relayer.address]),
        call('personal_sign', ['two', relayer.address]),
        call('eth_sign'),
      ],
      { 'X-Request-Id': 'batch-1' },
    )
    const path = { relayer_id: relayer.id }
    await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { allow_messages: false } } })
    await rpc.call('personal_sign', ['three', relayer.address])
    const entries = async () => {
      const { data } = await client.get('/api/v1/audit', {
        query: { operation: 'signMessage', relayer_id: relayer.id },
      })
      return data.map(({ subject, http_status }) => [subject, http_status]).toReversed()
    }
    await expect.poll(entries).toEqual([
      [hashMessage('one'), 200],
      [hashMessage('two'), 200],
      [hashMessage('three'), 403],
    ])
    const { data } = await client.get('/api/v1/audit', { query: { operation: 'signMessage' } })
    expect(data.filter(({ request_id }) => request_id === 'batch-1')).toHaveLength(2)
  })
})
