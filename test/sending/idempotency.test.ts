import { request } from 'node:http'
import { expect, test } from 'vitest'
import type { Anvil } from '../support/anvil.ts'
import { testChain } from '../support/chain.ts'
import { operations } from '../support/contract.ts'
import { testLiar } from '../support/liar.ts'
import { startTestService, type TestService, temporaryFolder } from '../support/service.ts'
import { play, sponsoredRig } from '../support/sponsorship.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const sending = '/api/v1/relayers/demo/transactions'

async function fund({ client }: TestService, chain: Anvil) {
  const rpcUrls = [chain.url]
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: rpcUrls },
  })
  const { data } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  await chain.setBalance(data.address, 10n ** 20n)
}

async function start(settings: Record<string, string> = {}) {
  const chain = await testChain()
  const service = await startTestService(settings)
  await fund(service, chain)
  return { ...service, chain }
}

/** The status and the body, to the byte. `key`: of the header; absent: none. */
async function post({ raw, api_key }: TestService, body: string | object, key?: string, path = sending) {
  const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': 'application/json' }
  const response = await raw(path, {
    method: 'POST',
    headers: key === undefined ? headers : { ...headers, 'Idempotency-Key': key },
    body: typeof body === 'string' ? body : JSON.stringify({ to, ...body }),
  })
  return { status: response.status, text: await response.text() }
}

const idOf = ({ text }: { text: string }): string => JSON.parse(text).data.id
const list = async ({ client }: TestService, relayerId = 'demo') =>
  Array.fromAsync(client.all('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: relayerId } }))

test('returns the first response byte for byte for the same key and body, after later changes and a restart', async () => {
  const DataDir = temporaryFolder()
  const service = await start({ DATA_DIR: DataDir })
  const path = { relayer_id: 'demo' }
  const first = await post(service, { value: '1' }, 'once')
  expect(first.status).toBe(201)
  await expect.poll(() => list(service)).toMatchObject([{ status: 'confirmed' }])
  expect(await post(service, { value: '1' }, 'once')).toEqual(first)

  await service.close()
  const again = await startTestService({ DATA_DIR: DataDir })
  // Nothing that a new transaction needs is there: neither a chain, nor funds, nor the leave to send.
  await service.chain.stop()
  expect(await post(again, { value: '1' }, 'once')).toEqual(first)
  expect(await post(again, { value: '2' }, 'once')).toMatchObject({ status: 422 })
  await again.client.patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: true } })
  expect(await post(again, { value: '1' }, 'once')).toEqual(first)
  expect(await list(again)).toMatchObject([{ id: idOf(first), status: 'confirmed', nonce: 0 }])
})

test('returns the first response also when valid_until has passed', async () => {
  const chain = await testChain()
  const clock = { ahead_ms: 0 }
  const service = await startTestService({}, { now: () => Date.now() + clock.ahead_ms })
  await fund(service, chain)
  const body = { value: '1', valid_until: new Date(Date.now() + 60_000).toISOString() }
  const first = await post(service, body, 'timed')
  expect(first.status).toBe(201)
  clock.ahead_ms = 3_600_000
  expect(await post(service, body, 'timed')).toEqual(first)
  expect(await post(service, body, 'later')).toMatchObject({ status: 400 })
})

test('says of a repeated response that it is one, for one transaction, a batch and JSON-RPC', async () => {
  const { raw, api_key } = await start()
  const ask = async (path: string, body: object, key: string) => {
    const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': 'application/json', 'Idempotency-Key': key }
    const response = await raw(path, { method: 'POST', headers, body: JSON.stringify(body) })
    return [response.status, response.headers.get('Idempotent-Replayed')]
  }
  const one = () => ask(sending, { to, value: '1' }, 'one')
  const batch = () => ask(`${sending}/batch`, { transactions: [{ to, value: '2' }] }, 'batch')
  const call = { jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params: [{ to, value: '0x3' }] }
  const jsonRpc = () => ask(sending.replace('transactions', 'rpc'), call, 'call')
  const works = [
    { work: one, status: 201 },
    { work: batch, status: 201 },
    { work: jsonRpc, status: 200 },
  ]
  for (const { work, status } of works) {
    expect(await work()).toEqual([status, null])
    expect(await work()).toEqual([status, 'true'])
  }
  // A key that stands for one transaction does not stand for a batch.
  expect(await ask(`${sending}/batch`, { transactions: [{ to, value: '1' }] }, 'one')).toEqual([422, null])
  expect(await ask(sending, { to, value: '2' }, 'batch')).toEqual([422, null])
})

test('distinguishes equal from different bodies', async () => {
  const service = await start()
  const first = await post(service, `{"to":"${to}","value":"1","speed":"fast"}`, 'key')
  expect(first.status).toBe(201)
  const same = [`{"speed":"fast","value":"1","to":"${to}"}`, `{ "value": "1",\n "to": "${to}", "speed": "f\\u0061st" }`]
  for (const body of same) expect(await post(service, body, 'key')).toEqual(first)
  const others = [
    { value: '2', speed: 'fast' },
    { value: '1' },
    { value: '1', speed: 'fastest' },
    { value: '1', speed: 'fast', data: '0x01' },
  ]
  for (const body of others) {
    const { status, text } = await post(service, body, 'key')
    const failure = JSON.parse(text)
    expect([status, failure.code, failure.details[0]?.path]).toEqual([
      422,
      'idempotency_mismatch',
      '/headers/idempotency-key',
    ])
    expect(failure.transaction).toEqual({ id: idOf(first), relayer_id: 'demo' })
  }
  // Two integers that are the same double.
  const large = (value: string) => post(service, `{"to":"${to}","value":${value}}`, 'large')
  const accepted = await large('9007199254740993')
  expect([accepted.status, (await large('9007199254740992')).status]).toEqual([201, 422])
  expect(await large('9007199254740993')).toEqual(accepted)
  expect(await list(service)).toHaveLength(2)
})

test('creates one transaction for 100 concurrent requests with one key, also in two processes', async () => {
  const DataDir = temporaryFolder()
  const first = await start({ DATA_DIR: DataDir })
  const second = await startTestService({ DATA_DIR: DataDir })
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => post(index % 2 ? first : second, { value: '7' }, 'burst')),
  )
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers.every(({ status }) => status === 201)).toBe(true)
  await expect.poll(() => list(first)).toMatchObject([{ value: '7', status: 'confirmed' }])
  const { data } = await first.client.get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id: 'demo' } })
  expect(data).toMatchObject({ next_nonce: 1, chain_latest_nonce: 1, chain_pending_nonce: 1 })
})

test('accepts a key in quotes, limits it to its relayer, and treats requests without a key as separate', async () => {
  const service = await start()
  const { client, chain } = service
  const first = await post(service, { value: '1' }, 'a-key')
  expect(await post(service, { value: '1' }, '"a-key"')).toEqual(first)
  const spaced = await post(service, { value: '1' }, '"a key"')
  expect(idOf(spaced)).not.toBe(idOf(first))

  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const other = { id: 'other', name: 'Other', network: 'local', network_type: 'evm', paused: false } as const
  const { data: relayer } = await client.post('/api/v1/relayers', { body: { ...other, signer_id: signer.id } })
  await chain.setBalance(relayer.address, 10n ** 20n)
  const elsewhere = await post(service, { value: '2' }, 'a-key', sending.replace('demo', 'other'))
  expect([elsewhere.status, JSON.parse(elsewhere.text).data]).toMatchObject([201, { nonce: 0, relayer_id: 'other' }])

  const bare = [await post(service, { value: '1' }), await post(service, { value: '1' })]
  expect(bare.map(({ status }) => status)).toEqual([201, 201])
  expect(await list(service)).toHaveLength(4)
})

test('rejects an invalid key, and keeps the key of a refused request free', async () => {
  const service = await start()
  expect((await post(service, { value: `${10n ** 21n}` }, 'free')).status).toBe(400)
  const keys = [
    '""',
    '"',
    '"a',
    'a"',
    'a"b',
    'a,b',
    'a b',
    '"a\\"',
    'kéy',
    '\ta\tb',
    'k'.repeat(256),
    `"${'k'.repeat(256)}"`,
  ]
  const told = await Promise.all(
    keys.map(async (key) => ({ key, status: (await post(service, { value: '1' }, key)).status })),
  )
  expect(told).toEqual(keys.map((key) => ({ key, status: 400 })))
  expect(await postLines(service, ['one', 'two'])).toBe(400)
  expect(await postLines(service, ['one', 'one'])).toBe(400)
  expect(await postLines(service, ['"one"', '"one"'])).toBe(400)
  expect(await postLines(service, [''])).toBe(400)
  expect(await list(service)).toEqual([])
  expect((await post(service, { value: '1' }, 'free')).status).toBe(201)
  const longest = await Promise.all(
    ['k'.repeat(255), `"${'k'.repeat(255)}"`].map((key) => post(service, { value: '1' }, key)),
  )
  expect(longest.map(({ status }) => status)).toEqual([201, 201])
  expect(longest[0]).toEqual(longest[1])
})

/** Sends one header line for each key. Resolves to the status. */
const postLines = ({ url, api_key }: TestService, keys: string[]) =>
  new Promise<number | undefined>((resolve, reject) => {
    const headers = { Authorization: `Bearer ${api_key}`, 'Content-Type': 'application/json', 'Idempotency-Key': keys }
    const outgoing = request(`${url}${sending}`, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    outgoing.on('error', reject)
    outgoing.end(JSON.stringify({ to, value: '1' }))
  })

test('returns the first response after the relayer was deleted and made again with its id', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const { data: relayer } = await rig.client().get('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: account.relayer_id },
  })
  const send = () =>
    rig.client().post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id: relayer.id },
      header: { 'Idempotency-Key': 'order-1' },
      body: { to: `0x${'5a'.repeat(20)}`, value: '1' },
    })
  const { data: first } = await send()
  await account.finished(rig.chain.mine)
  await rig.client().delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayer.id } })
  await expect(rig.client().transactions.get(first.id)).rejects.toMatchObject({
    status: 404,
    details: [
      {
        path: '/path/transaction_id',
        message: `the relayer ${relayer.id}, which had this transaction, was deleted, and its transactions with it`,
      },
    ],
  })
  const { id, name, network, network_type, signer_id } = relayer
  await rig.client().post('/api/v1/relayers', {
    body: { id, name, network, network_type, signer_id, paused: false, policies: {} },
  })
  expect((await send()).data).toEqual(first)
  expect(await account.latest()).toBe(1)
})

test('takes members in another order, nested ones too, for the same request', async () => {
  const service = await start()
  const first = await post(service, { value: '5', metadata: { invoice: '7', customer: 'a' } }, 'order')
  const again = await post(service, { metadata: { customer: 'a', invoice: '7' }, value: '5' }, 'order')
  expect([first.status, again.status]).toEqual([201, 201])
  expect(again.text).toBe(first.text)
  const other = await post(service, { value: '5', metadata: { invoice: '8', customer: 'a' } }, 'order')
  expect(other.status).toBe(422)
})

test('refuses a key where it has no effect, in every operation that does not declare it', async () => {
  const { raw, api_key } = await startTestService({ RATE_LIMIT_BURST: '10000' })
  const without = operations.filter(
    ({ guarded, parameters }) => guarded && !parameters.some(({ name }) => name === 'Idempotency-Key'),
  )
  expect(without.length).toBeGreaterThan(60)
  for (const { id, method, path, bodies } of without) {
    const [type] = Object.keys(bodies)
    const headers = {
      Authorization: `Bearer ${api_key}`,
      'Idempotency-Key': 'a',
      ...(type && { 'Content-Type': type }),
    }
    const response = await raw(path.replaceAll(/\{\w+\}/g, 'a'), { method, headers, ...(type && { body: '{}' }) })
    const { details } = (await response.json()) as { details: { path: string }[] }
    expect.soft([response.status, details?.[0]?.path], id).toEqual([400, '/headers/idempotency-key'])
  }
})

test('honours a key in every operation that declares it: the first answer again, and nothing is sent twice', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const { rig, client, relayer, token } = its
  const pool = await client.pools.create({ id: 'pool', network: 'local', relayer_ids: [relayer.id] })
  const swept = (await rig.addAccount()).relayer_id
  const sent = await client.transactions.send(relayer.id, { to, value: '1' }, { wait: 'submitted' })
  const relayers = `relayers/${relayer.id}`
  const transfer = { to, value: '1' }
  // What waits behind a transaction that no node takes can be moved.
  const node = await testLiar(rig.chain)
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  const [stuck, spare] = [await rig.addAccount({ rpc_urls: [node.url] }), await rig.addAccount()]
  const both = [stuck.relayer_id, spare.relayer_id]
  await client.pools.create({ id: 'moving', network: 'local', relayer_ids: both, weights: { [spare.relayer_id]: 0 } })
  await client.pools.sendTransaction('moving', { ...transfer, gas_limit: 21_000 })
  await until('it is refused', async () => (await stuck.transactions())[0]?.status_reason !== null)
  const waiting = await client.pools.sendTransaction('moving', { ...transfer, gas_limit: 21_000 })
  await client.pools.update('moving', { weights: { [spare.relayer_id]: 100 } }, { revision: '*' })
  const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params: [params] })
  const sending = call('eth_sendTransaction', { to, value: '0x1' })
  const requests: Record<string, [path: string, body: object | undefined, token?: string]> = {
    sendTransaction: [`${relayers}/transactions`, transfer],
    sendTransactionBatch: [`${relayers}/transactions/batch`, { transactions: [transfer, transfer] }],
    speedUpTransaction: [`${relayers}/transactions/${sent.id}/speed-up`, {}],
    sweepRelayer: [`relayers/${swept}/sweep`, { to }],
    callRelayerJsonRpc: [`${relayers}/rpc`, sending],
    sendPoolTransaction: [`pools/${pool.id}/transactions`, transfer],
    movePoolTransaction: [`pools/moving/transactions/${waiting.id}/move`, undefined],
    sendPoolTransactionBatch: [`pools/${pool.id}/transactions/batch`, { transactions: [transfer] }],
    callPoolJsonRpc: [`pools/${pool.id}/rpc`, sending],
    sendSponsoredCall: ['sponsorships/game/calls', { to: its.game, data: play(1) }, token],
    callSponsoredJsonRpc: [
      'rpc',
      call('relayer_sendTransaction', { chainId: '31337', to: its.game, data: play(2) }),
      token,
    ],
  }
  const declaring = operations.filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'))
  expect(Object.keys(requests).sort()).toEqual(declaring.map(({ id }) => id).sort())

  const count = async () =>
    (await client.get('/api/v1/transactions', { query: { per_page: 0 } })).pagination.total_items
  for (const [id, [path, body, as = rig.api_key]] of Object.entries(requests)) {
    const ask = async () => {
      const headers = { Authorization: `Bearer ${as}`, 'Content-Type': 'application/json', 'Idempotency-Key': id }
      const response = await fetch(`${rig.url()}/api/v1/${path}`, {
        method: 'POST',
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      // The call of a sponsorship is shown as it is now.
      const text = (await response.text()).replaceAll(/"(?:hash|status)":(?:"\w+"|null)/g, '')
      return { ok: response.ok, text }
    }
    const first = await ask()
    expect.soft([id, first.ok, first.text.includes('"error":{')]).toEqual([id, true, false])
    const before = await count()
    expect.soft([id, await ask()]).toEqual([id, first])
    expect.soft([id, await count()]).toEqual([id, before])
  }
})
