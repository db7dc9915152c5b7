import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startFakeAzure } from '../../support/fake-azure.ts'
import { startFakeGoogleKms } from '../../support/fake-google-kms.ts'
import { startFakeWeb3signer } from '../../support/fake-web3signer.ts'
import { tls } from '../../support/listener.ts'
import { type KeyStage, troubleMaker } from '../stage.ts'

// Key services of which no implementation runs here: stand-ins by their published interfaces.

export async function startGoogleCloudKms(): Promise<KeyStage> {
  const kms = await startFakeGoogleKms()
  return {
    environment: {},
    keeps_key: false,
    signer: async () => ({
      type: 'google_cloud_kms',
      config: { key_version: kms.addKey(), service_account: kms.account, endpoint: kms.url },
    }),
    set: troubleMaker(kms.faults, { begin: kms.stop, end: kms.start }),
    stop: kms.stop,
  }
}

export async function startAzureKeyVault(): Promise<KeyStage> {
  const azure = await startFakeAzure()
  const { tenant_id, client_id, client_secret } = azure
  const authorities = getCACertificates('default')
  // The identity platform is reached over HTTPS only.
  setDefaultCACertificates([...authorities, tls.cert])
  return {
    environment: {
      AZURE_AUTHORITY_HOST: azure.authority_url,
      NODE_EXTRA_CA_CERTS: join(import.meta.dirname, '..', '..', 'support', 'tls', 'certificate.pem'),
    },
    keeps_key: false,
    signer: async () => ({
      type: 'azure_key_vault',
      config: { vault_url: azure.url, key_name: azure.addKey().name, tenant_id, client_id, client_secret },
    }),
    set: troubleMaker(azure.faults, { begin: azure.stop, end: azure.start }),
    async stop() {
      setDefaultCACertificates(authorities)
      await azure.close()
    },
  }
}

/** It has one key: each key is in a signer of its own. */
export async function startRemoteRest(): Promise<KeyStage> {
  const all: Awaited<ReturnType<typeof startFakeWeb3signer>>[] = []
  const sets: KeyStage['set'][] = []
  return {
    environment: {},
    keeps_key: false,
    async signer() {
      const remote = await startFakeWeb3signer()
      all.push(remote)
      sets.push(troubleMaker(remote.faults, { begin: remote.stop, end: remote.start }))
      return { type: 'remote', config: { url: remote.url, address: remote.address } }
    },
    set: async (trouble) => {
      for (const set of sets) await set(trouble)
    },
    async stop() {
      for (const remote of all) await remote.stop()
    },
  }
}
