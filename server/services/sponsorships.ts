import type {
  CreateSponsorshipRequest,
  SponsoredUser,
  Sponsorship,
  UpdateSponsorshipRequest,
  UserLimitsInput,
} from '../../generated/openapi.ts'
import { missing } from '../domain/errors.ts'
import { type SponsorshipRules, sponsorshipBudget, usageKey } from '../domain/policies/sponsored-calls.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, PendingAuditEntry } from '../domain/rows.ts'
import { mergePatch, readAddress, readAmount } from '../domain/values.ts'
import type { SponsorshipRow } from '../store/queries/sponsorships.ts'
import type { ServicesContext } from './context.ts'
import { createWithToken, inCalls } from './key-owners.ts'

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

/** Throws DomainError (404). */
export async function findSponsorship({ store }: Store, id: string): Promise<SponsorshipRow> {
  const sponsorship = await store.getSponsorship(id)
  if (!sponsorship) throw missing('sponsorship_id', id)
  return sponsorship
}

/** A sponsorship with what was used of its budget. */
export async function showSponsorship({ store }: Store, sponsorship: SponsorshipRow): Promise<Sponsorship> {
  const { row_id: _, chain_id: __, relayer_row_id: ___, pool_row_id: ____, ...row } = sponsorship
  return { ...row, usage: await store.usage(sponsorshipBudget(sponsorship)) }
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
