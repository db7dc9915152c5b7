import type { VaultConfig } from '../../generated/openapi.ts'
import { addressOf, curve, isKey } from './curve.ts'
import { member } from './json-request.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { shared } from './shared-call.ts'
import { createVaultApi } from './vault-api.ts'

/**
 * A key in the KV secrets engine, version 2, of HashiCorp Vault or OpenBao, by their API documentation (secret/kv/kv-v2, "Read secret
 * version"). It is read on first use and then stays in this process's memory: Vault cannot sign with secp256k1. `address`: of the key,
 * where it is known; another key is not kept.
 */
export function createVaultKv({ lookup }: Outbound): (config: VaultConfig, address: string | undefined) => RemoteKey {
  return (config, address) => {
    const vault = createVaultApi(config, lookup)
    let read: Uint8Array | undefined

    const readKey = shared(async (signal) => {
      const path = config.path.split('/').map(encodeURIComponent).join('/')
      const mount = config.mount ?? 'secret'
      const answer = await vault.call('GET', `${mount}/data/${path}`, undefined, signal).catch((error) => {
        const isFull = error instanceof KeyServiceFault && config.path.startsWith(`${mount}/data/`)
        throw isFull
          ? new KeyServiceFault(error.kind, `${error.message}; path must not start with ${mount}/data/`)
          : error
      })
      const field = config.field ?? 'key'
      const text = member(member(member(answer, 'data'), 'data'), field)
      const key = typeof text === 'string' && hexKey.test(text) ? Buffer.from(text.slice(-64), 'hex') : undefined
      if (!key || !isKey(key)) {
        throw new KeyServiceFault('refused', `the field ${field} of the secret must be a private key, 64 hex digits`)
      }
      if (address !== undefined && addressOf(curve.publicKey(key)) !== address) {
        throw new KeyServiceFault('wrong', 'the secret in Vault is the key of another address')
      }
      read = key
      return key
    })

    return {
      publicKey: async (signal) => ({ address: addressOf(curve.publicKey(await readKey(signal))) }),
      sign: async (digest, signal) => ({ rs: curve.sign(digest, read ?? (await readKey(signal))).rs }),
    }
  }
}

const hexKey = /^(?:0x)?[0-9a-fA-F]{64}$/
