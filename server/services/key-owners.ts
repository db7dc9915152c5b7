import type { AmountUsage, CountUsage } from '../../generated/openapi.ts'
import {
  badRequest,
  conflict,
  type DomainError,
  errorOf,
  limitedToRelayers,
  missing,
  unknownReference,
} from '../domain/errors.ts'
import type { Caller } from '../domain/operation.ts'
import type { NewApiKey, PendingAuditEntry } from '../domain/rows.ts'
import { makeToken } from '../lib/ids.ts'
import type { OwnerRefusal } from '../store/queries/key-owners.ts'
import type { ServicesContext } from './context.ts'

/* Sponsorships and facilitators own an API key: they are made with it, and it may use nothing else. */

const roles = { sponsorship_id: 'relay', facilitator_id: 'settle' } as const

/** What `read` finds, if the caller may use it: its own key, or one for all relayers. Throws DomainError (403, 404). */
export async function findOwned<Row extends { api_key_id: string }>(
  caller: Caller,
  name: keyof typeof roles,
  id: string,
  read: () => Promise<Row | undefined>,
): Promise<Row> {
  const isOwn = caller.roles.has(roles[name])
  if (!isOwn && caller.relayer_ids !== undefined) throw errorOf('forbidden', 'api_key', limitedToRelayers)
  const row = await read()
  if (!row || (isOwn && row.api_key_id !== caller.id)) throw missing(name, id)
  return row
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
    ...{ relayer_ids: [], pool_ids: [], allowed_cidrs: null, rate_limit: null, budget: null, expires_at: null },
    ...{ last_used_at: null, former_tokens: null, previous_token_expires_at: null },
  })
  if (typeof row === 'string') throw refusalOfOwner(row, kind, name)
  return { row, token }
}

/** Why one of them was not made. */
function refusalOfOwner(outcome: OwnerRefusal, kind: string, keyName: string): DomainError {
  switch (outcome) {
    case 'id_taken':
      return conflict('already_exists', ['id'], `a ${kind.toLowerCase()} with this id already exists`)
    case 'unknown_relayer':
      return unknownReference(['relayer_id'], 'no relayer has this id')
    case 'unknown_pool':
      return unknownReference(['pool_id'], 'no pool has this id')
    case 'too_many_keys':
      return conflict('limit_reached', [], 'the limit of API keys is reached; revoke a key first')
    case 'key_name_taken':
      return conflict('already_exists', ['id'], `an API key already has the name of its key, ${keyName}`)
  }
}

export const inCalls = ({ used, remaining, limit, resets_at }: AmountUsage): CountUsage => ({
  ...{ used: Number(used), remaining: Number(remaining), limit: Number(limit) },
  resets_at,
})

const maxName = 128

/** The name of its API key: names are unique, and short enough by the id of the key. */
const nameOf = (name: string, keyId: string): string =>
  name.length <= maxName ? name : `${name.slice(0, maxName - keyId.length - 1)} ${keyId}`

/**
 * The limit of a day must hold one call or payment, or none is ever accepted. A change is refused only where it raises what one may cost:
 * what is lowered, to 0 too, stops it at once. Throws DomainError (400).
 */
export function checkDay<Name extends 'max_fee_per_call' | 'max_fee_per_payment'>(
  name: Name,
  changes: Partial<Record<Name | 'max_fee_per_day', string>>,
  before?: Record<Name | 'max_fee_per_day', string>,
): void {
  const { [name]: perOne, max_fee_per_day: perDay } = { ...before, ...changes } as Record<string, string>
  const isRaised = before === undefined || BigInt(perOne as string) > BigInt(before[name])
  if (isRaised && BigInt(perDay as string) < BigInt(perOne as string))
    throw badRequest(['max_fee_per_day'], `must be at least ${name}, which is ${perOne} wei`)
}
