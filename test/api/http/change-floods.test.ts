import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerError } from '../../../client/index.ts'
import { Authentication } from '../../../server/api/http/authentication.ts'
import type { ApiKeyRow } from '../../../server/domain/rows.ts'
import { makeToken } from '../../../server/lib/ids.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'

test('refuses the changes of a key above its rate, each counted as five requests', async () => {
  const clock = { now_ms: 5_000 }
  const { client, url } = await startTestService({}, { elapsed: () => clock.now_ms })
  const { id } = await createRelayer(client)
  const { data } = await client.post('/api/v1/api-keys', {
    body: {
      ...{ name: 'tenant', scopes: ['manage', 'notifications'], relayer_ids: [id] },
      rate_limit: { per_second: 1, burst: 10 },
    },
  })
  const tenant = createRelayerClient({ baseUrl: url, token: data.token, maxRetries: 0 })
  const statuses = async (change: (index: number) => Promise<unknown>) => {
    const answers = Array.from({ length: 20 }, (_, index) =>
      change(index).then(
        () => 200,
        (error) => (error as RelayerError).status,
      ),
    )
    return (await Promise.all(answers)).filter((status) => status !== 429)
  }
  const path = { relayer_id: id }
  const rename = (index: number) => tenant.patch('/api/v1/relayers/{relayer_id}', { path, body: { name: `${index}` } })
  const notify = () => tenant.post('/api/v1/notifications', { body: { url: 'http://127.0.0.1:1/' } })
  expect(await statuses(rename)).toEqual([200, 200])
  expect(await statuses(notify)).toEqual([])
  clock.now_ms += 10_000
  expect(await statuses(notify)).toEqual([200, 200])
})

test('counts each URL of a node that a change names as a request more', async () => {
  const { client, url } = await startTestService({}, { elapsed: () => 5_000 })
  const { id } = await createRelayer(client)
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: 'tenant', scopes: ['manage'], relayer_ids: [id], rate_limit: { per_second: 1, burst: 100 } },
  })
  const tenant = createRelayerClient({ baseUrl: url, token: data.token, maxRetries: 0 })
  const path = { relayer_id: id }
  const change = (index: number) => {
    const customRpcUrls = Array.from({ length: 20 }, (_, its) => `http://127.0.0.1:1/${index}-${its}`)
    return tenant.patch('/api/v1/relayers/{relayer_id}', { path, body: { custom_rpc_urls: customRpcUrls } })
  }
  let changes = 0
  while (
    changes < 20 &&
    (await change(changes).then(
      () => true,
      (error) => error.status !== 429,
    ))
  )
    changes += 1
  expect(changes).toBe(4)
})

test('reads the row of a key only for its own next request, not the rows of all keys at each change', async () => {
  const keys = Array.from({ length: 3 }, (_, index) => {
    const id = `00000000-0000-4000-8000-00000000000${index}`
    const { token, secret_hash } = makeToken(id)
    const row = {
      id,
      secret_hash,
      former_tokens: null,
      previous_token_expires_at: null,
      scopes: ['sign'],
      relayer_ids: null,
    }
    return { token, row: { ...row, allowed_cidrs: null, rate_limit: null, expires_at: null } as unknown as ApiKeyRow }
  })
  const rows = new Map(keys.map(({ row }) => [row.id, row]))
  const read: string[] = []
  let generation = 1
  const authentication = new Authentication({
    api_key: 'a'.repeat(32),
    async apiKey(id) {
      read.push(id)
      return rows.get(id)
    },
    generation: async () => generation,
    now: () => 0,
    noteUse() {},
    trusted_proxies: [],
  })
  const ask = (token: string) =>
    authentication.identify({ headers: { authorization: `Bearer ${token}` }, rawHeaders: [], socket: {} } as never)
  const [first, second] = keys as [(typeof keys)[0], (typeof keys)[0]]

  await Promise.all([ask(first.token), ask(first.token)])
  expect(read).toEqual([first.row.id])
  generation += 1
  await Promise.all([ask(second.token), ask(second.token)])
  expect(read).toEqual([first.row.id, second.row.id])
  // A revocation applies to the next request.
  rows.delete(first.row.id)
  generation += 1
  await expect(ask(first.token)).rejects.toMatchObject({ code: 'unauthorized' })
})

test('counts a large response once more for each 64 KiB, whichever operation gives it', async () => {
  const { client, url } = await startTestService({}, { elapsed: () => 5_000 })
  const receivers = Array.from({ length: 1_000 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`)
  const functions = receivers.slice(0, 100).map((address) => ({
    address,
    selectors: Array.from({ length: 50 }, (_, index) => `0x${(index + 1).toString(16).padStart(8, '0')}`),
  }))
  const policies = { whitelist_receivers: receivers, allowed_functions: functions }
  const { id } = await createRelayer(client, { policies })
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: 'reader', scopes: ['read'], relayer_ids: [id], rate_limit: { per_second: 1, burst: 10 } },
  })
  const headers = { Authorization: `Bearer ${data.token}` }
  const sizes: number[] = []
  while (sizes.length < 10) {
    const answer = await fetch(`${url}/api/v1/relayers/${id}`, { headers })
    if (answer.status === 429) break
    sizes.push((await answer.text()).length)
  }
  expect(sizes[0]).toBeGreaterThan(64 * 1024)
  expect(sizes.length).toBeLessThanOrEqual(5)
})

test.each(['declared', 'chunked'])('counts a large body once more for each 64 KiB: its length is %s', async (how) => {
  const { client, url } = await startTestService({}, { elapsed: () => 5_000 })
  const { id } = await createRelayer(client)
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: 'signer', scopes: ['sign'], relayer_ids: [id], rate_limit: { per_second: 1, burst: 20 } },
  })
  const text = JSON.stringify({ message: 'x'.repeat(256 * 1024) })
  const statuses: number[] = []
  for (let count = 0; count < 20; count += 1) {
    const body = how === 'declared' ? text : new Blob([text]).stream()
    const answer = await fetch(`${url}/api/v1/relayers/${id}/sign`, {
      ...{ method: 'POST', body, duplex: 'half' },
      headers: { Authorization: `Bearer ${data.token}`, 'Content-Type': 'application/json' },
    })
    await answer.arrayBuffer()
    statuses.push(answer.status)
  }
  expect(statuses.filter((status) => status !== 429)).toHaveLength(4)
})
