import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { CreateSignerRequest } from '../../client/index.ts'
import { startFakeAzure } from '../support/fake-azure.ts'
import { startFakeGoogleKms } from '../support/fake-google-kms.ts'
import { awsCredentials, startFakeKms } from '../support/fake-kms.ts'
import { startFakeVault } from '../support/fake-vault.ts'
import { startFakeWeb3signer } from '../support/fake-web3signer.ts'
import { tls } from '../support/listener.ts'
import { expectNothingReaches } from '../support/refused-signatures.ts'
import { startTestService } from '../support/service.ts'

// The type `pkcs11` is in test/key-services/pkcs11.keys.ts, with calls counted by a module between the service and the token.

const environment = { ...process.env }
const authorities = getCACertificates('default')
beforeAll(() => {
  Object.assign(process.env, awsCredentials)
  setDefaultCACertificates([...authorities, tls.cert])
})
afterAll(() => {
  process.env = environment
  setDefaultCACertificates(authorities)
})

interface Counted {
  signer: CreateSignerRequest
  calls(): number
}

const services: Record<string, () => Promise<Counted>> = {
  async aws_kms() {
    const kms = await startFakeKms()
    onTestFinished(() => kms.stop())
    const config = { region: kms.region, key_id: kms.addKey(), endpoint: kms.url }
    return { signer: { type: 'aws_kms', config }, calls: () => kms.request_ids.length }
  },
  async google_cloud_kms() {
    const kms = await startFakeGoogleKms()
    onTestFinished(() => kms.stop())
    const config = { key_version: kms.addKey(), service_account: kms.account, endpoint: kms.url }
    return { signer: { type: 'google_cloud_kms', config }, calls: () => kms.requests.length }
  },
  async azure_key_vault() {
    const azure = await startFakeAzure()
    onTestFinished(() => azure.close())
    const before = process.env.AZURE_AUTHORITY_HOST
    process.env.AZURE_AUTHORITY_HOST = azure.authority_url
    onTestFinished(() => {
      if (before === undefined) delete process.env.AZURE_AUTHORITY_HOST
    })
    const { tenant_id, client_id, client_secret } = azure
    const config = { vault_url: azure.url, key_name: azure.addKey().name, tenant_id, client_id, client_secret }
    const calls = () => azure.requests.length + azure.token_requests.length
    return { signer: { type: 'azure_key_vault', config }, calls }
  },
  async remote() {
    const remote = await startFakeWeb3signer()
    onTestFinished(() => remote.stop())
    const { url, address } = remote
    return { signer: { type: 'remote', config: { url, address } }, calls: () => remote.requests.length }
  },
  async vault() {
    const vault = await startFakeVault()
    onTestFinished(() => vault.stop())
    vault.secrets['relayers/one'] = { key: '7c'.repeat(32) }
    const config = { url: vault.url, path: 'relayers/one', token: vault.token }
    return { signer: { type: 'vault', config }, calls: () => vault.requests.length }
  },
}

test.each(Object.keys(services))('%s: does not call the key service for a refused signature', async (type) => {
  const { signer, calls } = await (services[type] as () => Promise<Counted>)()
  expect(calls()).toBe(0)
  await expectNothingReaches(await startTestService({}, { elapsed: () => 0 }), signer, calls)
})
