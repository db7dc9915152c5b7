import { verifyMessage } from 'ethers'
import { expect, test } from 'vitest'
import { createRelayer, createSigner } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'

const signPath = '/api/v1/relayers/{relayer_id}/sign'
const typedPath = '/api/v1/relayers/{relayer_id}/sign-typed-data'

const sign = async ({ client }: TestService, relayerId: string, message: string) =>
  (await client.post(signPath, { path: { relayer_id: relayerId }, body: { message } })).data

const hashes = { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) }

test('applies a pause and its end from the response on, in every process on the same database', async () => {
  const one = await startTestService()
  const other = await startTestService({ DATA_DIR: one.data_dir })
  const path = { relayer_id: 'demo' }
  const pause = ({ client }: TestService, paused: boolean) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path, body: { paused } })
  const refused = { status: 403, message: 'Relayer paused' }

  for (const [by, at] of [
    [one, one],
    [one, other],
    [other, one],
  ] as const) {
    await sign(at, 'demo', 'warm')
    await pause(by, true)
    await expect(sign(at, 'demo', 'Hello')).rejects.toMatchObject(refused)
    await expect(at.client.post(typedPath, { path, body: hashes })).rejects.toMatchObject(refused)
    await pause(by, false)
    await sign(at, 'demo', 'Hello')
  }
})

test('signs with no deleted relayer in any process, and with the new key of a relayer that reuses the id', async () => {
  const one = await startTestService()
  const other = await startTestService({ DATA_DIR: one.data_dir })
  await sign(other, 'demo', 'warm')
  await one.client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  await expect(sign(other, 'demo', 'Hello')).rejects.toMatchObject({ status: 404 })
  const signer = await createSigner(one.client)
  await createRelayer(one.client, { id: 'demo', signer_id: signer.id })
  const { sig } = await sign(other, 'demo', 'Hello')
  expect(verifyMessage('Hello', sig).toLowerCase()).toBe(signer.address)
})
