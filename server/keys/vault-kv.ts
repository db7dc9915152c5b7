import type { VaultConfig } from '../../generated/openapi.ts'
import { addressOf, curve, isKey } from './curve.ts'
import { type JsonAnswer, member, requestJson } from './json-request.ts'
import { type FaultKind, KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'

/**
 * A key in the KV secrets engine, version 2, of HashiCorp Vault or OpenBao, by their API documentation (secret/kv/kv-v2, "Read secret
 * version"; auth/approle, "Login with AppRole"). It is read on first use and then stays in this process's memory: Vault cannot sign
 * with secp256k1.
 */
export function createVaultKv({ lookup }: Outbound): (config: VaultConfig) => RemoteKey {
  return (config) => {
    let read: Uint8Array | undefined

    async function call(
      method: 'GET' | 'POST',
      path: string,
      token: string | undefined,
      body: unknown,
      signal: AbortSignal,
    ) {
      const headers = {
        ...(token !== undefined && { 'X-Vault-Token': token }),
        ...(config.namespace !== undefined && { 'X-Vault-Namespace': config.namespace }),
      }
      const url = `${config.url.replace(/\/$/, '')}/v1/${path}`
      const answer = await requestJson({ url, method, headers, body, lookup, signal }).catch((error) => {
        throw new KeyServiceFault('away', 'no answer from Vault', (error as Error).message)
      })
      if (answer.status !== 200) throw faultOf(answer)
      return answer.body
    }

    async function login(signal: AbortSignal): Promise<string> {
      if ('token' in config) return config.token
      const { role_id, secret_id } = config
      const answer = await call('POST', 'auth/approle/login', undefined, { role_id, secret_id }, signal)
      const token = member(member(answer, 'auth'), 'client_token')
      if (typeof token !== 'string') throw new KeyServiceFault('wrong', 'Vault answered the login without a token')
      return token
    }

    async function keyOf(signal: AbortSignal): Promise<Uint8Array> {
      if (read) return read
      const token = await login(signal)
      const path = config.path.split('/').map(encodeURIComponent).join('/')
      const answer = await call('GET', `${config.mount ?? 'secret'}/data/${path}`, token, undefined, signal)
      const field = config.field ?? 'key'
      const text = member(member(member(answer, 'data'), 'data'), field)
      const key = typeof text === 'string' && hexKey.test(text) ? Buffer.from(text.slice(-64), 'hex') : undefined
      if (!key || !isKey(key)) {
        throw new KeyServiceFault('refused', `the field ${field} of the secret must be a private key, 64 hex digits`)
      }
      read = key
      return key
    }

    return {
      publicKey: async (signal) => ({ address: addressOf(curve.publicKey(await keyOf(signal))) }),
      sign: async (digest, signal) => ({ rs: curve.sign(digest, await keyOf(signal)).rs }),
    }
  }
}

const hexKey = /^(?:0x)?[0-9a-fA-F]{64}$/

/** The status codes are those of Vault's API ("HTTP status codes"). */
function faultOf({ status, body }: JsonAnswer): KeyServiceFault {
  const errors = member(body, 'errors')
  return new KeyServiceFault(kindOf(status), `Vault answered ${status}`, Array.isArray(errors) ? errors.join('; ') : '')
}

function kindOf(status: number): FaultKind {
  if (status === 429) return 'throttled'
  // A sealed or standby node answers 503, 472 or 473.
  return status >= 472 ? 'away' : 'refused'
}
