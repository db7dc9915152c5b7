import { encryptKeystoreJsonSync, verifyMessage } from 'ethers'
import { expect, test } from 'vitest'
import { cow, createRelayer } from '../../support/resources.ts'
import { expectKept } from '../../support/secrets.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const listPath = '/api/v1/signers'
const onePath = '/api/v1/signers/{signer_id}'
const cowAddress = '0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826'

const create = ({ raw }: TestService, body: unknown) => raw(listPath, { method: 'POST', body: JSON.stringify(body) })

/** The address that a relayer with this signer signs with. */
async function signingAddress({ client }: TestService, signerId: string): Promise<string> {
  const { id } = await createRelayer(client, { signer_id: signerId })
  const path = { relayer_id: id }
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  return verifyMessage('Hello', data.sig).toLowerCase()
}

test('accepts a plain key with and without 0x, in any case, and shows only its address', async () => {
  const service = await startTestService()
  const bare = cow.slice(2)
  for (const [index, key] of [cow, bare, bare.toUpperCase(), `0x${bare.toUpperCase()}`].entries()) {
    const response = await create(service, { id: `s${index}`, type: 'plain', config: { key } })
    expect(response.status).toBe(201)
    expect(await response.json()).toEqual({
      success: true,
      data: { id: `s${index}`, type: 'local', address: cowAddress, created_at: expect.any(String) },
      error: '',
      pagination: { current_page: 1, per_page: 1, total_items: 1 },
    })
  }
  const { data } = await service.client.get(onePath, { path: { signer_id: 's0' } })
  expect(data).toEqual({ id: 's0', type: 'local', address: cowAddress, created_at: expect.any(String) })
  const list = await service.client.get(listPath)
  expect(list.data.map(({ id }) => id)).toEqual(['demo', 's0', 's1', 's2', 's3'])
  expect(await signingAddress(service, 's0')).toBe(cowAddress)
})

test('generates distinct keys, and an id when none is given', async () => {
  const service = await startTestService()
  const { data: one } = await service.client.post(listPath, { body: { type: 'generated', config: {} } })
  const { data: other } = await service.client.post(listPath, { body: { type: 'generated' } })
  expect(one.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  expect(one.id).not.toBe(other.id)
  expect(one.address).not.toBe(other.address)
  expect(await signingAddress(service, one.id)).toBe(one.address)
})

test('rejects a malformed key and an unknown type with 400', async () => {
  const service = await startTestService()
  const n = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'
  const plain = (key: unknown) => JSON.stringify({ type: 'plain', config: { key } })
  const bodies = [
    plain(n),
    plain('0'.repeat(64)),
    plain('f'.repeat(64)),
    plain(`0X${n}`),
    plain('ab'.repeat(31)),
    plain('ab'.repeat(33)),
    plain(1),
    plain(null),
    `{"type":"generated","config":{"key":"${cow}"}}`,
    `{"type":"plain"}`,
    `{"type":"local","config":{"key":"${cow}"}}`,
    `{"type":"plain","config":{"key":"${cow}"},"address":"${cowAddress}"}`,
    `{"type":"keystore","config":{"keystore":"{}","passphrase":"a"}}`,
    `{"type":"keystore","config":{"keystore":[],"passphrase":"a"}}`,
    `{"id":"a/b","type":"generated"}`,
  ]
  for (const body of bodies) {
    const response = await service.raw(listPath, { method: 'POST', body })
    expect.soft(response.status, body).toBe(400)
    expect.soft(await response.text(), body).not.toContain(cow.slice(2))
  }
  expect((await service.client.get(listPath)).pagination.total_items).toBe(1)
})

test('rejects a taken id with 409, and keeps the key of the first signer', async () => {
  const service = await startTestService()
  await create(service, { id: 'a', type: 'plain', config: { key: cow } })
  expect((await create(service, { id: 'a', type: 'generated' })).status).toBe(409)
  const { data } = await service.client.get(onePath, { path: { signer_id: 'a' } })
  expect(data.address).toBe(cowAddress)
  expect(await signingAddress(service, 'a')).toBe(cowAddress)
})

test('refuses to delete a signer that a relayer uses, and frees the id of a deleted one', async () => {
  const { client } = await startTestService()
  const path = { signer_id: 'a' }
  await client.post(listPath, { body: { id: 'a', type: 'generated' } })
  const relayer = await createRelayer(client, { signer_id: 'a' })
  await expect(client.delete(onePath, { path })).rejects.toMatchObject({ status: 409 })
  await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayer.id } })
  await client.delete(onePath, { path })
  await expect(client.get(onePath, { path })).rejects.toMatchObject({
    status: 404,
    message: 'path/signer_id: no signer has this id',
  })
  await expect(client.delete(onePath, { path })).rejects.toMatchObject({
    status: 404,
    message: 'path/signer_id: no signer has this id',
  })
  await client.post(listPath, { body: { id: 'a', type: 'plain', config: { key: cow } } })
})

const passphrase = 'a passphrase'
const keystore = JSON.parse(
  encryptKeystoreJsonSync({ address: cowAddress, privateKey: cow }, passphrase, { scrypt: { N: 2, r: 1, p: 1 } }),
)

test('shows a key and a passphrase in no response, log line or file, in valid and invalid requests', async () => {
  const service = await startTestService()
  const config = { keystore, passphrase }
  const answers = [
    await create(service, { id: 'a', type: 'plain', config: { key: cow } }),
    await create(service, { id: 'a', type: 'plain', config: { key: cow } }),
    await create(service, { id: 'k', type: 'keystore', config }),
    await create(service, { id: 'k', type: 'keystore', config: { ...config, keystore: {} } }),
    await create(service, { type: 'plain', config: { key: `${cow}00` } }),
    await create(service, { type: 'plain', config: { [cow.slice(2)]: 1 }, id: [cow] }),
    await service.raw(listPath, { method: 'POST', body: `{"key":"${cow}",}` }),
    await service.raw(listPath, { method: 'POST', body: cow, headers: { 'Content-Type': 'text/plain' } }),
    await service.raw(`${listPath}/a`),
    await service.raw(listPath),
  ]
  expect(await signingAddress(service, 'a')).toBe(cowAddress)
  for (const [index, answer] of answers.entries()) {
    const text = await answer.text()
    // The sixth names the unknown field that it was sent.
    if (index !== 5) expect(text).not.toContain(cow.slice(2))
    expect(text).not.toContain(passphrase)
  }
  await expectKept(service, Buffer.from(cow.slice(2), 'hex'), cowAddress)
  await expectKept(service, Buffer.from(cow.slice(2)), cowAddress)
  await expectKept(service, Buffer.from(passphrase), cowAddress)
})
