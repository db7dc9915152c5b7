import { isIP } from 'node:net'
import type {
  AmountUsage,
  ApiKey,
  BudgetUsage,
  CreateApiKeyRequest,
  RotateApiKeyRequest,
  UpdateApiKeyRequest,
} from '../../generated/openapi.ts'
import { apiKeyNotFound, badRequest, conflict, namedError, unknownReference } from '../domain/errors.ts'
import { budgetPlaces, type KeyBudget, mergeBudget, readBudget } from '../domain/policies/budgets.ts'
import { requireRevision } from '../domain/revision.ts'
import type { ApiKeyChanges, ApiKeyRow, Conditions, NewApiKey, PendingAuditEntry } from '../domain/rows.ts'
import { readTime } from '../domain/values.ts'
import { makeToken } from '../lib/ids.ts'
import type { UnknownLimit } from '../store/queries/api-keys.ts'
import type { ServicesContext } from './context.ts'
import { inCalls } from './key-owners.ts'

/* API keys, as callers and the operator's command change them. */

type Store = Pick<ServicesContext, 'store'>
type Clock = Pick<ServicesContext, 'now'>

/** An API key with its token, which is shown this once. */
interface ApiKeyWithToken {
  api_key: ApiKey
  token: string
}

/** What decides which requests it may make. */
const rights = ['scopes', 'relayer_ids', 'pool_ids', 'allowed_cidrs', 'budget', 'expires_at']
const formerValidS = 86_400

export async function createApiKey(
  { store, makeId, now }: Store & Clock & Pick<ServicesContext, 'makeId'>,
  body: CreateApiKeyRequest,
  auditEntry: PendingAuditEntry,
): Promise<ApiKeyWithToken> {
  const id = makeId()
  const { token, secret_hash } = makeToken(id)
  const changes = readChanges(body)
  const createdAt = new Date(now()).toISOString()
  if (changes.expires_at && changes.expires_at <= createdAt)
    throw badRequest(['expires_at'], `must be in the future; it is ${createdAt} now`)
  // Clients may write null for what they do not set: it must not make a key for pools one for everything.
  if (body.relayer_ids === null && (body.pool_ids ?? []).length > 0)
    throw badRequest(
      ['relayer_ids'],
      'null means all relayers: leave it out for a key of these pools alone, or leave pool_ids out',
    )
  const row: NewApiKey = {
    id,
    secret_hash,
    former_tokens: null,
    previous_token_expires_at: null,
    last_used_at: null,
    relayer_ids: null,
    pool_ids: [],
    allowed_cidrs: null,
    rate_limit: null,
    expires_at: null,
    ...changes,
    budget: changes.budget ? mergeBudget(null, changes.budget) : null,
    // A key for pools is limited to them, unless it says otherwise.
    ...(body.pool_ids && body.relayer_ids === undefined && { relayer_ids: [] }),
    name: body.name,
    scopes: body.scopes,
    created_at: createdAt,
  }
  auditEntry.subject = id
  const created = await store.createApiKey(row, auditEntry)
  if (created === 'too_many')
    throw conflict('limit_reached', [], 'the limit of API keys is reached; revoke a key first')
  if (created === 'name_taken') throw nameTaken()
  if (!('id' in created)) throw unknown(created)
  return { api_key: showApiKey(created), token }
}

export async function updateApiKey(
  { store }: Store,
  id: string,
  body: UpdateApiKeyRequest,
  { auditEntry, ifMatch }: Conditions & { auditEntry: PendingAuditEntry },
): Promise<ApiKey> {
  requireRevision(ifMatch, body, rights)
  const changes = readChanges(body)
  // Other rights would make a key that stands in web pages more than the key of a sponsorship.
  const own: string[] = (await store.getApiKey(id))?.scopes ?? []
  const { scopes, relayer_ids, pool_ids, budget } = body
  const isOfResource = own.includes('relay') || own.includes('settle')
  if (isOfResource && [scopes, relayer_ids, pool_ids, budget].some((member) => member !== undefined))
    throw conflict(
      'invalid_state',
      [],
      'it is the key of a sponsorship or a facilitator, whose rights cannot be changed',
    )
  const updated = await store.updateApiKey(id, changes, { auditEntry, ifMatch })
  if (updated === 'missing') throw apiKeyNotFound()
  if (updated === 'name_taken') throw nameTaken()
  if (!('id' in updated)) throw unknown(updated)
  return showApiKey(updated)
}

/** Replaces the token. The former one is accepted for a while. */
export async function rotateApiKey(
  { store, now }: Store & Clock,
  id: string,
  { previous_token_valid_seconds = formerValidS }: RotateApiKeyRequest,
  auditEntry: PendingAuditEntry,
): Promise<ApiKeyWithToken> {
  const { token, secret_hash } = makeToken(id)
  const previousTokenExpiresAt =
    previous_token_valid_seconds > 0 ? new Date(now() + previous_token_valid_seconds * 1_000).toISOString() : null
  const rotated = await store.rotateApiKey(
    id,
    { secret_hash, previous_token_expires_at: previousTokenExpiresAt },
    auditEntry,
  )
  if (!rotated) throw apiKeyNotFound()
  return { api_key: showApiKey(rotated), token }
}

export async function revokeApiKey({ store }: Store, id: string, conditions: Conditions): Promise<void> {
  const outcome = await store.deleteApiKey(id, conditions)
  if (outcome === 'missing') throw apiKeyNotFound()
  if (outcome === 'in_use')
    throw namedError(
      'invalid_state',
      'api_key_id',
      'it is the key of a sponsorship or a facilitator; rotate it, or delete what it belongs to',
    )
}

/** A budget with what its limits have left. */
export async function getBudgetUsage({ store }: Store, budget: KeyBudget): Promise<BudgetUsage> {
  const { assets, fees, transactions } = budgetPlaces(budget)
  const [ofAssets, ofFees, ofTransactions] = await Promise.all([
    Promise.all(assets.map(store.usage)),
    fees && store.usage(fees),
    transactions && store.usage(transactions),
  ])
  return {
    assets: budget.rules.assets.map(({ asset, max_amount_per_transaction }, index) => ({
      ...(ofAssets[index] as AmountUsage),
      asset,
      max_amount_per_transaction,
    })),
    fees: ofFees ?? null,
    transactions: ofTransactions ? inCalls(ofTransactions) : null,
    receivers: budget.rules.receivers,
  }
}

/** The public part of a key. */
export const showApiKey = ({ secret_hash: _, former_tokens: __, ...apiKey }: ApiKeyRow): ApiKey => apiKey

const nameTaken = () => conflict('already_exists', ['name'], 'an API key with this name already exists')

const unknown = (limit: UnknownLimit) =>
  'unknown_relayer' in limit
    ? unknownReference(['relayer_ids', limit.unknown_relayer], 'no relayer has this id')
    : unknownReference(['pool_ids', limit.unknown_pool], 'no pool has this id')

/** The given members in stored form. Throws DomainError (400). */
function readChanges(body: CreateApiKeyRequest | UpdateApiKeyRequest): ApiKeyChanges {
  const { expires_at, budget, ...others } = body
  body.allowed_cidrs?.forEach(checkCidr)
  return {
    ...others,
    ...(expires_at !== undefined && { expires_at: expires_at && readTime(expires_at, ['expires_at']) }),
    ...(budget !== undefined && { budget: budget && readBudget(budget) }),
  }
}

function checkCidr(cidr: string, index: number) {
  const [address = '', prefix] = cidr.split('/')
  const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (Number(prefix) > bits)
    throw badRequest(
      ['allowed_cidrs', index],
      'must be an IP address with an optional prefix length, for example 10.0.0.0/8',
    )
}
