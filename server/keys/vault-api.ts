import type { LookupFunction } from 'node:net'
import type { VaultAccess } from '../core/settings/vault-access.ts'
import { type JsonAnswer, member, requestJson } from './json-request.ts'
import { type FaultKind, KeyServiceFault } from './key-service.ts'
import { unanswered } from './unanswered.ts'

/** Calls of Vault's HTTP API, which reject with KeyServiceFault. */
export interface VaultApi {
  /** Logs in with the AppRole first (auth/approle, "Login with AppRole"). Resolves to the body. */
  call(method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal): Promise<unknown>
}

export function createVaultApi(access: VaultAccess, lookup: LookupFunction | undefined): VaultApi {
  async function send(
    method: 'GET' | 'POST',
    path: string,
    token: string | undefined,
    body: unknown,
    signal: AbortSignal,
  ) {
    const headers = {
      ...(token !== undefined && { 'X-Vault-Token': token }),
      ...(access.namespace !== undefined && { 'X-Vault-Namespace': access.namespace }),
    }
    const url = `${access.url.replace(/\/$/, '')}/v1/${path}`
    const answer = await requestJson({ url, method, headers, body, lookup, signal }).catch((error) => {
      throw unanswered('Vault', error)
    })
    if (answer.status !== 200) throw faultOf(answer)
    return answer.body
  }

  async function login(signal: AbortSignal): Promise<string> {
    if ('token' in access) return access.token
    const { role_id, secret_id } = access
    const answer = await send('POST', 'auth/approle/login', undefined, { role_id, secret_id }, signal)
    const token = member(member(answer, 'auth'), 'client_token')
    if (typeof token !== 'string') throw new KeyServiceFault('wrong', 'Vault answered the login without a token')
    return token
  }

  return {
    async call(method, path, body, signal) {
      return send(method, path, await login(signal), body, signal)
    },
  }
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
