import type {
  CountUsage,
  CreateSponsorshipRequest,
  SponsoredUser,
  Sponsorship,
  UpdateSponsorshipRequest,
  Usage,
  UserLimitsInput,
} from '../../generated/openapi.ts'
import { conflict, type DomainError, errorOf, unknownReference } from '../domain/errors.ts'
import type { Caller } from '../domain/operation.ts'
import { budgetOf, type SponsorshipRules, usageKey } from '../domain/policies/sponsored-calls.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, NewApiKey, PendingAuditEntry } from '../domain/rows.ts'
import { mergePatch, readAddress, readAmount } from '../domain/values.ts'
import { makeToken } from '../lib/ids.ts'
import type { OwnerRefusal } from '../store/queries/key-owners.ts'
import type { SponsorshipRow } from '../store/queries/sponsorships.ts'
import type { ServicesContext } from './context.ts'

/* Sponsorships: whose calls the service pays, by which rules, and what was used of their budgets. */

type Store = Pick<ServicesContext, 'store'>

/** Each grants a right, and a change replaces all of it. */
const lists = ['targets', 'forwarders', 'delegates', 'nonce_key_delegates', 'origins']

/** Makes a sponsorship and its API key, whose token is shown this once. Throws DomainError (400, 409). */
export async function createSponsorship(
  context: Pick<ServicesContext, 'store' | 'makeId' | 'now'>,
  { id = context.makeId(), ...body }: CreateSponsorshipRequest,
  auditEntry: PendingAuditEntry,
): Promise<{ sponsorship: Sponsorship; token: string }> {
  const { relayer_id, pool_id } = body
  const sender = relayer_id === undefined ? { pool_id: pool_id as string } : { relayer_id }
  const { row, token } = await createWithToken(context, auditEntry, ['Sponsorship', id], (createdAt, apiKey) =>
    context.store.createSponsorship(
      {
        ...{ targets: [], forwarders: [], delegates: [], nonce_key_delegates: [], origins: [] },
        ...{ per_user: null, paused: false },
        ...readRules(body),
        ...{ id, created_at: createdAt, ...sender },
      },
      apiKey,
      auditEntry,
    ),
  )
  return { sponsorship: await showSponsorship(context, row), token }
}

/** Makes a sponsorship or a facilitator with its API key, and the token of that. Throws DomainError (409). */
export async function createWithToken<Row extends object>(
  { makeId, now }: Pick<ServicesContext, 'makeId' | 'now'>,
  auditEntry: PendingAuditEntry,
  [kind, id]: ['Sponsorship' | 'Facilitator', string],
  insert: (createdAt: string, apiKey: NewApiKey) => Promise<Row | OwnerRefusal>,
): Promise<{ row: Row; token: string }> {
  auditEntry.subject = id
  const createdAt = new Date(now()).toISOString()
  const keyId = makeId()
  const { token, secret_hash } = makeToken(keyId)
  const name = nameOf(`${kind} ${id}`, keyId)
  const row = await insert(createdAt, {
    ...{ id: keyId, name, created_at: createdAt, secret_hash },
    scopes: [kind === 'Sponsorship' ? 'relay' : 'settle'],
    ...{ relayer_ids: [], pool_ids: null, allowed_cidrs: null, rate_limit: null, budget: null, expires_at: null },
    ...{ last_used_at: null, former_tokens: null, previous_token_expires_at: null },
  })
  if (typeof row === 'string') throw refusalOf(row, kind, name)
  return { row, token }
}

/** Why one of them was not made. */
function refusalOf(outcome: OwnerRefusal, kind: string, keyName: string): DomainError {
  switch (outcome) {
    case 'id_taken':
      return conflict('already_exists', ['id'], `a ${kind.toLowerCase()} with this ID already exists`)
    case 'unknown_relayer':
      return unknownReference(['relayer_id'], 'no relayer has this ID')
    case 'unknown_pool':
      return unknownReference(['pool_id'], 'no pool has this ID')
    case 'too_many_keys':
      return conflict('limit_reached', [], 'the limit of API keys is reached; revoke a key first')
    case 'key_name_taken':
      return conflict('already_exists', ['id'], `an API key already has the name of its key, ${keyName}`)
  }
}

/** Undefined: there is none. Throws DomainError (400, 412, 428). */
export async function updateSponsorship(
  { store }: Store,
  id: string,
  body: UpdateSponsorshipRequest,
  conditions: Conditions,
): Promise<Sponsorship | undefined> {
  requireRevision(conditions.ifMatch, body, lists)
  const updated = await store.updateSponsorship(id, (before) => readChanges(before, body), conditions)
  return updated && showSponsorship({ store }, updated)
}

/** A sponsorship with what was used of its budget. */
export async function showSponsorship({ store }: Store, sponsorship: SponsorshipRow): Promise<Sponsorship> {
  const { row_id: _, chain_id: __, relayer_row_id: ___, pool_row_id: ____, ...row } = sponsorship
  return { ...row, usage: await store.usage(budgetOf(sponsorship)) }
}

/**
 * What `read` finds, if the caller may use it: its own key, or one for all relayers. Undefined: there is none for it. Throws DomainError
 * (403).
 */
export async function ofCaller<Row extends { api_key_id: string }>(
  { id, roles, relayer_ids }: Caller,
  ownRole: 'relay' | 'settle',
  read: () => Promise<Row | undefined>,
): Promise<Row | undefined> {
  const isOwn = roles.has(ownRole)
  if (!isOwn && relayer_ids !== undefined) {
    const message = 'this API key is limited to relayers; the operation requires a key for all relayers'
    throw errorOf('forbidden', 'api_key', message)
  }
  const row = await read()
  return isOwn && row?.api_key_id !== id ? undefined : row
}

/** What a user has used and may still use. */
export async function usageOfUser(
  { store }: Store,
  { chain_id, row_id, per_user }: SponsorshipRow,
  user: string,
): Promise<SponsoredUser> {
  const use = async (asset: string, limit: string | number | undefined) =>
    limit === undefined ? null : store.usage({ chain_id, holder: usageKey(row_id, user), asset, limit: `${limit}` })
  const limits = per_user ?? {}
  const [calls, fees] = await Promise.all([use('calls', limits.max_calls_per_day), use('fee', limits.max_fee_per_day)])
  return { user, calls: calls && inCalls(calls), fees }
}

/** The given changes in normal form. Throws DomainError (400). */
function readChanges({ per_user: before }: SponsorshipRow, { per_user, ...others }: UpdateSponsorshipRequest) {
  if (per_user === undefined) return readRules(others)
  const merged = mergePatch<UserLimitsInput>(before ?? {}, per_user)
  return readRules({ ...others, per_user: Object.keys(merged).length === 0 ? null : merged })
}

export const inCalls = ({ used, remaining, limit, resets_at }: Usage): CountUsage => ({
  ...{ used: Number(used), remaining: Number(remaining), limit: Number(limit) },
  resets_at,
})

type Changes = Omit<UpdateSponsorshipRequest, 'per_user'> & { per_user?: UserLimitsInput | null }
type Given<Body> = Pick<Body, Extract<keyof Body, keyof SponsorshipRules | 'paused'>>
type Read<Body> = Body extends CreateSponsorshipRequest
  ? Pick<SponsorshipRules, 'max_gas' | 'max_fee' | 'max_fee_per_day'> & Partial<SponsorshipRules> & { paused?: boolean }
  : Partial<SponsorshipRules> & { paused?: boolean }

/** The given rules in normal form. Throws DomainError (400). */
function readRules<Body extends CreateSponsorshipRequest | Changes>(body: Body): Read<Body> {
  const {
    targets,
    forwarders,
    delegates,
    nonce_key_delegates,
    max_gas,
    max_fee,
    max_fee_per_day,
    per_user,
    origins,
    paused,
  }: Given<Changes> = body
  const addresses = (list: string[], name: string) => list.map((address, index) => readAddress(address, [name, index]))
  const rules = {
    ...(targets && {
      targets: targets.map(({ address, selectors }, index) => ({
        address: readAddress(address, ['targets', index, 'address']),
        selectors: selectors.map((selector) => selector.toLowerCase()),
      })),
    }),
    ...(forwarders && { forwarders: addresses(forwarders, 'forwarders') }),
    ...(delegates && { delegates: addresses(delegates, 'delegates') }),
    ...(nonce_key_delegates && { nonce_key_delegates: addresses(nonce_key_delegates, 'nonce_key_delegates') }),
    ...(max_gas !== undefined && { max_gas }),
    ...(max_fee !== undefined && { max_fee: readAmount(max_fee, ['max_fee']) }),
    ...(max_fee_per_day !== undefined && { max_fee_per_day: readAmount(max_fee_per_day, ['max_fee_per_day']) }),
    ...(per_user !== undefined && {
      per_user: per_user && {
        ...per_user,
        ...(per_user.max_fee_per_day !== undefined && {
          max_fee_per_day: readAmount(per_user.max_fee_per_day, ['per_user', 'max_fee_per_day']),
        }),
      },
    }),
    ...(origins && { origins }),
    ...(paused !== undefined && { paused }),
  }
  return rules as Read<Body>
}

const maxName = 128

/** The name of its API key: names are unique, and short enough by the id of the key. */
const nameOf = (name: string, keyId: string): string =>
  name.length <= maxName ? name : `${name.slice(0, maxName - keyId.length - 1)} ${keyId}`
