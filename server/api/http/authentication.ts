import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Request } from 'express'
import {
  DomainError,
  errorOf,
  limitedToRelayers,
  relayerNotFound,
  relayerOfMessageNotFound,
} from '../../domain/errors.ts'
import type { Caller } from '../../domain/operation.ts'
import { checkBudgetOfOperation } from '../../domain/policies/budgets.ts'
import type { ApiKeyRow } from '../../domain/rows.ts'
import { decodeFormerTokens, digest, type FormerToken, readToken } from '../../lib/ids.ts'
import { budgetOf } from '../../store/budgets.ts'
import type { Operation } from './contract.ts'
import { isDoubled } from './headers.ts'
import { addressReader, networkCheck } from './request-target.ts'

interface AuthenticationContext {
  /** The administrator's key, from `API_KEY`. */
  api_key: string
  /** Any other key. It is read again at its first use after `generation` has changed. */
  apiKey(id: string): Promise<ApiKeyRow | undefined>
  generation(): Promise<number>
  /** Milliseconds since the epoch. */
  now(): number
  noteUse(apiKeyId: string): void
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  trusted_proxies: string[]
}

/** RFC 6750 and 9110: the scheme in any case, spaces, a token. */
const bearer = /^bearer {1,100}([A-Za-z0-9\-._~+/]{1,512}=*)$/i
const scopes = ['sign', 'send', 'read', 'notifications', 'manage'] as const
/** A dummy hash for tokens of unknown keys, so that timing does not reveal whether a key exists. */
const nobody = digest('')

/** Who the caller is, by its API key. */
export class Authentication {
  readonly #context: AuthenticationContext
  readonly #isAdministrator: (text: string) => boolean
  readonly #addressOf: (request: IncomingMessage) => string
  /** The keys that are in use, each with the generation that it has at least. Generations only grow. */
  readonly #holders = new Map<string, { generation: number; holder: Promise<Holder | undefined> }>()

  constructor(context: AuthenticationContext) {
    this.#context = context
    this.#isAdministrator = sameAs(context.api_key)
    this.#addressOf = addressReader(context.trusted_proxies)
  }

  /**
   * Identifies the caller. Rejects with DomainError (401). What is wrong with the form of the header is said. Only who has the secret is
   * told that it expired, or that it is not for this address; an unknown or revoked key, and another secret, get the same answer.
   */
  async identify(request: IncomingMessage): Promise<Caller> {
    const text = tokenIn(request)
    if (this.#isAdministrator(text)) return administrator

    const token = readToken(text)
    const holder = await this.#find(token.id)
    const isRight = timingSafeEqual(token.secret_hash, holder?.secret_hash ?? nobody)
    const former = holder?.former_tokens.find(({ secret_hash }) => timingSafeEqual(token.secret_hash, secret_hash))
    if (!holder || !(isRight || former)) throw unauthorized(noValidKey)
    const address = this.#addressOf(request)
    if (!holder.isAllowed(address)) throw unauthorized(notFrom(address))
    const time = this.#context.now()
    const endsAt = Math.min(holder.expires_at, former?.valid_until ?? Number.POSITIVE_INFINITY)
    if (time >= endsAt) throw expired(endsAt, endsAt !== holder.expires_at)
    this.#context.noteUse(holder.caller.id)
    return holder.caller
  }

  /** Requests of one key share its read. A change makes a key be read again by its own next request only. */
  async #find(id: string): Promise<Holder | undefined> {
    const generation = await this.#context.generation()
    const known = this.#holders.get(id)
    if (known && known.generation >= generation) return known.holder
    const entry = { generation, holder: this.#context.apiKey(id).then((apiKey) => apiKey && apiKeyHolder(apiKey)) }
    this.#holders.set(id, entry)
    // Text that is no key, and a read that failed, are not kept.
    const forget = () => void (this.#holders.get(id) === entry && this.#holders.delete(id))
    entry.holder.then((holder) => holder ?? forget(), forget)
    return entry.holder
  }
}

const administrator: Caller = {
  id: 'environment',
  roles: new Set([...scopes, 'all_relayers', 'administer']),
  relayer_ids: undefined,
  pool_ids: new Set(),
  rate_limit: null,
  budget: undefined,
}

/** One more than the longest API_KEY, so that a longer text differs in its last byte. */
const comparedBytes = 513

/** Compares texts in constant time. It takes a third of the time of comparing digests. */
function sameAs(wanted: string): (text: string) => boolean {
  const [its, given] = [Buffer.alloc(comparedBytes), Buffer.alloc(comparedBytes)]
  its.write(wanted, 'latin1')
  return (text) => {
    given.fill(0)
    given.write(text, 'latin1')
    return timingSafeEqual(given, its)
  }
}

/** Throws DomainError (401) with what is wrong with the header. */
function tokenIn(request: IncomingMessage): string {
  const { authorization, 'x-api-key': other } = request.headers
  if (authorization === undefined) {
    const wrong = other === undefined ? 'is missing' : 'is missing: X-API-Key is not read'
    throw unauthorized(`${wrong}; send Authorization: Bearer and the API key`)
  }
  if (isDoubled(request, 'authorization')) throw unauthorized('was sent twice')
  const token = bearer.exec(authorization)?.[1]
  if (token === undefined) throw unauthorized('must be the word Bearer, a space and the API key')
  return token
}

const noValidKey = 'is no API key that is valid now'

/** The address is the caller's own, or what a client wrote into X-Forwarded-For. */
const notFrom = (address: string): string =>
  `is an API key that may not be used from ${isIP(address) === 0 ? 'this address' : address}: its allowed_cidrs do not contain it. ` +
  'Behind a proxy, TRUSTED_PROXIES makes the service read the address of the caller'

const expired = (endedAt: number, isReplaced: boolean) =>
  new DomainError('unauthorized', [
    {
      ...{ of: 'token', field: [], code: 'expired' },
      message: `expired at ${new Date(endedAt).toISOString()}${isReplaced ? '; a rotation replaced the token' : ''}`,
    },
  ])

const unauthorized = (message: string) => errorOf('unauthorized', 'token', message)

/** An API key in the form that requests are checked against. */
interface Holder {
  caller: Caller
  secret_hash: Uint8Array
  former_tokens: FormerToken[]
  /** Milliseconds since the epoch. */
  expires_at: number
  isAllowed(address: string): boolean
}

function apiKeyHolder(apiKey: ApiKeyRow): Holder {
  const { id, relayer_ids, pool_ids, rate_limit, allowed_cidrs, expires_at } = apiKey
  const roles = new Set<string>(apiKey.scopes)
  if (relayer_ids === null) roles.add('all_relayers')
  const budget = budgetOf(apiKey)
  const isUnlimited = relayer_ids === null && allowed_cidrs === null && expires_at === null && !budget
  if (isUnlimited && scopes.every((scope) => roles.has(scope))) roles.add('administer')
  return {
    caller: {
      ...{ id, roles, rate_limit, budget },
      relayer_ids: relayer_ids === null ? undefined : new Set(relayer_ids),
      pool_ids: new Set(pool_ids),
    },
    secret_hash: apiKey.secret_hash,
    former_tokens: decodeFormerTokens(apiKey.former_tokens),
    expires_at: expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at),
    isAllowed: allowed_cidrs === null ? () => true : networkCheck(allowed_cidrs),
  }
}

const flushMs = 5_000

/** Batches the last use of each API key, so that a request costs no write. `now`: milliseconds since the epoch. */
export class ApiKeyUses {
  readonly #write: (uses: ReadonlyMap<string, string>) => Promise<void>
  readonly #now: () => number
  readonly #failed: (error: unknown) => void
  #uses = new Map<string, number>()
  readonly #timer = setInterval(() => this.#flush(), flushMs).unref()

  constructor(
    write: (uses: ReadonlyMap<string, string>) => Promise<void>,
    now: () => number,
    failed: (error: unknown) => void,
  ) {
    this.#write = write
    this.#now = now
    this.#failed = failed
  }

  note(apiKeyId: string): void {
    void this.#uses.set(apiKeyId, this.#now())
  }

  /** Writes the remaining uses and stops the timer. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#flush()
  }

  async #flush() {
    if (this.#uses.size === 0) return
    const noted = this.#uses
    this.#uses = new Map()
    try {
      await this.#write(new Map([...noted].map(([id, at]) => [id, new Date(at).toISOString()])))
    } catch (error) {
      this.#failed(error)
    }
  }
}

/**
 * Authenticates the request's caller now, and checks its rights to an operation on the relayer of the path. A right is checked where it
 * is used: when the body is complete, before each member of a batch, before a key is used, and before each event of a stream. Throws
 * DomainError (401, 403, 404).
 */
export async function authorize(
  request: Request,
  operation: Pick<Operation, 'id' | 'roles' | 'anyRole' | 'isCounted'>,
  identify: (request: Request) => Caller | Promise<Caller>,
  relayerId = request.params.relayer_id as string | undefined,
): Promise<Caller> {
  const caller = await identify(request)
  checkRoles(caller, operation)
  checkRelayer(caller, operation, relayerId)
  return caller
}

/** Throws DomainError (403) when the caller's key lacks a role that the operation requires, or its budget cannot count the operation. */
export function checkRoles(
  { roles, budget }: Caller,
  operation: Pick<Operation, 'id' | 'roles' | 'anyRole' | 'isCounted'>,
): void {
  const { roles: wanted, anyRole } = operation
  checkBudgetOfOperation(budget, operation)
  const own = Object.keys(ownRoles).find((role) => roles.has(role) && !wanted.includes(role))
  if (own !== undefined) throw errorOf('forbidden', 'api_key', ownRoles[own] as string)
  if (anyRole && wanted.some((role) => roles.has(role))) return
  const missing = wanted.find((role) => !roles.has(role))
  if (missing !== undefined) {
    throw errorOf('forbidden', 'api_key', reasons[missing] ?? lacks(missing, roles))
  }
}

/** The roles of keys that belong to a resource. */
const ownRoles: Record<string, string> = {
  relay: 'this API key is that of a sponsorship, and does nothing else',
  settle: 'this API key is that of a facilitator, and does nothing else',
}
const lacks = (scope: string, roles: ReadonlySet<string>) =>
  `this API key lacks the scope "${scope}" (it has: ${[...roles].filter((role) => !(role in reasons)).join(', ')})`
const reasons: Record<string, string> = {
  all_relayers: limitedToRelayers,
  administer:
    'this API key cannot manage API keys; that requires every scope, no budget and no limit to relayers, addresses or time',
}

/**
 * Throws DomainError (404) for a relayer that the caller's key may not use. The check does not look whether the relayer exists, so
 * that the response does not reveal it.
 */
function checkRelayer({ relayer_ids }: Caller, { id }: Pick<Operation, 'id'>, relayerId: string | undefined): void {
  if (!relayer_ids || relayerId === undefined || relayer_ids.has(relayerId)) return
  throw id === 'signMessage' ? relayerOfMessageNotFound() : relayerNotFound(relayerId)
}
