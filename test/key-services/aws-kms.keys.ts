import { CreateKeyCommand, DisableKeyCommand, type KeySpec, KMSClient } from '@aws-sdk/client-kms'
import { Transaction, verifyMessage, verifyTypedData } from 'ethers'
import { expect, test } from 'vitest'
import { testRig } from '../support/test-rig.ts'

const endpoint = process.env.KEY_KMS_URL ?? ''
const region = 'us-east-1'
const client = new KMSClient({ region, endpoint })
async function createKey(KeySpec: KeySpec = 'ECC_SECG_P256K1'): Promise<string> {
  const { KeyMetadata } = await client.send(new CreateKeyCommand({ KeySpec, KeyUsage: 'SIGN_VERIFY' }))
  return KeyMetadata?.KeyId ?? ''
}

const signerOf = (keyId: string) => ({ type: 'aws_kms' as const, config: { region, key_id: keyId, endpoint } })

test('signs messages, typed data and transactions with a key in ministack', async () => {
  const rig = await testRig()
  const { relayer_id, address } = await rig.addAccount({ signer: signerOf(await createKey()) })
  const path = { relayer_id }
  for (let index = 0; index < 20; index += 1) {
    const body = { message: `Hello ${index}` }
    const { data } = await rig.client().post('/api/v1/relayers/{relayer_id}/sign', { path, body })
    expect(verifyMessage(body.message, data.sig).toLowerCase()).toBe(address)
  }
  const types = { Mail: [{ name: 'text', type: 'string' }] }
  const domain = { name: 'Test', chainId: 31_337 }
  const { data: typed } = await rig.client().post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', {
    path,
    body: { domain, types, primaryType: 'Mail', message: { text: 'Hi' } },
  })
  expect(verifyTypedData(domain, types, { text: 'Hi' }, typed.sig).toLowerCase()).toBe(address)
  const unsignedTransaction = Transaction.from({ type: 2, chainId: 31_337, gasLimit: 21_000, to: address })
    .unsignedSerialized as `0x${string}`
  const { data: signed } = await rig.client().post('/api/v1/relayers/{relayer_id}/sign-transaction', {
    path,
    body: { unsigned_transaction: unsignedTransaction },
  })
  expect(Transaction.from(signed.signed_transaction).from?.toLowerCase()).toBe(address)
})

test('rejects a key on another curve, a disabled key and a missing one', async () => {
  const rig = await testRig()
  const disabled = await createKey()
  await client.send(new DisableKeyCommand({ KeyId: disabled }))
  const missing = '00000000-0000-4000-8000-000000000000'
  for (const keyId of [await createKey('ECC_NIST_P256'), disabled, missing]) {
    await expect(rig.client().post('/api/v1/signers', { body: signerOf(keyId) })).rejects.toMatchObject({
      status: 422,
    })
  }
})
