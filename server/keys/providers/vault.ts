import type { LookupFunction } from 'node:net'
import type { VaultConfig } from '../../../generated/openapi.ts'
import type { VaultAccess, VaultKey } from '../../domain/settings.ts'
import {
  type EncryptionKey,
  type FaultKind,
  KeyServiceFault,
  type Outbound,
  purposeBytes,
  type RemoteKey,
  shared,
  unanswered,
} from '../key-service.ts'
import { addressOf, curve, isKey } from '../secp256k1.ts'
import { type JsonAnswer, member, requestJson, textMember } from './rest-service.ts'

/** Vault's HTTP API. */
interface Vault {
  access: VaultAccess
  lookup: LookupFunction | undefined
}

interface VaultRequest {
  method: 'GET' | 'POST'
  path: string
  body?: unknown
}

/** Logs in with the AppRole first (auth/approle, "Login with AppRole"). Resolves to the body. Rejects with KeyServiceFault. */
async function callVault(vault: Vault, request: VaultRequest, signal: AbortSignal): Promise<unknown> {
  return send(vault, request, await login(vault, signal), signal)
}

async function login(vault: Vault, signal: AbortSignal): Promise<string> {
  if ('token' in vault.access) return vault.access.token
  const { role_id, secret_id } = vault.access
  const request = { method: 'POST' as const, path: 'auth/approle/login', body: { role_id, secret_id } }
  const token = member(member(await send(vault, request, undefined, signal), 'auth'), 'client_token')
  if (typeof token !== 'string') throw new KeyServiceFault('wrong', 'Vault answered the login without a token')
  return token
}

async function send({ access, lookup }: Vault, request: VaultRequest, token: string | undefined, signal: AbortSignal) {
  const { path, ...methodAndBody } = request
  const headers = {
    ...(token !== undefined && { 'X-Vault-Token': token }),
    ...(access.namespace !== undefined && { 'X-Vault-Namespace': access.namespace }),
  }
  const url = `${access.url.replace(/\/$/, '')}/v1/${path}`
  const answer = await requestJson({ ...methodAndBody, url, headers, lookup, signal }).catch((error) => {
    throw unanswered('Vault', error)
  })
  if (answer.status !== 200) throw faultOf(answer)
  return answer.body
}

/** The status codes are those of Vault's API ("HTTP status codes"). */
function faultOf({ status, body }: JsonAnswer): KeyServiceFault {
  const errors = member(body, 'errors')
  return new KeyServiceFault(kindOf(status), `Vault answered ${status}`, Array.isArray(errors) ? errors.join('; ') : '')
}

function kindOf(status: number): FaultKind {
  if (status === 429) return 'throttled'
  // A sealed or standby node answers 503, 472 or 473.
  return status >= 472 ? 'unavailable' : 'refused'
}

/**
 * A key in the KV secrets engine, version 2, of HashiCorp Vault or OpenBao, by their API documentation (secret/kv/kv-v2, "Read secret
 * version"). It is read on first use and then stays in this process's memory: Vault cannot sign with secp256k1. `address`: of the key,
 * where it is known; another key is not kept.
 */
export function vaultKey({ lookup }: Outbound, config: VaultConfig, address: string | undefined): RemoteKey {
  let read: Uint8Array | undefined

  const readKey = shared(async (signal) => {
    const mount = config.mount ?? 'secret'
    const path = `${mount}/data/${config.path.split('/').map(encodeURIComponent).join('/')}`
    const answer = await callVault({ access: config, lookup }, { method: 'GET', path }, signal).catch((error) => {
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

const hexKey = /^(?:0x)?[0-9a-fA-F]{64}$/

/**
 * A key of the Transit secrets engine of HashiCorp Vault or OpenBao, by their API documentation (secret/transit, "Encrypt data",
 * "Decrypt data"), with the purpose as associated data.
 */
export function vaultEncryptionKey({ mount, key }: VaultKey, access: VaultAccess): EncryptionKey {
  const associatedData = Buffer.from(purposeBytes).toString('base64')

  async function call(operation: 'encrypt' | 'decrypt', input: object, field: string, signal: AbortSignal) {
    const body = { ...input, associated_data: associatedData }
    const request = { method: 'POST' as const, path: `${mount}/${operation}/${key}`, body }
    const answer = await callVault({ access, lookup: undefined }, request, signal)
    const text = textMember(member(answer, 'data'), field)
    if (text === undefined) throw new KeyServiceFault('wrong', 'the answer of Vault has no content')
    return text
  }

  return {
    async encrypt(plain, signal) {
      const plaintext = Buffer.from(plain).toString('base64')
      return Buffer.from(await call('encrypt', { plaintext }, 'ciphertext', signal))
    },
    async decrypt(encrypted, signal) {
      const ciphertext = Buffer.from(encrypted).toString()
      return Buffer.from(await call('decrypt', { ciphertext }, 'plaintext', signal), 'base64')
    },
  }
}
