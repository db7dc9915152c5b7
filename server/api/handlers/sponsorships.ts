import type {
  CallCount,
  CreateSponsorshipRequest,
  PerUser,
  Sponsorship,
  UpdateSponsorshipRequest,
  Usage,
} from '../../../generated/openapi.ts'
import { badRequest, conflict, errorOf, transactionNotFound, unknownReference } from '../../domain/errors.ts'
import { mergePatch } from '../../domain/merge-patch.ts'
import { type Caller, deleted, type Handlers, Page, page } from '../../domain/operation.ts'
import { budgetOf, type SponsorshipRules, usageKey } from '../../domain/policies/sponsored-calls.ts'
import { requireRevision } from '../../domain/revision.ts'
import { readAddress, readAmount } from '../../domain/values.ts'
import { makeToken } from '../../lib/ids.ts'
import type { ServicesContext } from '../../services/context.ts'
import { findCall, sendCall, shownCallOf } from '../../services/sponsored-calls.ts'
import type { SponsorshipRow } from '../../store/queries/sponsorships.ts'
import { readFrom } from '../http/errors.ts'
import { missing } from '../http/missing.ts'

type Sponsorships = Pick<
  Handlers,
  | ('createSponsorship' | 'listSponsorships' | 'getSponsorship' | 'updateSponsorship' | 'deleteSponsorship')
  | ('getSponsoredUser' | 'sendSponsoredCall' | 'getSponsoredCall')
>

/** Each grants a right, and a change replaces all of it. */
const lists = ['targets', 'forwarders', 'delegates', 'nonce_key_delegates', 'origins']

export function sponsorships(context: ServicesContext): Sponsorships {
  const { store, keyring, now, makeId } = context

  const found = async (id: string): Promise<SponsorshipRow> => {
    const sponsorship = await store.getSponsorship(id)
    if (!sponsorship) throw missing('sponsorship_id', id)
    return sponsorship
  }

  const show = async (sponsorship: SponsorshipRow) => {
    const { row_id: _, chain_id: __, relayer_row_id: ___, pool_row_id: ____, ...row } = sponsorship
    return { ...row, usage: await store.usage(budgetOf(sponsorship)) } satisfies Sponsorship
  }

  /** The sponsorship of the path, if the caller may send or read its calls. Throws DomainError (403, 404). */
  async function ofCaller(id: string, { id: callerId, roles, relayer_ids }: Caller): Promise<SponsorshipRow> {
    if (!roles.has('relay') && relayer_ids !== undefined) {
      const message = 'this API key is limited to relayers; the operation requires a key for all relayers'
      throw errorOf('forbidden', 'api_key', message)
    }
    const sponsorship = await found(id)
    if (roles.has('relay') && sponsorship.api_key_id !== callerId) throw missing('sponsorship_id', id)
    return sponsorship
  }

  return {
    async createSponsorship({ body, auditEntry }) {
      const { id = makeId(), relayer_id, pool_id } = body
      auditEntry.subject = id
      const createdAt = new Date(now()).toISOString()
      const keyId = makeId()
      const { token, secret_hash } = makeToken(keyId)
      const created = await store.createSponsorship(
        {
          ...{ targets: [], forwarders: [], delegates: [], nonce_key_delegates: [], origins: [] },
          ...{ per_user: null, paused: false },
          ...readRules(body),
          ...{
            id,
            created_at: createdAt,
            ...(relayer_id === undefined ? { pool_id: pool_id as string } : { relayer_id }),
          },
        },
        {
          ...{ id: keyId, name: nameOf(id, keyId), scopes: ['relay'], created_at: createdAt, secret_hash },
          ...{ relayer_ids: [], pool_ids: null, allowed_cidrs: null, rate_limit: null, expires_at: null },
          ...{ last_used_at: null, former_tokens: null, previous_token_expires_at: null },
        },
        auditEntry,
      )
      if (created === 'id_taken') throw conflict('already_exists', ['id'], 'a sponsorship with this ID already exists')
      if (created === 'unknown_relayer') throw unknownReference(['relayer_id'], 'no relayer has this ID')
      if (created === 'unknown_pool') throw unknownReference(['pool_id'], 'no pool has this ID')
      if (created === 'too_many_keys')
        throw conflict('limit_reached', [], 'the limit of API keys is reached; revoke a key first')
      if (created === 'key_name_taken')
        throw conflict('already_exists', ['id'], `an API key already has the name of its key, ${nameOf(id, keyId)}`)
      return { sponsorship: await show(created), token }
    },

    async listSponsorships({ query }) {
      const { data, pagination } = await page(query, store.listSponsorships, (row) => row)
      return new Page(await Promise.all(data.map(show)), pagination)
    },

    getSponsorship: async ({ path }) => show(await found(path.sponsorship_id)),

    async updateSponsorship({ path, body, auditEntry, ifMatch }) {
      requireRevision(ifMatch, body, lists)
      const changeOf = (before: SponsorshipRow) => readChanges(before, body)
      const updated = await store.updateSponsorship(path.sponsorship_id, changeOf, { auditEntry, ifMatch })
      return updated && show(updated)
    },

    async deleteSponsorship({ path, auditEntry, ifMatch }) {
      const isDeleted = await store.deleteSponsorship(path.sponsorship_id, { auditEntry, ifMatch })
      return isDeleted ? deleted(path.sponsorship_id) : undefined
    },

    async getSponsoredUser({ path }) {
      const { chain_id, row_id, per_user } = await found(path.sponsorship_id)
      const user = readFrom('/path', () => readAddress(path.user, ['user']))
      const use = async (asset: string, limit: string | number | undefined) =>
        limit === undefined ? null : store.usage({ chain_id, holder: usageKey(row_id, user), asset, limit: `${limit}` })
      const [count, fee] = await Promise.all([use('calls', per_user?.count), use('fee', per_user?.fee)])
      return { user, count: count && inCalls(count), fee }
    },

    async sendSponsoredCall({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      const sponsorship = await ofCaller(path.sponsorship_id, caller)
      if (body.user !== undefined && caller.roles.has('relay'))
        throw badRequest(['user'], 'may be given only with an API key that has the scope send')
      const mayUse = async () => ofCaller(path.sponsorship_id, await authorize('sendSponsoredCall'))
      const { id, relayer_id } = await sendCall(
        context,
        { idempotency, auditEntry, nodes, authorize: mayUse },
        sponsorship,
        body,
      )
      const { row_id } = await keyring.findRelayer(relayer_id)
      const row = await store.getTransaction(row_id, id)
      if (!row) throw transactionNotFound(id)
      return shownCallOf(row)
    },

    async getSponsoredCall({ path, caller }) {
      const call = await findCall(context, await ofCaller(path.sponsorship_id, caller), path.call_id)
      return call && shownCallOf(call)
    },
  }
}

/** The given changes in normal form. Throws DomainError (400). */
function readChanges({ per_user: before }: SponsorshipRow, { per_user, ...others }: UpdateSponsorshipRequest) {
  if (per_user === undefined) return readRules(others)
  const merged = mergePatch<PerUser>(before ?? {}, per_user)
  return readRules({ ...others, per_user: Object.keys(merged).length === 0 ? null : merged })
}

const inCalls = ({ used, remaining, limit, resets_at }: Usage): CallCount => ({
  ...{ used: Number(used), remaining: Number(remaining), limit: Number(limit) },
  resets_at,
})

type Changes = Omit<UpdateSponsorshipRequest, 'per_user'> & { per_user?: PerUser | null }
type Given<Body> = Pick<Body, Extract<keyof Body, keyof SponsorshipRules | 'paused'>>
type Read<Body> = Body extends CreateSponsorshipRequest
  ? Pick<SponsorshipRules, 'max_gas' | 'max_fee' | 'budget_per_day'> & Partial<SponsorshipRules> & { paused?: boolean }
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
    budget_per_day,
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
    ...(budget_per_day !== undefined && { budget_per_day: readAmount(budget_per_day, ['budget_per_day']) }),
    ...(per_user !== undefined && {
      per_user: per_user && {
        ...(per_user.count !== undefined && { count: per_user.count }),
        ...(per_user.fee !== undefined && { fee: readAmount(per_user.fee, ['per_user', 'fee']) }),
      },
    }),
    ...(origins && { origins }),
    ...(paused !== undefined && { paused }),
  }
  return rules as Read<Body>
}

const maxName = 128

/** The name of its API key: names are unique, and short enough by the id of the key. */
const nameOf = (id: string, keyId: string): string => {
  const name = `Sponsorship ${id}`
  return name.length <= maxName ? name : `${name.slice(0, maxName - keyId.length - 1)} ${keyId}`
}
