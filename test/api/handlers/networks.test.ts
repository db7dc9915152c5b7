import { expect, test } from 'vitest'
import { testChain } from '../../support/chain.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const listPath = '/api/v1/networks'
const onePath = '/api/v1/networks/{network_id}'

const rpcUrls = ['https://rpc.example.com']
const sepolia = { name: 'sepolia', network_type: 'evm' as const, chain_id: 11_155_111, rpc_urls: rpcUrls }
const bare = {
  id: 'evm:sepolia',
  name: 'sepolia',
  network_type: 'evm',
  chain_id: 11_155_111,
  rpc_urls: [{ url: 'https://rpc.example.com', weight: 100 }],
  symbol: null,
  required_confirmations: 12,
  average_blocktime_ms: null,
  is_testnet: false,
  explorer_urls: [],
  features: [],
  tags: [],
  private_rpc_urls: [],
  submission: { mode: 'public', after_blocks: null },
  min_priority_fee_per_gas: null,
  min_gas_price: null,
  coin_token: null,
  revision: expect.any(String),
  created_at: expect.any(String),
}
const unhealthy = (message: string) => ({ code: 'node_unhealthy', message })
const unreachable = unhealthy('node https://rpc.example.com: No name is looked up in tests')
const settings = {
  symbol: 'ETH',
  required_confirmations: 6,
  average_blocktime_ms: 12_000,
  is_testnet: true,
  explorer_urls: ['https://sepolia.etherscan.io'],
  features: ['eip1559'],
  tags: ['test'],
}

const create = ({ raw }: TestService, body: unknown) => raw(listPath, { method: 'POST', body: JSON.stringify(body) })

test('creates a network with defaults, and an id from its name', async () => {
  const service = await startTestService()
  const response = await create(service, sepolia)
  expect(response.status).toBe(201)
  expect(await response.json()).toEqual({
    success: true,
    data: { ...bare, warnings: [unreachable] },
    error: '',
    pagination: { current_page: 1, per_page: 1, total_items: 1 },
  })
  const { data } = await service.client.get(onePath, { path: { network_id: 'evm:sepolia' } })
  expect(data).toEqual(bare)
  const list = await service.client.get(listPath)
  expect(list.data.map(({ id }) => id)).toEqual(['evm:local', 'evm:sepolia'])
})

test('keeps all settings of a network', async () => {
  const { client } = await startTestService()
  const { data } = await client.post(listPath, { body: { ...sepolia, ...settings } })
  expect(data).toEqual({ ...bare, ...settings, warnings: [unreachable] })
  expect((await client.get(onePath, { path: { network_id: data.id } })).data).toEqual({ ...bare, ...settings })
})

test('warns of nodes on another chain when a network, and a relayer on it, is created, and not when the nodes are right', async () => {
  const chain = await testChain()
  const { client } = await startTestService()
  const create = async (chainId: number) =>
    (
      await client.post(listPath, {
        body: { ...sepolia, name: `n${chainId}`, chain_id: chainId, rpc_urls: [chain.url] },
      })
    ).data
  const wrong = [unhealthy(`node ${chain.url}: It is on chain 31337 and not on 5`)]
  expect([(await create(5)).warnings, (await create(31_337)).warnings]).toEqual([wrong, []])
  const secure = { ...sepolia, name: 'secure', rpc_urls: [chain.url.replace('http:', 'https:')] }
  expect((await client.post(listPath, { body: secure })).data.warnings).toEqual([
    unhealthy(expect.stringMatching(/^node https:\S+: It does not speak https at this port: .* \(EPROTO\)$/)),
  ])
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const relayer = { name: 'A', network_type: 'evm', paused: false, signer_id: signer.id } as const
  const add = async (network: string) => (await client.post('/api/v1/relayers', { body: { ...relayer, network } })).data
  expect([(await add('n5')).warnings, (await add('n31337')).warnings]).toEqual([wrong, []])
})

test('stores chain ids exactly up to the maximum', async () => {
  const { client } = await startTestService()
  for (const chainId of [1, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER]) {
    const { data } = await client.post(listPath, { body: { ...sepolia, name: `n${chainId}`, chain_id: chainId } })
    expect((await client.get(onePath, { path: { network_id: data.id } })).data.chain_id).toBe(chainId)
  }
})

test('sets the default of confirmations by chain id, 1 on development chains only', async () => {
  const { client } = await startTestService()
  for (const [chainId, expected] of [
    [1, 12],
    [137, 256],
    [8_453, 20],
    [31_337, 1],
    [1_337, 1],
    [4_242, 12],
  ] as const) {
    const { data } = await client.post(listPath, { body: { ...sepolia, name: `n${chainId}`, chain_id: chainId } })
    expect.soft(data.required_confirmations, `${chainId}`).toBe(expected)
    const path = { network_id: data.id }
    await client.patch(onePath, { path, body: { required_confirmations: 7 } })
    const reset = await client.patch(onePath, { path, body: { required_confirmations: null } })
    expect.soft(reset.data.required_confirmations, `${chainId}`).toBe(expected)
  }
})

test('rejects a taken name with 409 and leaves the first network unchanged; chain ids may be shared', async () => {
  const { client } = await startTestService()
  await client.post(listPath, { body: sepolia })
  await expect(client.post(listPath, { body: { ...sepolia, chain_id: 5 } })).rejects.toMatchObject({ status: 409 })
  expect((await client.get(onePath, { path: { network_id: 'evm:sepolia' } })).data).toEqual(bare)
  const { data } = await client.post(listPath, { body: { ...sepolia, name: 'sepolia-2' } })
  expect([data.id, data.chain_id]).toEqual(['evm:sepolia-2', 11_155_111])
})

test('rejects an invalid network with 400, and names the member', async () => {
  const service = await startTestService()
  const wrong: [object, string][] = [
    [{ id: 'evm:sepolia' }, '/body/id'],
    [{ name: undefined }, '/body/name'],
    [{ name: '' }, '/body/name'],
    [{ name: 'a/b' }, '/body/name'],
    [{ name: 'a'.repeat(125) }, '/body/name'],
    [{ network_type: 'solana' }, '/body/network_type'],
    [{ chain_id: 0 }, '/body/chain_id'],
    [{ chain_id: '1' }, '/body/chain_id'],
    [{ chain_id: 1.5 }, '/body/chain_id'],
    [{ chain_id: 2 ** 53 }, '/body/chain_id'],
    [{ rpc_urls: [] }, '/body/rpc_urls'],
    [{ rpc_urls: 'https://a.example.com' }, '/body/rpc_urls'],
    [{ rpc_urls: Array(21).fill('https://a.example.com') }, '/body/rpc_urls'],
    [{ rpc_urls: ['https://a.example.com', 'ftp://a.example.com'] }, '/body/rpc_urls/1'],
    [{ rpc_urls: ['https://user:secret@a.example.com'] }, '/body/rpc_urls/0'],
    [{ rpc_urls: [{ url: 'https://a.example.com', weight: 101 }] }, '/body/rpc_urls/0'],
    [{ rpc_urls: [{ url: 'https://a.example.com', weight: -1 }] }, '/body/rpc_urls/0'],
    [{ rpc_urls: [{ weight: 1 }] }, '/body/rpc_urls/0'],
    [{ rpc_urls: ['https://a.example.com/***'] }, '/body/rpc_urls/0'],
    [{ required_confirmations: 0 }, '/body/required_confirmations'],
    [{ average_blocktime_ms: 0 }, '/body/average_blocktime_ms'],
    [{ symbol: '' }, '/body/symbol'],
    [{ explorer_urls: ['not a url'] }, '/body/explorer_urls/0'],
    [{ tags: ['a\nb'] }, '/body/tags/0'],
    [{ more: 1 }, '/body/more'],
  ]
  for (const [change, path] of wrong) {
    const response = await create(service, { ...sepolia, ...change })
    const told = JSON.stringify(change)
    expect.soft(response.status, told).toBe(400)
    const { message, details } = (await response.json()) as { message: string; details: { path: string }[] }
    expect.soft(message).toBe('Bad Request')
    expect
      .soft(
        details.some((detail) => detail.path.startsWith(path)),
        `${told}: ${JSON.stringify(details)}`,
      )
      .toBe(true)
    expect.soft(JSON.stringify(details)).not.toContain('secret')
  }
  expect((await service.client.get(listPath)).pagination.total_items).toBe(1)
})

test('PATCH: keeps absent members, restores the default for null, and replaces arrays', async () => {
  const { client } = await startTestService()
  const path = { network_id: 'evm:sepolia' }
  await client.post(listPath, { body: { ...sepolia, ...settings } })
  expect((await client.patch(onePath, { path, body: {} })).data).toEqual({ ...bare, ...settings })
  for (const name of Object.keys(settings) as (keyof typeof settings)[]) {
    const { data: cleared } = await client.patch(onePath, { path, body: { [name]: null } })
    expect(cleared, name).toEqual({ ...bare, ...settings, [name]: bare[name] })
    const { data: set } = await client.patch(onePath, { path, body: { [name]: settings[name] } })
    expect(set, name).toEqual({ ...bare, ...settings })
  }
  const body = { rpc_urls: ['https://b.example.com', { url: 'https://c.example.com', weight: 0 }], tags: ['other'] }
  const { data } = await client.patch(onePath, { path, body })
  const kept = { ...bare, ...settings, tags: ['other'] }
  const rpc = [
    { url: 'https://b.example.com', weight: 100 },
    { url: 'https://c.example.com', weight: 0 },
  ]
  expect(data).toMatchObject({ ...kept, rpc_urls: rpc })
  expect(data.warnings).toHaveLength(2)
  expect((await client.get(onePath, { path })).data).toEqual({ ...kept, rpc_urls: rpc })
})

test('PATCH: merges, and rejects changes of name, type and chain id', async () => {
  const service = await startTestService()
  await service.client.post(listPath, { body: sepolia })
  const headers = { Authorization: `Bearer ${service.api_key}`, 'Content-Type': 'application/json' }
  const patch = (body: string) => service.raw(`${listPath}/evm:sepolia`, { method: 'PATCH', body, headers })
  expect((await patch('{"symbol":"ETH"}')).status).toBe(200)
  const fixed = ['{"name":"b"}', '{"chain_id":1}', '{"network_type":"evm"}', '{"id":"evm:b"}', '{"rpc_urls":null}']
  for (const body of [...fixed, '{"rpc_urls":[]}', '[]', 'null'])
    expect.soft((await patch(body)).status, body).toBe(400)
  const { data } = await service.client.get(onePath, { path: { network_id: 'evm:sepolia' } })
  expect(data).toEqual({ ...bare, symbol: 'ETH' })
})

test('answers 404 for an unknown network', async () => {
  const { client } = await startTestService()
  const path = { network_id: 'evm:nowhere' }
  await expect(client.get(onePath, { path })).rejects.toMatchObject({
    status: 404,
    message: 'path/network_id: no network has this id',
  })
  await expect(client.patch(onePath, { path, body: {} })).rejects.toMatchObject({
    status: 404,
    message: 'path/network_id: no network has this id',
  })
})

test('deletes a network that no relayer uses, and frees its name for another chain id', async () => {
  const { client } = await startTestService()
  await expect(client.delete(onePath, { path: { network_id: 'evm:local' } })).rejects.toMatchObject({
    status: 409,
    details: [{ path: '/path/network_id', message: 'relayers use it: demo; delete them first' }],
  })
  const path = { network_id: 'evm:sepolia' }
  await client.post(listPath, { body: { ...sepolia, chain_id: 5 } })
  expect((await client.delete(onePath, { path })).data).toEqual({ id: path.network_id, deleted: true })
  await expect(client.get(onePath, { path })).rejects.toMatchObject({ status: 404 })
  await expect(client.delete(onePath, { path })).rejects.toMatchObject({
    status: 404,
    message: 'path/network_id: no network has this id',
  })
  expect((await client.post(listPath, { body: sepolia })).data.chain_id).toBe(11_155_111)
  const { data } = await client.get('/api/v1/audit', { query: { operation: 'deleteNetwork' } })
  expect(data.map(({ subject, http_status }) => [subject, http_status])).toContainEqual(['evm:sepolia', 200])
})
