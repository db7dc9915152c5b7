import { join } from 'node:path'
import { CreateKeyCommand, DecryptCommand, DisableKeyCommand, EnableKeyCommand, KMSClient } from '@aws-sdk/client-kms'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { rights } from '../../server/cli/rights.ts'
import { rotateMasterKey } from '../../server/cli/rotate-master-key.ts'
import { readConfig } from '../../server/config.ts'
import { readMasterKeySetting } from '../../server/domain/settings.ts'
import { startTestService } from '../support/service.ts'
import { bao, callBao } from './openbao.ts'

const endpoint = process.env.KEY_KMS_URL ?? ''
const region = 'us-east-1'
const kms = new KMSClient({ region, endpoint })
const sign = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }

async function createAwsKey(): Promise<string> {
  const { KeyMetadata } = await kms.send(new CreateKeyCommand({ KeySpec: 'SYMMETRIC_DEFAULT' }))
  return KeyMetadata?.KeyId ?? ''
}

const settingOf = (keyId: string) => `aws-kms:${keyId}?region=${region}&endpoint=${endpoint}`

/** A key of the Transit engine, with an AppRole that has the permissions of docs/keys.md. */
async function createTransitKey(name: string, capability: 'both' | 'encrypt' = 'both') {
  await callBao('POST', 'sys/mounts/transit', { type: 'transit' }).catch(() => undefined)
  await callBao('POST', 'sys/auth/approle', { type: 'approle' }).catch(() => undefined)
  await callBao('POST', `transit/keys/${name}`, {})
  const operations = capability === 'both' ? ['encrypt', 'decrypt'] : ['encrypt']
  const policy = operations.map((operation) => `path "transit/${operation}/${name}" { capabilities = ["update"] }`)
  await callBao('PUT', `sys/policies/acl/${name}`, { policy: policy.join('\n') })
  await callBao('POST', `auth/approle/role/${name}`, { token_policies: name, token_ttl: '10m' })
  const { data: role } = await callBao<{ data: { role_id: string } }>('GET', `auth/approle/role/${name}/role-id`)
  const { data: secret } = await callBao<{ data: { secret_id: string } }>('POST', `auth/approle/role/${name}/secret-id`)
  return {
    MASTER_KEY: `vault:transit/${name}`,
    ...{ VAULT_ADDR: bao.url, VAULT_ROLE_ID: role.role_id, VAULT_SECRET_ID: secret.secret_id },
  }
}

/** The signature of the relayer `demo` of a service that starts with these settings, and ends. */
async function signed(settings: Record<string, string>) {
  const service = await startTestService(settings)
  const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  await service.close()
  return { sig: data.sig, DATA_DIR: service.data_dir }
}

const rotate = ({ NEW_MASTER_KEY, ...settings }: { NEW_MASTER_KEY: string } & Record<string, string>) =>
  rotateMasterKey({ config: readConfig(settings), new_key: readMasterKeySetting(NEW_MASTER_KEY) })

test('encrypts the master key with a key in ministack; does not start with a disabled key, another key or a changed ciphertext', async () => {
  const keyId = await createAwsKey()
  const MasterKey = settingOf(keyId)
  const { sig, DATA_DIR } = await signed({ MASTER_KEY: MasterKey })
  expect((await signed({ MASTER_KEY: MasterKey, DATA_DIR })).sig).toBe(sig)
  await kms.send(new DisableKeyCommand({ KeyId: keyId }))
  await expect(startTestService({ MASTER_KEY: MasterKey, DATA_DIR })).rejects.toThrow(
    /AWS KMS answered DisabledException/,
  )
  await kms.send(new EnableKeyCommand({ KeyId: keyId }))
  // The emulator encrypts without authentication: the check in the database finds that the master key is another one.
  const refused = /does not decrypt the master key|encrypted under another master key/
  const other = settingOf(await createAwsKey())
  await expect(startTestService({ MASTER_KEY: other, DATA_DIR })).rejects.toThrow(refused)
  const next = await createAwsKey()
  await rotate({ MASTER_KEY: MasterKey, DATA_DIR, NEW_MASTER_KEY: settingOf(next) })
  expect((await signed({ MASTER_KEY: settingOf(next), DATA_DIR })).sig).toBe(sig)
  await expect(startTestService({ MASTER_KEY: MasterKey, DATA_DIR })).rejects.toThrow(refused)

  const db = new Database(join(DATA_DIR, 'relayer.sqlite'))
  const CiphertextBlob = db.prepare<[], Buffer>('SELECT wrapped_key FROM vault_check').pluck().get()
  const context = { EncryptionContext: { application: 'evm-relayer-service', purpose: 'master-key' } }
  const decrypt = (more: object) => kms.send(new DecryptCommand({ KeyId: next, CiphertextBlob, ...more }))
  expect((await decrypt(context)).Plaintext).toHaveLength(32)
  await expect(decrypt({})).rejects.toThrow(/EncryptionContext does not match/)
  db.exec("UPDATE vault_check SET wrapped_key = CAST(substr(wrapped_key, 1, length(wrapped_key) - 1) || x'00' AS BLOB)")
  db.close()
  await expect(startTestService({ MASTER_KEY: settingOf(next), DATA_DIR })).rejects.toThrow(refused)
})

test('encrypts the master key with a key in OpenBao by an AppRole with the documented permissions, also after the key’s rotation', async () => {
  const settings = await createTransitKey('master')
  const { sig, DATA_DIR } = await signed(settings)
  await callBao('POST', 'transit/keys/master/rotate', {})
  expect((await signed({ ...settings, DATA_DIR })).sig).toBe(sig)
  const { VAULT_ROLE_ID: _, VAULT_SECRET_ID: __, ...place } = settings
  expect((await signed({ ...place, VAULT_TOKEN: bao.token, DATA_DIR })).sig).toBe(sig)

  const other = await createTransitKey('other')
  await expect(startTestService({ ...other, MASTER_KEY: settings.MASTER_KEY, DATA_DIR })).rejects.toThrow(
    /Vault answered 403: .*permission denied/s,
  )
  await expect(startTestService({ ...other, DATA_DIR })).rejects.toThrow(/\(vault:transit\/master encrypted it\)/)
  const oneWay = await createTransitKey('one-way', 'encrypt')
  await expect(startTestService(oneWay)).rejects.toThrow(/Vault answered 403/)
  // The operator's policies have no permission to create keys, so a misspelled name does not make one.
  await expect(startTestService({ ...settings, MASTER_KEY: 'vault:transit/mistyped' })).rejects.toThrow(/403/)
})

test('rotates the master key from a file to ministack, to OpenBao and to a setting', async () => {
  const aws = settingOf(await createAwsKey())
  const vault = await createTransitKey('moved')
  const { sig, DATA_DIR } = await signed({})
  await rotate({ DATA_DIR, NEW_MASTER_KEY: aws })
  await rotate({ ...vault, DATA_DIR, MASTER_KEY: aws, NEW_MASTER_KEY: vault.MASTER_KEY })
  expect(await rights(readConfig({ ...vault, DATA_DIR }), 'verify')).toContain('unchanged')
  const MasterKey = 'c3'.repeat(32)
  await rotate({ ...vault, DATA_DIR, NEW_MASTER_KEY: MasterKey })
  expect((await signed({ DATA_DIR, MASTER_KEY: MasterKey })).sig).toBe(sig)
})
