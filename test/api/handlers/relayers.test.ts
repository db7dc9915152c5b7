import { expect, test } from 'vitest'
import { cow, createRelayer, createSigner, relayerOf } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'
import { changeTransaction, insertTransactions, transactionId } from '../../support/transactions.ts'

const listPath = '/api/v1/relayers'
const onePath = '/api/v1/relayers/{relayer_id}'

const given = { name: 'Treasury', network: 'local', network_type: 'evm' as const, paused: false }
const bare = {
  ...given,
  notification_id: null,
  notification_ids: [],
  policies: {},
  custom_rpc_urls: [],
  system_disabled: false,
  disabled_reason: null,
}

test('creates a relayer with its signer’s address and defaults', async () => {
  const { client, raw } = await startTestService()
  const { id: signerId, address } = await createSigner(client)
  const response = await raw(listPath, {
    method: 'POST',
    body: JSON.stringify({ ...given, id: 'a', signer_id: signerId }),
  })
  expect(response.status).toBe(201)
  const relayer = {
    ...bare,
    id: 'a',
    signer_id: signerId,
    address,
    revision: expect.any(String),
    created_at: expect.any(String),
  }
  expect(await response.json()).toMatchObject({
    success: true,
    data: relayer,
    error: '',
    pagination: { current_page: 1, per_page: 1, total_items: 1 },
  })
  expect((await client.get(onePath, { path: { relayer_id: 'a' } })).data).toEqual({ ...relayer, warnings: [] })
  expect((await client.get(listPath)).data.map(({ id }) => id)).toEqual(['demo', 'a'])
  const made = await createRelayer(client)
  expect(made.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
})

test('refuses names with characters that turn or hide text, and takes any other', async () => {
  const { client } = await startTestService()
  const rename = (name: string) =>
    client.patch(onePath, { path: { relayer_id: 'demo' }, body: { name } }).then(
      () => 'accepted',
      ({ status }) => status,
    )
  for (const code of [0x00ad, 0x061c, 0x200b, 0x200d, 0x200f, 0x2028, 0x202e, 0x2060, 0x2066, 0x2069, 0xfeff])
    expect(await rename(`Treas${String.fromCodePoint(code)}ury`), code.toString(16)).toBe(400)
  for (const name of ['Zürich', '財務部', 'خزانة', '🏦 Bank']) expect(await rename(name), name).toBe('accepted')
})

test('rejects a taken id with 409, and leaves the first relayer unchanged', async () => {
  const { client } = await startTestService()
  const first = await createRelayer(client, { id: 'a' })
  const { id: signerId } = await createSigner(client)
  const again = client.post(listPath, { body: { ...given, id: 'a', name: 'Other', signer_id: signerId } })
  await expect(again).rejects.toMatchObject({ status: 409 })
  expect((await client.get(onePath, { path: { relayer_id: 'a' } })).data).toEqual(first)
})

test('refuses a relayer that names missing resources, and names each of them', async () => {
  const { client } = await startTestService()
  const { id: signerId } = await createSigner(client)
  const wrong = [
    [{ network: 'nowhere' }, '/body/network'],
    // The network's name, not its id.
    [{ network: 'evm:local' }, '/body/network'],
    [{ signer_id: 'nobody' }, '/body/signer_id'],
    [{ notification_id: 'nothing' }, '/body/notification_id'],
    [{ notification_ids: ['nothing'] }, '/body/notification_ids'],
    [{ notification_id: 'a', notification_ids: ['a'] }, '/body/notification_ids'],
  ] as const
  for (const [change, path] of wrong) {
    const create = client.post(listPath, { body: { ...given, signer_id: signerId, ...(change as object) } })
    await expect(create).rejects.toMatchObject({ status: 400, details: [{ path }] })
  }
  expect((await client.get(listPath)).pagination.total_items).toBe(1)
})

test('allows one relayer per address and chain id, also through another signer or network', async () => {
  const { client } = await startTestService()
  const first = await relayerOf(client, cow)
  const { id: otherSigner } = await createSigner(client, { type: 'plain', config: { key: cow } })
  const network = { network_type: 'evm' as const, rpc_urls: ['https://rpc.example.com'] }
  await client.post('/api/v1/networks', { body: { ...network, name: 'same', chain_id: 31_337 } })
  await client.post('/api/v1/networks', { body: { ...network, name: 'another', chain_id: 31_338 } })
  for (const signerId of [first.signer_id, otherSigner]) {
    for (const name of ['local', 'same']) {
      const create = client.post(listPath, { body: { ...given, network: name, signer_id: signerId } })
      const refused = { status: 409, code: 'already_exists', details: [{ path: '/body/signer_id' }] }
      await expect(create, `${signerId} on ${name}`).rejects.toMatchObject(refused)
    }
  }
  const elsewhere = await createRelayer(client, { network: 'another', signer_id: first.signer_id })
  expect(elsewhere.address).toBe(first.address)
  await client.delete(onePath, { path: { relayer_id: first.id } })
  await createRelayer(client, { network: 'same', signer_id: otherSigner })
})

test('PATCH: merges by RFC 7396: keeps absent members, removes null, merges policies by member, replaces lists', async () => {
  const { client } = await startTestService()
  for (const id of ['n', 'm']) {
    await client.post('/api/v1/notifications', { body: { id, url: 'https://hooks.example.com' } })
  }
  const { id, address, signer_id } = await createRelayer(client, { policies: { min_balance: '5' } })
  const path = { relayer_id: id }
  const a = '0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826'
  const start = { ...bare, id, address, signer_id, name: 'A relayer', policies: { min_balance: '5' }, warnings: [] }
  const rpc = [{ url: 'https://rpc.example.com', weight: 100 }]
  const steps = [
    [{}, {}],
    [{ name: 'B' }, { name: 'B' }],
    [{ paused: true }, { paused: true }],
    [{ notification_id: 'n' }, { notification_id: 'n', notification_ids: ['n'] }],
    [{ notification_ids: ['m', 'n'] }, { notification_id: 'm', notification_ids: ['m', 'n'] }],
    [{ policies: {} }, {}],
    [{ policies: { gas_price_cap: 9 } }, { policies: { min_balance: '5', gas_price_cap: '9' } }],
    [
      { policies: { min_balance: null, eip1559_pricing: false, whitelist_receivers: [a] } },
      { policies: { gas_price_cap: '9', eip1559_pricing: false, whitelist_receivers: [a] } },
    ],
    [
      { policies: { whitelist_receivers: [], gas_limit_estimation: true } },
      { policies: { gas_price_cap: '9', eip1559_pricing: false, whitelist_receivers: [], gas_limit_estimation: true } },
    ],
    [{ policies: { min_balance: null } }, {}],
    [{ custom_rpc_urls: ['https://rpc.example.com'] }, { custom_rpc_urls: rpc }],
    [{ custom_rpc_urls: [] }, { custom_rpc_urls: [] }],
    [{ custom_rpc_urls: rpc }, { custom_rpc_urls: rpc }],
    [{ custom_rpc_urls: null }, { custom_rpc_urls: [] }],
    [{ notification_id: null }, { notification_id: null, notification_ids: [] }],
    [{ notification_ids: ['n'] }, { notification_id: 'n', notification_ids: ['n'] }],
    [{ notification_ids: [] }, { notification_id: null, notification_ids: [] }],
    [{ policies: null }, { policies: {} }],
  ] as const
  let expected: object = { ...start, revision: expect.any(String), created_at: expect.any(String) }
  for (const [body, change] of steps) {
    expected = { ...expected, ...change }
    const { data } = await client.patch(onePath, { path, body: body as never })
    expect(data, JSON.stringify(body)).toEqual(expected)
    expect((await client.get(onePath, { path })).data, JSON.stringify(body)).toEqual(expected)
  }
})

test('PATCH: merges, and rejects fixed or invalid members without a change', async () => {
  const service = await startTestService()
  const relayer = await createRelayer(service.client, { policies: { min_balance: '5' } })
  const headers = { Authorization: `Bearer ${service.api_key}`, 'Content-Type': 'application/json' }
  const patch = (body: string) => service.raw(`${listPath}/${relayer.id}`, { method: 'PATCH', body, headers })
  const large = await patch('{"policies":{"gas_price_cap":18446744073709551616}}')
  expect(await large.json()).toMatchObject({ data: { policies: { min_balance: '5', gas_price_cap: `${2n ** 64n}` } } })
  await patch('{"policies":{"gas_price_cap":null}}')

  const wrong = `{"id":"b"} {"network":"local"} {"network_type":"evm"} {"signer_id":"demo"} {"address":null}
    {"system_disabled":false} {"disabled_reason":null} {"name":null} {"name":""} {"name":12}
    {"paused":null} {"paused":"true"} {"paused":1} {"notification_id":"nothing"} {"policies":[]}
    {"policies":{"more":1}} {"policies":{"min_balance":"x"}} {"policies":{"__proto__":null}} {"__proto__":{"paused":true}}
    {"custom_rpc_urls":["ftp://a.example.com"]} {"name":"New","custom_rpc_urls":["https://a.example.com/***"]} [] null 1`
  for (const body of wrong.split(/\s+/)) expect.soft((await patch(body)).status, body).toBe(400)
  expect((await service.client.get(onePath, { path: { relayer_id: relayer.id } })).data).toEqual(relayer)
})

test('masks a relayer’s own RPC URLs in every response', async () => {
  const { client, raw, logged } = await startTestService()
  const customRpcUrls = ['https://rpc.example.com/v3/secret', { url: 'http://b.example.com?k=secret', weight: 0 }]
  const { id } = await createRelayer(client, { custom_rpc_urls: customRpcUrls })
  const shown = [
    { url: 'https://rpc.example.com/***', weight: 100 },
    { url: 'http://b.example.com/***', weight: 0 },
  ]
  const { data } = await client.patch(onePath, { path: { relayer_id: id }, body: { name: 'B' } })
  expect(data.custom_rpc_urls).toEqual(shown)
  for (const path of [listPath, `${listPath}/${id}`]) expect(await (await raw(path)).text()).not.toContain('secret')
  expect(logged.join('')).not.toContain('secret')
})

test('names an unknown relayer in the 404 of every operation', async () => {
  const { client } = await startTestService()
  const path = { relayer_id: 'no-such' }
  const missing = { status: 404, message: 'Relayer with ID no-such not found' }
  await expect(client.get(onePath, { path })).rejects.toMatchObject(missing)
  await expect(client.patch(onePath, { path, body: {} })).rejects.toMatchObject(missing)
  await expect(client.delete(onePath, { path })).rejects.toMatchObject(missing)
})

test('refuses to delete a relayer with unfinished transactions, and keeps the signer of a deleted one', async () => {
  const service = await startTestService()
  const { client } = service
  const relayer = await createRelayer(client)
  const path = { relayer_id: relayer.id }
  await insertTransactions(service, relayer.id, 2)
  for (const status of ['pending', 'sent', 'submitted', 'mined'] as const) {
    await changeTransaction(service, transactionId(relayer.id, 1), { status })
    await expect(client.delete(onePath, { path }), status).rejects.toMatchObject({ status: 409 })
  }
  await changeTransaction(service, transactionId(relayer.id, 1), { status: 'expired' })
  await client.delete(onePath, { path })
  await expect(client.get(onePath, { path })).rejects.toMatchObject({ status: 404 })
  const signer = await client.get('/api/v1/signers/{signer_id}', { path: { signer_id: relayer.signer_id } })
  expect(signer.data.address).toBe(relayer.address)
})
