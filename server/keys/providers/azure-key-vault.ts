import type { AzureKeyVaultConfig } from '../../../generated/openapi.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from '../key-service.ts'
import { addressOf } from '../secp256k1.ts'
import { pointOf } from '../signer.ts'
import { createAzureIdentity } from './azure-identity.ts'
import { createRestService, type JsonAnswer, kindOfStatus, member, textMember } from './rest-service.ts'

const name = 'Azure Key Vault'
const apiVersion = '7.4'

/** Keys in Azure Key Vault and Managed HSM, by its REST reference, version 7.4 (Get Key, Sign). */
export function createAzureKeyVault(outbound: Outbound): (config: AzureKeyVaultConfig) => RemoteKey {
  const rest = createRestService(name, outbound)
  const tokenFor = createAzureIdentity()

  return (config) => {
    async function call(
      method: 'GET' | 'POST',
      path: string,
      body: unknown,
      signal: AbortSignal,
    ): Promise<{ body: unknown; request_id: string | undefined }> {
      const version = config.key_version === undefined ? '' : `/${config.key_version}`
      const url = `${config.vault_url.replace(/\/$/, '')}/keys/${config.key_name}${version}${path}`
      const answer = await rest.send({
        ...{ url: `${url}?api-version=${apiVersion}`, method, signal },
        headers: { Authorization: `Bearer ${await tokenFor(config, signal)}` },
        ...(body !== undefined && { body }),
      })
      if (answer.status !== 200) throw faultOf(answer)
      return { body: answer.body, request_id: requestIdOf(answer) }
    }

    return {
      async publicKey(signal) {
        const { body } = await call('GET', '', undefined, signal)
        const key = member(body, 'key')
        const [type, crv] = [textMember(key, 'kty'), textMember(key, 'crv')]
        if ((type !== 'EC' && type !== 'EC-HSM') || crv !== 'P-256K') {
          throw new KeyServiceFault('refused', `the key must be EC or EC-HSM on P-256K; it is ${type} on ${crv}`)
        }
        const [x, y] = [textMember(key, 'x') ?? '', textMember(key, 'y') ?? '']
        const point = pointOf(x, y)
        const version = textMember(key, 'kid')?.split('/').at(-1)
        if (point.length !== 65 || !version) throw damaged('is not a public key')
        return { address: addressOf(point), version }
      },
      async sign(digest, signal) {
        const value = Buffer.from(digest).toString('base64url')
        const { body, request_id } = await call('POST', '/sign', { alg: 'ES256K', value }, signal)
        // RFC 8812: r and s, 32 bytes each.
        const rs = Buffer.from(textMember(body, 'value') ?? '', 'base64url')
        if (rs.length !== 64) throw damaged('is not a signature')
        return { rs, ...(request_id !== undefined && { request_id }) }
      },
    }
  }
}

const damaged = (what: string) => new KeyServiceFault('wrong', `the answer of ${name} ${what}`)

function requestIdOf({ headers }: JsonAnswer): string | undefined {
  const id = headers['x-ms-request-id']
  return typeof id === 'string' ? id.slice(0, 80) : undefined
}

function faultOf(answer: JsonAnswer): KeyServiceFault {
  const error = member(answer.body, 'error')
  const word = textMember(error, 'code')
  const shown = word !== undefined && /^[A-Za-z]{1,60}$/.test(word) ? `${answer.status} ${word}` : `${answer.status}`
  const id = requestIdOf(answer)
  const request = id === undefined ? '' : `, request ${id}`
  return new KeyServiceFault(
    kindOfStatus(answer.status),
    `${name} answered ${shown}${request}`,
    textMember(error, 'message'),
    id,
  )
}
