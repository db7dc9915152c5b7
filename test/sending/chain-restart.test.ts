import { expect, test } from 'vitest'
import { RelayerError } from '../../client/index.ts'
import { startTestService } from '../support/service.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const heal = '/api/v1/relayers/{relayer_id}/nonce/reconcile'
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('It was not refused'),
    (error) => (error instanceof RelayerError ? { status: error.status, ...error.details[0] } : Promise.reject(error)),
  )

test('heals after a restart of a test chain: unfinished transactions end, and nonces start again', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const path = { relayer_id: account.relayer_id }
  const nonce = async () => (await rig.client().get('/api/v1/relayers/{relayer_id}/nonce', { path })).data
  const restarted = () => rig.client().post(heal, { path, body: { chain_restarted: true } })
  const find = async (id: string) => (await account.transactions()).find((transaction) => transaction.id === id)

  const before = await account.send(3)
  await account.finished(rig.chain.mine)
  expect(await refusal(restarted())).toMatchObject({ status: 409, path: '/body/chain_restarted' })
  const unfinished = await account.send(2)
  await until('a node has them', async () => (await find(unfinished[1]?.id ?? ''))?.status === 'submitted')

  await rig.chain.restart()
  await rig.chain.setBalance(account.address, 10n ** 24n)
  await until('the restart is noticed', async () => (await nonce()).status === 'chain_restarted')
  expect((await nonce()).summary).toContain('{"chain_restarted": true}')
  for (const body of [undefined, {}, { chain_restarted: false }]) {
    expect(await refusal(rig.client().post(heal, { path, ...(body && { body }) }))).toMatchObject({ status: 409 })
  }
  expect((await restarted()).data).toMatchObject({ status: 'in_step', next_nonce: 0, chain_latest_nonce: 0 })
  for (const { id } of unfinished) {
    expect(await find(id)).toMatchObject({
      status: 'failed',
      nonce: null,
      status_reason: expect.stringContaining('The chain was restarted'),
    })
  }
  for (const { id } of before) expect(await find(id)).toMatchObject({ status: 'confirmed', nonce: null })
  const { data: status } = await rig.client().get('/api/v1/relayers/{relayer_id}/status', { path })
  expect(status).toMatchObject({ system_disabled: false, disabled_reason: null, pending_transactions_count: 0 })
  const { data: entries } = await rig.client().get('/api/v1/audit', { query: { operation: 'reconcileRelayerNonce' } })
  expect(entries.map(({ relayer_id, http_status }) => [relayer_id, http_status])).toContainEqual([
    account.relayer_id,
    200,
  ])

  const after = await account.send(2)
  expect(after.map((transaction) => transaction.nonce)).toEqual([0, 1])
  await account.finished(rig.chain.mine)
  for (const { id } of after) expect(await find(id)).toMatchObject({ status: 'confirmed' })
  expect(await account.latest()).toBe(2)
})

test('heals only on a test network, and only with a body of the contract', async () => {
  const { client, raw, api_key } = await startTestService()
  const rpcUrls = ['http://127.0.0.1:1']
  await client.post('/api/v1/networks', { body: { name: 'main', network_type: 'evm', chain_id: 5, rpc_urls: rpcUrls } })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const body = {
    id: 'it',
    name: 'It',
    network: 'main',
    network_type: 'evm',
    paused: false,
    signer_id: signer.id,
  } as const
  await client.post('/api/v1/relayers', { body })
  const path = { relayer_id: 'it' }
  const restarted = client.post(heal, { path, body: { chain_restarted: true } })
  expect(await refusal(restarted)).toMatchObject({ status: 409, message: expect.stringContaining('is_testnet') })

  // Without a body it is the plain request, whatever type an empty one claims.
  const bodyless = (headers: Record<string, string>, more: RequestInit = {}) =>
    raw('/api/v1/relayers/it/nonce/reconcile', {
      method: 'POST',
      headers: { Authorization: `Bearer ${api_key}`, ...headers },
      ...more,
    }).then(({ status }) => status)
  expect(await bodyless({})).toBe(503)
  expect(await bodyless({ 'Content-Type': 'application/json' })).toBe(503)
  const json = { 'Content-Type': 'application/json' }
  expect(await bodyless(json, { body: '{"chain_restarted":1}' })).toBe(400)
  expect(await bodyless(json, { body: '{"more":true}' })).toBe(400)
  expect(await bodyless({ 'Content-Type': 'text/plain' }, { body: '{}' })).toBe(415)
})
