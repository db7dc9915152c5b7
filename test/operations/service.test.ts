import { expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { testRig } from '../support/test-rig.ts'

test('shows the process, its database and the incidents since its start, to those who manage all relayers', async () => {
  const rig = await testRig({ proxies: 1 })
  const client = rig.client()
  const account = await rig.addAccount()
  const state = async () => (await client.get('/api/v1/service')).data
  const first = await state()
  expect(first).toMatchObject({
    version: contract.info.version,
    node_version: process.versions.node,
    not_ready: [],
    incidents: [],
    database: { engine: process.env.TEST_DATABASE === 'postgres' ? 'postgres' : 'sqlite' },
  })
  expect(first.memory_bytes).toBeGreaterThan(2 ** 25)
  expect(first.database.bytes).toBeGreaterThan(4_096)
  expect(first.servers.filter(({ is_this }) => is_this)).toHaveLength(first.database.engine === 'postgres' ? 1 : 0)

  const host = new URL(rig.proxy.url).host
  const incidents = async () =>
    (await state()).incidents.filter(({ subject }) => subject === host).map(({ severity }) => severity)
  const path = { relayer_id: account.relayer_id }
  const ask = () => client.post('/api/v1/relayers/{relayer_id}/nonce/heal', { path }).catch(() => undefined)
  await rig.proxy.setFault({ kind: 'http_502_html' })
  await expect.poll(async () => ask().then(incidents)).toEqual(['warning'])
  await rig.proxy.setFault(undefined)
  await expect.poll(async () => ask().then(incidents)).toEqual(['over', 'warning'])

  const { token } = (await client.post('/api/v1/api-keys', { body: { name: 'reader', scopes: ['read'] } })).data
  const reader = createRelayerClient({ baseUrl: rig.url(), token })
  await expect(reader.get('/api/v1/service')).rejects.toMatchObject({ status: 403 })
})
