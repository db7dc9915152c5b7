import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient, RelayerError } from '../../../client/index.ts'
import type { UpdateRelayerRequest } from '../../../generated/client.ts'
import { testChain } from '../../support/chain.ts'
import { startHeldSigner } from '../../support/held-signer.ts'
import { testLiar } from '../../support/liar.ts'
import { json, rawRequest } from '../../support/raw-http.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const base = '/api/v1/relayers/{relayer_id}'

/** A relayer whose key a slow remote signer holds, and an API key that may sign with it. */
async function slowRelayer() {
  const service = await startTestService()
  const { client, url } = service
  const held = await startHeldSigner()
  onTestFinished(held.stop)
  const body = { type: 'remote' as const, config: { url: held.url, address: held.address } }
  const { data: signer } = await client.post('/api/v1/signers', { body: body as never })
  const network = { network: 'local', network_type: 'evm' } as const
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: { ...network, name: 'slow', paused: false, signer_id: signer.id },
  })
  const { data: key } = await client.post('/api/v1/api-keys', { body: { name: 'signer', scopes: ['sign'] } })
  const caller = createRelayerClient({ baseUrl: url, token: key.token, maxRetries: 0 })
  held.hold()
  return { service, client, held, relayer, key: key.api_key, token: key.token, caller }
}

const code = (error: unknown) =>
  error instanceof RelayerError ? { status: error.status, code: error.code } : Promise.reject(error)

type Parts = Awaited<ReturnType<typeof slowRelayer>>
const revoke = ({ client, key }: Parts) =>
  client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: key.id } })
const update = (body: UpdateRelayerRequest) => (parts: Parts) =>
  parts.client.patch(base, { path: { relayer_id: parts.relayer.id }, body })

/** What ends the right to sign, and the refusal of each path. */
const ends: [string, (parts: Parts) => Promise<unknown>, { status: number; code: string }][] = [
  ['a revocation', revoke, { status: 401, code: 'unauthorized' }],
  ['a pause', update({ paused: true }), { status: 403, code: 'relayer_paused' }],
  ['a changed policy', update({ policies: { allow_messages: false } }), { status: 403, code: 'policy_violation' }],
  [
    'a removed scope',
    ({ client, key }) =>
      client.patch('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: key.id }, body: { scopes: ['read'] } }),
    { status: 403, code: 'forbidden' },
  ],
]

test.each(ends)('sign/batch uses the key no more after %s', async (_, end, refusal) => {
  const parts = await slowRelayer()
  const { caller, held, relayer } = parts
  const items = Array.from({ length: 20 }, (_, index) => ({ message: `${index}` }))
  const asked = caller.post(`${base}/sign/batch`, { path: { relayer_id: relayer.id }, body: { items } })
  const outcome = asked.then(() => 'signed', code)
  await held.held(1)
  await end(parts)
  held.release()
  expect(await outcome).toEqual(refusal)
  expect(held.asked()).toBe(1)
})

test.each(ends)('a JSON-RPC batch uses the key no more after %s', async (_, end, refusal) => {
  const parts = await slowRelayer()
  const { held, relayer, service, token } = parts
  const calls = Array.from({ length: 50 }, (_, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'personal_sign',
    params: [`${id}`, relayer.address],
  }))
  const asked = service.raw(`/api/v1/relayers/${relayer.id}/rpc`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(calls),
  })
  await held.held(8)
  await end(parts)
  held.release()
  const answers = (await (await asked).json()) as { result?: string; error?: { code: number } }[]
  expect(held.asked()).toBe(8)
  expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(8)
  const told = refusal.code === 'policy_violation' ? 4001 : 4100
  expect(answers.filter(({ error }) => error?.code === told)).toHaveLength(42)
})

test.each(ends)(
  'a signature that waits for its turn at the key service is not made after %s',
  async (_, end, refusal) => {
    const parts = await slowRelayer()
    const { caller, held, relayer } = parts
    const sign = (index: number) =>
      caller.post(`${base}/sign`, { path: { relayer_id: relayer.id }, body: { message: `${index}` } })
    const outcomes = Array.from({ length: 80 }, (_, index) => sign(index).then(() => 'signed', code))
    await held.held(64)
    // The others have arrived, and wait.
    await pause(100)
    await end(parts)
    held.release()
    const told = await Promise.all(outcomes)
    // On a busy machine a call to the key service can end at its time limit: it is not repeated either.
    const refused = told.filter((one) => one !== 'signed')
    expect(held.asked()).toBe(64)
    expect(refused.length).toBeGreaterThanOrEqual(16)
    expect(refused).toEqual(refused.map(() => refusal))
  },
)

test('authenticates the caller again when the body is complete, whichever operation it is for', async () => {
  const service = await startTestService()
  const { data } = await service.client.post('/api/v1/api-keys', {
    body: { name: 'slow', scopes: ['sign', 'send', 'read', 'notifications', 'manage'] },
  })
  const bodies: [string, string][] = [
    ['POST /api/v1/relayers/demo/sign', '{"message":"Hello"}'],
    ['POST /api/v1/relayers/demo/rpc', '{"jsonrpc":"2.0","id":1,"method":"personal_sign","params":["0x00"]}'],
    ['PATCH /api/v1/relayers/demo', '{"paused":true}'],
    ['POST /api/v1/notifications', '{"url":"http://127.0.0.1:1/"}'],
  ]
  const slow = bodies.map(([path, body]) => {
    const one = { answer: '', socket: connect(Number(new URL(service.url).port), '127.0.0.1'), last: body.slice(-1) }
    const bytes = rawRequest(path, [`Authorization: Bearer ${data.token}`, ...json(body)], body.slice(0, -1))
    one.socket.on('data', (chunk) => {
      one.answer += chunk.toString('latin1')
    })
    one.socket.write(bytes)
    onTestFinished(() => void one.socket.destroy())
    return one
  })
  // The headers have been read: their connections are counted for the key.
  await pause(200)
  await service.client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: data.api_key.id } })
  for (const { socket, last } of slow) socket.write(last)
  await until('all are answered', () => slow.every(({ answer }) => answer !== ''))
  expect(slow.map(({ answer }) => answer.slice(0, 12))).toEqual(bodies.map(() => 'HTTP/1.1 401'))
})

test.each(['transactions', 'transactions/batch'])(
  'accepts no transaction (%s) of a key that was revoked while the chain was asked',
  async (path) => {
    const chain = await testChain()
    const node = await testLiar(chain)
    const { client, url } = await startTestService()
    const { id, address } = await createRelayer(client, { custom_rpc_urls: [node.url] })
    await chain.setBalance(address, 10n ** 20n)
    const { data: key } = await client.post('/api/v1/api-keys', { body: { name: 'sender', scopes: ['send'] } })
    const estimate = Promise.withResolvers<undefined>()
    node.lie = (method) => (method === 'eth_estimateGas' ? estimate.promise : undefined)
    const transaction = { to: `0x${'5a'.repeat(20)}`, value: '1' }
    const sent = fetch(`${url}/api/v1/relayers/${id}/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(path === 'transactions' ? transaction : { transactions: [transaction, transaction] }),
    })
    await until('the gas is estimated', () => (node.counts.eth_estimateGas ?? 0) > 0)
    await client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: key.api_key.id } })
    estimate.resolve(undefined)
    expect((await sent).status).toBe(401)
    const { pagination } = await client.get(`${base}/transactions/`, { path: { relayer_id: id } })
    expect(pagination.total_items).toBe(0)
  },
)
