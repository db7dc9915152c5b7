import { expect, test } from 'vitest'
import type { CreateSignerRequest, Failure } from '../../client/index.ts'
import { spawnService } from '../support/process.ts'
import { temporaryFolder } from '../support/service.ts'

const version = 'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1'
const signers: [CreateSignerRequest, string][] = [
  [
    { type: 'aws_kms', config: { key_id: 'alias/a', region: 'eu-central-1' } },
    '@aws-sdk/client-kms is not installed: run npm install --save-optional @aws-sdk/client-kms,',
  ],
  [
    { type: 'google_cloud_kms', config: { key_version: version, endpoint: 'http://127.0.0.1:9' } },
    'google-auth-library is not installed: run npm install --save-optional google-auth-library,',
  ],
  [
    { type: 'azure_key_vault', config: { vault_url: 'http://127.0.0.1:9', key_name: 'k' } },
    '@azure/msal-node is not installed: run npm install --save-optional @azure/msal-node,',
  ],
  [
    { type: 'pkcs11', config: { token_label: 't', key_label: 'k' } },
    'pkcs11js is not compiled: run npm run build:pkcs11,',
  ],
]

const without = (settings: Record<string, string>) =>
  spawnService({
    ...{ DATA_DIR: temporaryFolder(), NODE_OPTIONS: '--import ./test/support/without-packages.ts' },
    ...{ WITHOUT_PACKAGES: '@aws-sdk/client-kms,google-auth-library,@azure/msal-node' },
    ...settings,
  })

test('starts and signs without the optional packages, and names the package that a signer type needs', async () => {
  const ApiKey = 'key-of-a-test-without-optional-packages'
  const service = without({ API_KEY: ApiKey, PKCS11_MODULES: '/none.so', PKCS11_PIN: '0000' })
  const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s]+\/api\/v1)\n/)
  const post = (path: string, body: object) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ApiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
  expect((await post('/relayers/demo/sign', { message: 'Hello' })).status).toBe(200)
  for (const [signer, words] of signers) {
    const response = await post('/signers', signer)
    const { details } = (await response.json()) as Failure
    expect.soft(response.status, signer.type).toBe(422)
    expect.soft(details?.[0]?.message).toContain(words)
  }
})

test.each([
  ['aws-kms:alias/a?region=eu-central-1', '@aws-sdk/client-kms'],
  ['gcp-kms:projects/p/locations/l/keyRings/r/cryptoKeys/k', 'google-auth-library'],
])('MASTER_KEY=%s: does not start without %s, and names the package to install', async (MasterKey, name) => {
  const service = without({ MASTER_KEY: MasterKey })
  expect(await service.ended).toBe(1)
  expect(service.err()).toContain(`the package ${name} is not installed: run npm install --save-optional ${name}`)
  expect(service.err()).not.toMatch(/\n\s+at /)
})
