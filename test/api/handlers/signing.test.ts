import { getAddress, getBytes, hashMessage, recoverAddress, SigningKey, TypedDataEncoder, verifyMessage } from 'ethers'
import { expect, test } from 'vitest'
import { cow, createRelayer, relayerOf } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const signPath = '/api/v1/relayers/{relayer_id}/sign'
const typedPath = '/api/v1/relayers/{relayer_id}/sign-typed-data'

const sign = async ({ client }: TestService, relayerId: string, message: string) =>
  (await client.post(signPath, { path: { relayer_id: relayerId }, body: { message } })).data

test('signs a message with the demo relayer, and the signature recovers to its address', async () => {
  const { client } = await startTestService()
  const path = { relayer_id: 'demo' }
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  const relayer = await client.get('/api/v1/relayers/{relayer_id}', { path })
  expect(verifyMessage('Hello', data.sig)).toBe(getAddress(relayer.data.address))
})

// From the documentation of web3.js (eth.accounts.sign), of ethers (Wallet.signMessage) and of viem (signMessage).
const published = [
  {
    key: '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318',
    message: 'Some data',
    sig: '0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c',
  },
  {
    key: '0x0123456789012345678901234567890123456789012345678901234567890123',
    message: 'hello world',
    sig: '0xddd0a7290af9526056b4e35a077b9a11b513aa0028ec6c9880948544508f3c63265e99e47ad31bb2cab9646c504576b3abc6939a1710afc08cbf3034d73214b81c',
  },
  {
    key: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
    message: 'hello world',
    sig: '0xa461f509887bd19e312c0c58467ce8ff8e300d3c1a90b608a760c5b80318eaf15fe57c96f9175d6cd4daad4663763baa7e78836e067d0163e9a2ccf2ff753f5b1b',
  },
]

test('EIP-191: computes the published signatures of the published messages', async () => {
  const service = await startTestService()
  for (const { key, message, sig } of published) {
    const { id } = await relayerOf(service.client, key)
    expect(await sign(service, id, message)).toEqual({
      r: sig.slice(0, 66),
      s: `0x${sig.slice(66, 130)}`,
      sig,
      v: Number.parseInt(sig.slice(130), 16),
    })
    expect(new SigningKey(key).sign(hashMessage(message)).serialized).toBe(sig)
  }
})

// EIP-712, "Test Cases": Example.sol and Example.js.
const mail = {
  domain_separator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
  hash_struct_message: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
  r: '0x4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d',
  s: '0x07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562',
  v: 28,
}

test('EIP-712: signs the Mail example under keccak256("cow") to the published signature, with and without 0x, in any case', async () => {
  const { client } = await startTestService()
  const { id, address } = await relayerOf(client, cow)
  expect(getAddress(address)).toBe('0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826')
  const { domain_separator, hash_struct_message, r, s, v } = mail
  for (const write of [(x: string) => x, (x: string) => x.slice(2), (x: string) => x.slice(2).toUpperCase()]) {
    const body = { domain_separator: write(domain_separator), hash_struct_message: write(hash_struct_message) }
    const { data } = await client.post(typedPath, { path: { relayer_id: id }, body })
    expect(data).toEqual({ r, s, sig: `${r}${s.slice(2)}1c`, v })
  }
})

test('EIP-712: signs the two hashes of random typed data, and the signature recovers to the relayer', async () => {
  const { client } = await startTestService()
  const { id, address } = await createRelayer(client)
  const domain = { name: 'Ether Mail', chainId: 31_337n }
  const types = { Order: [{ name: 'amount', type: 'uint256' }] }
  const value = { amount: 2n ** 255n }
  const body = {
    domain_separator: TypedDataEncoder.hashDomain(domain),
    hash_struct_message: TypedDataEncoder.hashStruct('Order', types, value),
  }
  const { data } = await client.post(typedPath, { path: { relayer_id: id }, body })
  expect(recoverAddress(TypedDataEncoder.hash(domain, types, value), data.sig).toLowerCase()).toBe(address)
})

const texts = [
  '',
  '0x',
  '0x12ab',
  '\0',
  'Ω≈ç√ 漢字 👩‍👩‍👧 e\u0301 é',
  '\u{10ffff}',
  ' \r\n\t',
  '\x19Ethereum Signed Message:\n1x',
  '"\\',
]

test('signs a text unchanged', async () => {
  const service = await startTestService()
  const { id } = await relayerOf(service.client, cow)
  for (const message of texts) {
    const { sig } = await sign(service, id, message)
    expect.soft(sig, message).toBe(new SigningKey(cow).sign(hashMessage(message)).serialized)
  }
})

test('signs message_hex as bytes, under the policies and with the audit entry of a text', async () => {
  const service = await startTestService()
  const { client } = service
  const { id } = await relayerOf(client, cow)
  const path = { relayer_id: id }
  for (const bytes of [
    '0x',
    '0x00',
    '0xDEADbeef',
    `0x${'ff'.repeat(32)}`,
    `0x${Buffer.from('Hello').toString('hex')}`,
  ]) {
    const { data } = await client.post(signPath, { path, body: { message_hex: bytes } })
    expect.soft(data.sig, bytes).toBe(new SigningKey(cow).sign(hashMessage(getBytes(bytes))).serialized)
  }
  const subjects = async () => {
    const { data } = await client.get('/api/v1/audit', { query: { relayer_id: id, operation: 'signMessage' } })
    return data.map(({ subject }) => subject)
  }
  await expect.poll(subjects).toContain(hashMessage(getBytes('0xdeadbeef')))
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { allow_messages: false } } })
  await expect(client.post(signPath, { path, body: { message_hex: '0x00' } })).rejects.toMatchObject({
    status: 403,
    code: 'policy_violation',
  })
})

test('requires exactly one of message and message_hex, and the error says so', async () => {
  const { raw } = await startTestService()
  const detailOf = async (body: object) => {
    const answer = await raw('/api/v1/relayers/demo/sign', { method: 'POST', body: JSON.stringify(body) })
    return [answer.status, ((await answer.json()) as { details: unknown[] }).details]
  }
  expect(await detailOf({})).toEqual([
    400,
    [{ path: '/body/message', code: 'invalid_value', message: 'give exactly one of message and message_hex' }],
  ])
  expect(await detailOf({ message: '', message_hex: '0x' })).toEqual([
    400,
    [{ path: '/body/message_hex', code: 'invalid_value', message: 'give exactly one of message and message_hex' }],
  ])
})

test('signs deterministically, with a low s and v 27 or 28', async () => {
  const service = await startTestService()
  const { id } = await relayerOf(service.client, cow)
  const half = BigInt('0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0')
  const seen = new Set<number>()
  for (let index = 0; index < 64; index += 1) {
    const first = await sign(service, id, `message ${index}`)
    expect(await sign(service, id, `message ${index}`)).toEqual(first)
    expect(BigInt(first.s)).toBeLessThanOrEqual(half)
    expect(first.sig).toBe(`${first.r}${first.s.slice(2)}${first.v.toString(16)}`)
    seen.add(first.v)
  }
  expect([...seen].sort()).toEqual([27, 28])
})

test('signs a body of 1 MiB, and answers 413 to one byte more, with or without a length header', async () => {
  const { raw } = await startTestService()
  const body = (bytes: number) => `{"message":"${'a'.repeat(bytes - 14)}"}`
  const post = (init: RequestInit) => raw('/api/v1/relayers/demo/sign', { method: 'POST', ...init })

  const fits = await post({ body: body(1_048_576) })
  expect(fits.status).toBe(200)
  await fits.body?.cancel()
  const streamed = () => new Blob([body(1_048_577)]).stream()
  for (const init of [{ body: body(1_048_577) }, { body: streamed(), duplex: 'half' }]) {
    const refused = await post(init as RequestInit)
    expect(refused.status).toBe(413)
    expect(await refused.json()).toMatchObject({ success: false, data: null, message: 'Bad Request' })
  }
})

test('answers an unknown relayer with the message of each operation', async () => {
  const { client } = await startTestService()
  const path = { relayer_id: 'no-such' }
  const { domain_separator, hash_struct_message } = mail
  await expect(client.post(signPath, { path, body: { message: '' } })).rejects.toMatchObject({
    status: 404,
    message: 'Not found',
  })
  await expect(client.post(typedPath, { path, body: { domain_separator, hash_struct_message } })).rejects.toMatchObject(
    { status: 404, message: 'Relayer with ID no-such not found' },
  )
})

const zeros = '0'.repeat(64)
const wrongBodies = [
  ['sign', '{}'],
  ['sign', '{"message":12}'],
  ['sign', '{"message":null}'],
  ['sign', '{"message":"\\ud800"}'],
  ['sign', '{"message":"a","more":1}'],
  ['sign', '{"message_hex":"00"}'],
  ['sign', '{"message_hex":"0x0"}'],
  ['sign', '{"message_hex":"0xgg"}'],
  ['sign', '{"message_hex":null}'],
  ['sign-typed-data', `{"domain_separator":"0x${zeros}"}`],
  ['sign-typed-data', `{"domain_separator":"0x${zeros.slice(2)}","hash_struct_message":"0x${zeros}"}`],
  ['sign-typed-data', `{"domain_separator":"0X${zeros}","hash_struct_message":"0x${zeros}"}`],
  ['sign-typed-data', `{"domain_separator":"0x${'g'.repeat(64)}","hash_struct_message":"0x${zeros}"}`],
] as const

test('rejects a body of the wrong form with 400, and signs nothing', async () => {
  const { raw } = await startTestService()
  for (const [operation, body] of wrongBodies) {
    const response = await raw(`/api/v1/relayers/demo/${operation}`, { method: 'POST', body })
    expect.soft(response.status, body).toBe(400)
    expect.soft(await response.json(), body).toMatchObject({ success: false, data: null, message: 'Bad Request' })
  }
})
