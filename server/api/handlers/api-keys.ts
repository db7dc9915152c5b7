import { isIP } from 'node:net'
import type { ApiKey, CreateApiKeyRequest, GrantedScopes, UpdateApiKeyRequest } from '../../../generated/openapi.ts'
import { badRequest, conflict, notFound } from '../../domain/errors.ts'
import type { Handlers } from '../../domain/operation.ts'
import type { ApiKeyRow } from '../../domain/rows.ts'
import { readTime } from '../../domain/values.ts'
import { makeToken } from '../../lib/token.ts'
import type { OperationDependencies } from '../../services/context.ts'
import type { UnknownLimit } from '../../store/configuration-store.ts'
import { page } from './page.ts'

type ApiKeys = Pick<
  Handlers,
  'createApiKey' | 'listApiKeys' | 'getApiKey' | 'updateApiKey' | 'deleteApiKey' | 'rotateApiKey'
>

export function apiKeys({ store, makeId, now }: Pick<OperationDependencies, 'store' | 'makeId' | 'now'>): ApiKeys {
  const timestamp = (ms: number) => new Date(ms).toISOString()

  return {
    async createApiKey({ body, auditEntry }) {
      const id = makeId()
      const { token, secret_hash } = makeToken(id)
      const row: ApiKeyRow = {
        id,
        secret_hash,
        former_hash: null,
        former_valid_until: null,
        last_used_at: null,
        relayer_ids: null,
        pool_ids: null,
        allowed_cidrs: null,
        rate_limit: null,
        expires_at: null,
        ...readChanges(body),
        // A key for pools is limited to them, unless it says otherwise.
        ...(body.pool_ids && !body.relayer_ids && { relayer_ids: [] }),
        name: body.name,
        scopes: body.scopes,
        created_at: timestamp(now()),
      }
      auditEntry.subject = id
      const created = await store.createApiKey(row, auditEntry)
      if (created === 'too_many') throw conflict('/body', 'the limit of API keys is reached; revoke a key first')
      if (created === 'name_taken') throw nameTaken()
      if (!('id' in created)) throw unknown(created)
      return { api_key: show(created), token }
    },

    listApiKeys: ({ query }) => page(query, store.listApiKeys, show),

    async getApiKey({ path }) {
      return show(found(await store.getApiKey(path.api_key_id)))
    },

    async updateApiKey({ path, body, auditEntry }) {
      const changes = readChanges(body)
      // Other rights would make a key that stands in web pages more than the key of a sponsorship.
      const isSponsorships = (await store.getApiKey(path.api_key_id))?.scopes.includes('relay')
      if (isSponsorships && (body.scopes || body.relayer_ids !== undefined || body.pool_ids !== undefined))
        throw conflict('/body', 'it is the key of a sponsorship, whose rights cannot be changed')
      const updated = await store.updateApiKey(path.api_key_id, changes, auditEntry)
      if (updated === 'missing') throw missing()
      if (updated === 'name_taken') throw nameTaken()
      if (!('id' in updated)) throw unknown(updated)
      return show(updated)
    },

    async deleteApiKey({ path, auditEntry }) {
      const outcome = await store.deleteApiKey(path.api_key_id, auditEntry)
      if (outcome === 'missing') throw missing()
      if (outcome === 'in_use')
        throw conflict('/path/api_key_id', 'it is the key of a sponsorship; rotate it, or delete the sponsorship')
      return 'API key revoked successfully'
    },

    async rotateApiKey({ path, body, auditEntry }) {
      const { token, secret_hash } = makeToken(path.api_key_id)
      const validMs = (body.former_valid_seconds ?? formerValidS) * 1_000
      const formerValidUntil = validMs > 0 ? timestamp(now() + validMs) : null
      const rotated = found(await store.rotateApiKey(path.api_key_id, secret_hash, formerValidUntil, auditEntry))
      return { api_key: show(rotated), token }
    },
  }
}

const formerValidS = 86_400

const nameTaken = () => conflict('/body/name', 'an API key with this name already exists')
const missing = () => notFound('API key not found')

const unknown = (its: UnknownLimit) =>
  'unknown_relayer' in its
    ? badRequest(`/body/relayer_ids/${its.unknown_relayer}`, 'no relayer has this ID')
    : badRequest(`/body/pool_ids/${its.unknown_pool}`, 'no pool has this ID')

function found(apiKey: ApiKeyRow | undefined): ApiKeyRow {
  if (!apiKey) throw missing()
  return apiKey
}

/** The given members in stored form. Throws ApiError (400). */
function readChanges(body: CreateApiKeyRequest | UpdateApiKeyRequest): Partial<ApiKey> {
  const { expires_at } = body
  body.allowed_cidrs?.forEach(checkCidr)
  return expires_at ? { ...body, expires_at: readTime(expires_at, '/body/expires_at') } : body
}

function checkCidr(cidr: string, index: number) {
  const [address = '', prefix] = cidr.split('/')
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (Number(prefix) > bits)
    throw badRequest(
      `/body/allowed_cidrs/${index}`,
      'must be an IP address with an optional prefix length, for example 10.0.0.0/8',
    )
}

/** The public part of a key. */
const show = ({ secret_hash: _, former_hash: __, ...apiKey }: ApiKeyRow): ApiKey => apiKey

const scopes: GrantedScopes = ['sign', 'send', 'read', 'notifications', 'manage', 'relay']

/** The rights of the API key that asks. */
export const caller = ({ store }: Pick<OperationDependencies, 'store'>): Pick<Handlers, 'getCaller'> => ({
  async getCaller({ caller: { id, roles, relayer_ids, pool_ids } }) {
    const apiKey = await store.getApiKey(id)
    return {
      id,
      name: apiKey?.name ?? null,
      scopes: scopes.filter((scope) => roles.has(scope)),
      relayer_ids: relayer_ids === undefined ? null : [...relayer_ids],
      pool_ids: [...pool_ids],
      may_administer: roles.has('administer'),
      expires_at: apiKey?.expires_at ?? null,
    }
  },
})
