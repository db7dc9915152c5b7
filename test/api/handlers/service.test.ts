import { expect, test } from 'vitest'
import { createRelayerClient } from '../../../client/index.ts'
import contract from '../../../generated/openapi.json' with { type: 'json' }
import { yieldToEventLoop } from '../../../server/lib/timers.ts'
import { startFakeWeb3signer } from '../../support/fake-web3signer.ts'
import { testRig } from '../../support/test-rig.ts'

test('shows the process, its database and the incidents, also of before its start, to those who manage all relayers', async () => {
  const rig = await testRig({ proxies: 1 })
  const client = rig.client()
  const account = await rig.addAccount()
  const state = async () => (await client.get('/api/v1/service')).data
  const first = await state()
  expect(first).toMatchObject({
    version: contract.info.version,
    node_version: process.versions.node,
    not_ready: [],
    key_services: [],
    incidents: [],
    database: { engine: process.env.TEST_DATABASE === 'postgres' ? 'postgres' : 'sqlite' },
  })
  expect(first.memory_bytes).toBeGreaterThan(2 ** 25)
  expect(first.database.size_bytes).toBeGreaterThan(4_096)
  expect(first.servers.filter(({ is_this }) => is_this)).toHaveLength(first.database.engine === 'postgres' ? 1 : 0)

  const host = new URL(rig.proxy.url).host
  const incidents = async () =>
    (await state()).incidents.filter(({ subject }) => subject === host).map(({ severity }) => severity)
  const path = { relayer_id: account.relayer_id }
  const ask = () => client.post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path }).catch(() => undefined)
  await rig.proxy.setFault({ kind: 'http_502_html' })
  await expect.poll(async () => ask().then(incidents)).toEqual(['warning'])
  await rig.proxy.setFault(undefined)
  await expect.poll(async () => ask().then(incidents)).toEqual(['over', 'warning'])
  await rig.restart()
  const after = (await rig.client().get('/api/v1/service')).data.incidents.filter(({ subject }) => subject === host)
  expect(after.map(({ severity }) => severity)).toEqual(['over', 'warning'])

  const { token } = (await rig.client().post('/api/v1/api-keys', { body: { name: 'reader', scopes: ['read'] } })).data
  const reader = createRelayerClient({ baseUrl: rig.url(), token })
  await expect(reader.get('/api/v1/service')).rejects.toMatchObject({ status: 403 })
})

test('shows how long work waits for the event loop', async () => {
  const rig = await testRig()
  const waits = async () => (await rig.client().get('/api/v1/service')).data.event_loop_ms
  let isBusy = true
  const work = async () => {
    while (isBusy) {
      await yieldToEventLoop()
      const end = performance.now() + 20
      while (performance.now() < end);
    }
  }
  const working = [work(), work()]
  expect(await waits()).toBeGreaterThanOrEqual(10)
  isBusy = false
  await Promise.all(working)
})

test('shows the calls of each type of key service, with the keys that fail now and the last error', async () => {
  const keyService = await startFakeWeb3signer()
  const rig = await testRig({ settings: { ALLOW_PRIVATE_TARGETS: 'true' } })
  const client = rig.client()
  const { url, address } = keyService
  const { relayer_id } = await rig.addAccount({ signer: { type: 'remote', config: { url, address } } })
  const sign = () =>
    client
      .post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id }, body: { message: 'hello' } })
      .catch(() => undefined)
  const state = async () => (await client.get('/api/v1/service')).data.key_services
  await sign()
  expect(await state()).toMatchObject([{ type: 'remote', failed_calls_count: 0, failing: [], last_error: null }])
  keyService.faults.error = 'down'
  await expect.poll(async () => sign().then(state)).toMatchObject([{ failing: [{ address }], last_error: { address } }])
  expect((await state())[0]?.failed_calls_count).toBeGreaterThan(0)
  keyService.faults.error = undefined
  await expect.poll(async () => sign().then(state)).toMatchObject([{ failing: [], last_error: { address } }])
})
