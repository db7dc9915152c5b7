import type {
  CreateSponsorshipRequest,
  SponsoredUser,
  Sponsorship,
  UpdateSponsorshipRequest,
  UserLimits,
  UserLimitsPatch,
} from '../../generated/openapi.ts'
import { missing } from '../domain/errors.ts'
import { type SponsorshipRules, sponsorshipBudget, usageKey } from '../domain/policies/sponsored-calls.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, PendingAuditEntry } from '../domain/rows.ts'
import { mergePatch, readAddress, readAmount } from '../domain/values.ts'
import type { SponsorshipRow } from '../store/queries/sponsorships.ts'
import type { ServicesContext } from './context.ts'
import { checkDay, createWithToken, inCalls } from './key-owners.ts'

/* Sponsorships: whose calls the service pays, by which rules, and what was used of their budgets. */

type Store = Pick<ServicesContext, 'store'>

/** Each grants a right, and a change replaces all of it. */
const lists = ['targets', 'forwarders', 'delegates', 'keyed_nonce_delegates', 'origins']

/** Makes a sponsorship and its API key, whose token is shown this once. Throws DomainError (400, 409). */
export async function createSponsorship(
  context: Pick<ServicesContext, 'store' | 'makeId' | 'now'>,
  { id = context.makeId(), ...body }: CreateSponsorshipRequest,
  auditEntry: PendingAuditEntry,
): Promise<{ sponsorship: Sponsorship; token: string }> {
  const { relayer_id, pool_id } = body
  const sender = relayer_id === undefined ? { pool_id: pool_id as string } : { relayer_id }
  const rules = readRules(body)
  checkDay('max_fee_per_call', rules)
  const { row, token } = await createWithToken(context, auditEntry, ['Sponsorship', id], (createdAt, apiKey) =>
    context.store.createSponsorship(
      {
        ...{ targets: [], forwarders: [], delegates: [], keyed_nonce_delegates: [], origins: [] },
        ...{ user_limits: null, paused: false },
        ...rules,
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
  { chain_id, row_id, user_limits }: SponsorshipRow,
  user: string,
): Promise<SponsoredUser> {
  const use = async (asset: string, limit: string | number | null) =>
    limit === null ? null : store.usage({ chain_id, holder: usageKey(row_id, user), asset, limit: `${limit}` })
  const { max_calls_per_day: most, max_fee_per_day: highest } = user_limits ?? noLimits
  const [calls, fees] = await Promise.all([use('calls', most), use('fee', highest)])
  return { user, calls: calls && inCalls(calls), fees }
}

/** The given changes in normal form. Throws DomainError (400). */
function readChanges(before: SponsorshipRow, { user_limits, ...others }: UpdateSponsorshipRequest) {
  const limits = user_limits && mergePatch<UserLimitsPatch>(before.user_limits ?? noLimits, user_limits)
  const changes = readRules({ ...others, ...(limits !== undefined && { user_limits: limits }) })
  checkDay('max_fee_per_call', changes, before)
  return changes
}

const noLimits: UserLimits = { max_calls_per_day: null, max_fee_per_day: null }

/** Null: no limit. Throws DomainError (400). */
function readUserLimits({ max_calls_per_day = null, max_fee_per_day = null }: UserLimitsPatch): UserLimits | null {
  if (max_calls_per_day === null && max_fee_per_day === null) return null
  const fee = max_fee_per_day === null ? null : readAmount(max_fee_per_day, ['user_limits', 'max_fee_per_day'])
  return { max_calls_per_day, max_fee_per_day: fee }
}

type Changes = Omit<UpdateSponsorshipRequest, 'user_limits'> & { user_limits?: UserLimitsPatch | null }
type Given<Body> = Pick<Body, Extract<keyof Body, keyof SponsorshipRules | 'paused'>>
type Read<Body> = Body extends CreateSponsorshipRequest
  ? Pick<SponsorshipRules, 'max_gas_per_call' | 'max_fee_per_call' | 'max_fee_per_day'> &
      Partial<SponsorshipRules> & { paused?: boolean }
  : Partial<SponsorshipRules> & { paused?: boolean }

/** The given rules in normal form. Throws DomainError (400). */
function readRules<Body extends CreateSponsorshipRequest | Changes>(body: Body): Read<Body> {
  const {
    targets,
    forwarders,
    delegates,
    keyed_nonce_delegates,
    max_gas_per_call,
    max_fee_per_call,
    max_fee_per_day,
    user_limits,
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
    ...(keyed_nonce_delegates && { keyed_nonce_delegates: addresses(keyed_nonce_delegates, 'keyed_nonce_delegates') }),
    ...(max_gas_per_call !== undefined && { max_gas_per_call }),
    ...(max_fee_per_call !== undefined && { max_fee_per_call: readAmount(max_fee_per_call, ['max_fee_per_call']) }),
    ...(max_fee_per_day !== undefined && { max_fee_per_day: readAmount(max_fee_per_day, ['max_fee_per_day']) }),
    ...(user_limits !== undefined && { user_limits: user_limits && readUserLimits(user_limits) }),
    ...(origins && { origins }),
    ...(paused !== undefined && { paused }),
  }
  return rules as Read<Body>
}
