import { Transaction } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { Failure } from '../../generated/openapi.ts'
import { startRemoteJsonRpc } from '../key-services/stages/remote-json-rpc.ts'
import { startAnvil } from '../support/anvil.ts'
import { expectEverySignature } from '../support/every-signature.ts'
import { startFakeWeb3signer } from '../support/fake-web3signer.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { tls } from '../support/listener.ts'
import { createRelayer } from '../support/resources.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, type TestService } from '../support/service.ts'

const path = '/api/v1/signers'

const create = ({ raw }: TestService, config: object) =>
  raw(path, { method: 'POST', body: JSON.stringify({ type: 'remote', config }) })

const sign = ({ raw }: TestService, relayerId: string) =>
  raw(`/api/v1/relayers/${relayerId}/sign`, { method: 'POST', body: '{"message":"Hello"}' })

async function startWeb3signer(options: { mutual?: boolean } = {}) {
  const signer = await startFakeWeb3signer(options)
  onTestFinished(() => signer.stop())
  return signer
}

test('REST: signs everything by the bytes that are hashed', async () => {
  const remote = await startWeb3signer()
  const { url, address } = remote
  const headersByOrigin = JSON.stringify({ [url]: { Authorization: 'Bearer of-the-setting' } })
  const service = await startTestService({ REMOTE_SIGNER_HEADERS: headersByOrigin })
  const { data: signer } = await service.client.post(path, { body: { type: 'remote', config: { url, address } } })
  expect(signer).toEqual({ id: signer.id, type: 'remote', address, created_at: expect.any(String) })
  const relayer = await createRelayer(service.client, {
    signer_id: signer.id,
    policies: { allow_authorizations: true },
  })
  const before = remote.requests.length
  await expectEverySignature(service.client, relayer)
  const signed = remote.requests
    .slice(before)
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => (body as { data: string }).data)
  expect(signed).toEqual([
    `0x${Buffer.from('\x19Ethereum Signed Message:\n5Hello').toString('hex')}`,
    expect.stringMatching(/^0x1901[0-9a-f]{128}$/),
    Transaction.from({ type: 0, chainId: 31_337, gasLimit: 21_000, to: address }).unsignedSerialized,
    Transaction.from({ type: 2, chainId: 31_337, gasLimit: 21_000, to: address }).unsignedSerialized,
  ])
  await service.client.post('/api/v1/relayers/{relayer_id}/sign-authorization', {
    path: { relayer_id: relayer.id },
    body: { address: `0x${'a1'.repeat(20)}`, nonce: 1 },
  })
  expect(remote.requests.every(({ authorization }) => authorization === 'Bearer of-the-setting')).toBe(true)

  // A header of the signer itself replaces that of the setting.
  const headers = { Authorization: 'Bearer of-the-signer' }
  await service.client.post(path, { body: { type: 'remote', config: { url, address, headers } } })
  expect(remote.requests.at(-1)?.authorization).toBe('Bearer of-the-signer')
  await expectKept(service, Buffer.from('Bearer of-the-signer'), address)

  for (const signature of ['other_key', 'garbage'] as const) {
    remote.faults.signature = signature
    expect((await sign(service, relayer.id)).status).toBe(503)
    remote.faults.signature = 'high_s'
    await expect.poll(async () => (await sign(service, relayer.id)).status, { timeout: 20_000 }).toBe(200)
  }
  await remote.stop()
  expect((await sign(service, relayer.id)).status).toBe(503)
  await remote.start()
  await expect.poll(async () => (await sign(service, relayer.id)).status, { timeout: 20_000 }).toBe(200)
}, 60_000)

test('sends the headers of the setting to the configured URL only, and to no other path of its host', async () => {
  const remote = await startWeb3signer()
  const { url, address } = remote
  const service = await startTestService({
    REMOTE_SIGNER_HEADERS: JSON.stringify({ [`${url}/mine`]: { Authorization: 'Bearer of-the-setting' } }),
  })
  for (const place of ['', '/other', '/mine/../other', '/mine/more']) {
    const config = { url: `${url}${place}`, address }
    await service.raw(path, { method: 'POST', body: JSON.stringify({ type: 'remote', config }) })
  }
  expect(remote.requests.length).toBeGreaterThan(0)
  expect(remote.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([])
  const config = { url: `${url}/mine/`, address }
  await service.raw(path, { method: 'POST', body: JSON.stringify({ type: 'remote', config }) })
  expect(remote.requests.at(-1)?.authorization).toBe('Bearer of-the-setting')
})

test('mutual TLS: connects only with the client certificate, and trusts only the configured authority', async () => {
  const remote = await startWeb3signer({ mutual: true })
  const { url, address } = remote
  const service = await startTestService()
  const trusted = { url, address, ca_certificate: tls.cert }
  const both = { client_identity: { certificate: tls.cert, key: tls.key } }
  const cases: [object, number, RegExp][] = [
    [{ ...trusted, ...both }, 201, /./],
    [trusted, 422, /the remote signer answered 401/],
    [{ url, address, ...both }, 503, /self-signed certificate/],
    [{ ...trusted, client_identity: { certificate: tls.cert } }, 400, /./],
    [{ ...trusted, ...both, address: `0x${'11'.repeat(20)}` }, 422, /has no key of the address/],
    [{ ...trusted, ...both, url: 'ftp://signer.example.com' }, 400, /./],
  ]
  for (const [config, status, reason] of cases) {
    const response = await create(service, config)
    const text = await response.text()
    expect.soft(response.status, text).toBe(status)
    expect.soft(text).toMatch(reason)
  }
  await expectKept(service, Buffer.from(tls.key.slice(40, 100)), address)
  const guarded = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' })
  const calls = remote.requests.length
  expect((await create(guarded, trusted)).status).toBe(400)
  expect(remote.requests).toHaveLength(calls)
})

test('JSON-RPC: signs messages and transactions with anvil, and returns 422 for anything that its methods cannot sign', async () => {
  const anvil = await startAnvil()
  onTestFinished(() => anvil.stop())
  const service = await startTestService()
  // The first account of anvil.
  const address = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
  const config = { url: anvil.url, address, interface: 'json_rpc' as const }
  const { data: signer } = await service.client.post(path, { body: { type: 'remote', config } })
  const relayer = await createRelayer(service.client, { signer_id: signer.id })
  const at = { relayer_id: relayer.id }
  expect((await sign(service, relayer.id)).status).toBe(200)
  const filled = { chainId: 31_337, nonce: 7, gasLimit: 90_000, to: address, value: 5n, data: '0x1234' }
  const prices = { maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 2n }
  for (const content of [
    { ...filled, type: 2, ...prices },
    { ...filled, type: 0, gasPrice: 10n ** 9n },
  ]) {
    const unsignedTransaction = Transaction.from(content).unsignedSerialized as `0x${string}`
    const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path: at,
      body: { unsigned_transaction: unsignedTransaction },
    })
    const { from, unsignedSerialized } = Transaction.from(data.signed_transaction)
    expect([from?.toLowerCase(), unsignedSerialized]).toEqual([address, unsignedTransaction])
  }
  const accessList = [{ address, storageKeys: [`0x${'00'.repeat(32)}`] }]
  const listed = Transaction.from({ ...filled, type: 2, ...prices, accessList }).unsignedSerialized
  const hashes = { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) }
  for (const [operation, body, reason] of [
    ['sign-typed-data', hashes, /typed data requires rest/],
    ['sign-transaction', { unsigned_transaction: listed }, /access lists/],
  ] as const) {
    const response = await service.raw(`/api/v1/relayers/${relayer.id}/${operation}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    const failure = (await response.json()) as Failure
    expect([response.status, failure.details?.[0]?.message]).toEqual([422, expect.stringMatching(reason)])
  }
  // A refusal of the content says nothing of the key service.
  expect((await sign(service, relayer.id)).status).toBe(200)
  const other = await create(service, { ...config, address: `0x${'11'.repeat(20)}` })
  expect(other.status).toBe(422)

  // EIP-1474: a limit was exceeded.
  const proxy = await startFaultProxy(anvil.url)
  onTestFinished(() => proxy.stop())
  const limited = { ...config, url: proxy.url, address: `${anvil.accounts[1]?.address}` }
  const { data } = await service.client.post(path, { body: { type: 'remote', config: limited } })
  const { id } = await createRelayer(service.client, { signer_id: data.id })
  await proxy.setFault({ kind: 'limit_exceeded', times: 2 })
  expect((await sign(service, id)).status).toBe(200)
})

test('JSON-RPC: lowers a high s, and rejects a signature by another key', async () => {
  const stage = await startRemoteJsonRpc()
  onTestFinished(stage.stop)
  const service = await startTestService()
  const { data: signer } = await service.client.post(path, { body: await stage.signer() })
  const { id: relayerId, address } = await createRelayer(service.client, { signer_id: signer.id })
  const signTransaction = (type: number) => {
    const unsignedTransaction = Transaction.from({ type, chainId: 31_337, gasLimit: 21_000, to: address })
      .unsignedSerialized as `0x${string}`
    const input = { path: { relayer_id: relayerId }, body: { unsigned_transaction: unsignedTransaction } }
    return service.client.post('/api/v1/relayers/{relayer_id}/sign-transaction', input)
  }
  for (const trouble of ['high_s', 'varied'] as const) {
    await stage.set(trouble)
    expect((await sign(service, relayerId)).status).toBe(200)
    for (const type of [0, 2]) {
      const { data } = await signTransaction(type)
      expect(Transaction.from(data.signed_transaction).from?.toLowerCase()).toBe(address)
    }
  }
  await stage.set('other_key')
  await expect(signTransaction(2)).rejects.toMatchObject({ status: 503 })
})
