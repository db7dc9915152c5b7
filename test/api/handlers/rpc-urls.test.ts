import { expect, test } from 'vitest'
import { createSigner, production } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'
import { columnOf } from '../../support/service-database.ts'

const listPath = '/api/v1/networks'
const onePath = '/api/v1/networks/{network_id}'
const path = { network_id: 'evm:sepolia' }

const sepolia = {
  name: 'sepolia',
  network_type: 'evm' as const,
  chain_id: 11_155_111,
  rpc_urls: ['https://rpc.example.com'],
}

test('shows RPC URLs without path, query and fragment in every response, and stores them whole', async () => {
  const service = await startTestService()
  const given = [
    ['https://rpc.example.com', 'https://rpc.example.com'],
    ['https://rpc.example.com/', 'https://rpc.example.com'],
    ['https://rpc.example.com:8443/v3/secret-1', 'https://rpc.example.com:8443/***'],
    ['http://rpc.example.com?key=secret-2', 'http://rpc.example.com/***'],
    ['https://rpc.example.com/#secret-3', 'https://rpc.example.com/***'],
    ['HTTPS://RPC.example.com/a/../secret-4', 'https://rpc.example.com/***'],
  ] as const
  const urls = given.map(([url], weight) => ({ url, weight }))
  const shown = given.map(([, url], weight) => ({ url, weight }))
  const patch = { method: 'PATCH', body: '{"is_testnet":true}' }
  const answers = [
    await service.raw(listPath, { method: 'POST', body: JSON.stringify({ ...sepolia, rpc_urls: urls }) }),
    await service.raw(`${listPath}/evm:sepolia`),
    await service.raw(`${listPath}/evm:sepolia`, patch),
  ]
  for (const answer of answers) {
    const text = await answer.text()
    expect(text).not.toContain('secret')
    expect(JSON.parse(text).data.rpc_urls).toEqual(shown)
  }
  expect(await (await service.raw(listPath)).text()).not.toContain('secret')
  expect(service.logged.join('')).not.toContain('secret')
  const [stored] = await columnOf<string>(service, "SELECT rpc_urls FROM networks WHERE name = 'sepolia'")
  expect(JSON.parse(stored as string)).toEqual(urls)
  await expect(
    service.client.patch(onePath, { path, body: { rpc_urls: ['https://other.example.com/***'] } }),
    'a masked URL that none of the stored ones has is noticed',
  ).rejects.toMatchObject({ status: 400 })
  // One is removed and another one added, without the secrets of the others.
  const added = { url: 'https://spare.example.com/v3/secret-5', weight: 7 }
  await service.client.patch(onePath, { path, body: { rpc_urls: [...shown.slice(1), added] } })
  const [changed] = await columnOf<string>(service, "SELECT rpc_urls FROM networks WHERE name = 'sepolia'")
  expect(JSON.parse(changed as string)).toEqual([{ ...urls[1], url: urls[0]?.url }, ...urls.slice(2), added])
  // Each stored one is taken once, and of several that look the same nobody knows which one is meant.
  for (const unclear of [[shown[2], shown[2]], [shown[4]]])
    await expect(service.client.patch(onePath, { path, body: { rpc_urls: unclear as never } })).rejects.toMatchObject({
      status: 400,
    })
})

const inside = [
  'http://127.0.0.1:8545',
  'http://localhost',
  'http://10.0.0.1',
  'http://169.254.169.254',
  'http://[::1]',
]

test('refuses private and metadata addresses in production, for networks and for relayers', async () => {
  const { client } = await startTestService(production)
  await client.post(listPath, { body: sepolia })
  const signer = await createSigner(client)
  const relayer = { name: 'R', network: 'sepolia', network_type: 'evm' as const, paused: false, signer_id: signer.id }
  const { data } = await client.post('/api/v1/relayers', { body: { id: 'r', ...relayer } })
  for (const url of inside) {
    const refused = { status: 400, details: [{ message: expect.stringContaining('public') }] }
    const own = { custom_rpc_urls: [{ url }] }
    await expect(client.post(listPath, { body: { ...sepolia, name: 'b', rpc_urls: [url] } })).rejects.toMatchObject(
      refused,
    )
    await expect(client.patch(onePath, { path, body: { rpc_urls: [{ url }] } })).rejects.toMatchObject(refused)
    await expect(client.post('/api/v1/relayers', { body: { ...relayer, ...own } })).rejects.toMatchObject(refused)
    await expect(
      client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: data.id }, body: own }),
    ).rejects.toMatchObject(refused)
  }
  expect((await client.get(listPath)).data.map(({ name }) => name)).toEqual(['sepolia'])
})

test.each([{ ...production, ALLOW_PRIVATE_TARGETS: 'true' }, {}])(
  'accepts private addresses with %j',
  async (given) => {
    const { client } = await startTestService(given)
    const { data } = await client.post(listPath, { body: { ...sepolia, rpc_urls: inside } })
    expect(data.rpc_urls.map(({ url }) => url)).toEqual(inside)
  },
)

test('refuses private addresses outside production with ALLOW_PRIVATE_TARGETS=false', async () => {
  const { client } = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' })
  await expect(client.post(listPath, { body: { ...sepolia, rpc_urls: inside } })).rejects.toMatchObject({ status: 400 })
})
