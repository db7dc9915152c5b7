import { Transaction } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { awsCredentials, startFakeKms } from '../support/fake-kms.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const unsigned = (nonce: number) =>
  Transaction.from({
    ...{
      type: 2,
      chainId: 31_337,
      nonce,
      gasLimit: 21_000,
      maxFeePerGas: 1n,
      to: `0x${'12'.repeat(20)}`,
      value: 1_000n,
    },
  }).unsignedSerialized

async function start() {
  Object.assign(process.env, awsCredentials)
  const kms = await startFakeKms()
  onTestFinished(() => kms.stop())
  let passedMs = 0
  const service = await startTestService({}, { elapsed: () => performance.now() + passedMs })
  const config = { region: kms.region, key_id: kms.addKey(), endpoint: kms.url }
  const { data: signer } = await service.client.post('/api/v1/signers', { body: { type: 'aws_kms', config } })
  const { id } = await createRelayer(service.client, {
    signer_id: signer.id,
    policies: { max_value_per_day: '2000' },
  })
  const sign = async (nonce: number) => {
    // Past each rest period of the signer.
    passedMs += 10_000
    const body = JSON.stringify({ unsigned_transaction: unsigned(nonce) })
    return service.raw(`/api/v1/relayers/${id}/sign-transaction`, { method: 'POST', body })
  }
  const entries = async () => {
    // Equal refusals are written as one entry after a minute.
    passedMs += 60_000
    const query = { operation: 'signTransaction', relayer_id: id, per_page: 100 }
    return (await service.client.get('/api/v1/audit', { query })).data
  }
  return { kms, sign, entries }
}

test('counts a transaction against a daily limit only if it may have been signed', async () => {
  const { kms, sign } = await start()
  await kms.stop()
  for (let nonce = 0; nonce < 5; nonce += 1) expect((await sign(nonce)).status).toBe(503)
  await kms.start()
  kms.faults.error = 'AccessDeniedException'
  for (let nonce = 0; nonce < 5; nonce += 1) expect((await sign(nonce)).status).toBe(503)
  kms.faults.error = undefined
  // A signature by another key: something was signed.
  kms.faults.signature = 'other_key'
  expect((await sign(0)).status).toBe(503)
  kms.faults.signature = 'right'
  expect((await sign(0)).status).toBe(200)
  expect((await sign(1)).status).toBe(403)
})

test('records the reservation and the result of a signature apart, with the id of the key service', async () => {
  const { kms, sign, entries } = await start()
  expect((await sign(0)).status).toBe(200)
  await kms.stop()
  expect((await sign(1)).status).toBe(503)
  await expect.poll(async () => (await entries()).map(({ http_status }) => http_status)).toEqual([503, 102, 200, 102])
  const [refused, reserved, signed, first] = await entries()
  expect(refused?.request_id).toBe(reserved?.request_id)
  expect(signed?.request_id).toBe(first?.request_id)
  expect(kms.request_ids).toContain(signed?.key_request_id)
  expect([first?.key_request_id, refused?.key_request_id]).toEqual([null, null])

  // An answer that refuses has an id too.
  await kms.start()
  kms.faults.error = 'AccessDeniedException'
  expect((await sign(1)).status).toBe(503)
  await expect.poll(async () => kms.request_ids.includes((await entries())[0]?.key_request_id ?? '')).toBe(true)
})

test('gives an amount back when the key service takes the request and never answers', async () => {
  const { kms, sign } = await start()
  kms.faults.silent = true
  // Two of them would use up the limit of 2,000.
  for (let nonce = 0; nonce < 3; nonce += 1) expect((await sign(nonce)).status).toBe(503)
  kms.faults.silent = false
  expect((await sign(0)).status).toBe(200)
  expect((await sign(1)).status).toBe(200)
  expect((await sign(2)).status).toBe(403)
})
