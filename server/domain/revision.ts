import { createHash } from 'node:crypto'
import { DomainError, inputFault } from './errors.ts'
import { showRpcUrls } from './values.ts'

/** The members of each resource that can be changed. Their order is that of the fingerprints in a revision. */
export const members = {
  relayers: ['name', 'paused', 'notification_ids', 'policies', 'custom_rpc_urls'],
  pools: ['name', 'relayers', 'policies'],
  notifications: ['type', 'url', 'signing_key', 'filter'],
  api_keys: ['name', 'scopes', 'relayer_ids', 'pool_ids', 'allowed_cidrs', 'rate_limit', 'budget', 'expires_at'],
  networks: [
    ...([
      'rpc_urls',
      'symbol',
      'required_confirmations',
      'average_blocktime_ms',
      'is_testnet',
      'explorer_urls',
    ] as const),
    ...(['features', 'tags', 'private_rpc_urls', 'submission', 'min_priority_fee_per_gas', 'min_gas_price'] as const),
    'coin_token',
  ],
  sponsorships: [
    ...([
      'targets',
      'forwarders',
      'delegates',
      'keyed_nonce_delegates',
      'max_gas_per_call',
      'max_fee_per_call',
      'max_fee_per_day',
    ] as const),
    ...(['user_limits', 'origins', 'paused'] as const),
  ],
  facilitators: ['assets', 'pay_to', 'max_fee_per_payment', 'max_fee_per_day', 'wait_seconds'],
  funding: ['treasury_id', 'asset', 'min_balance', 'target_balance', 'max_amount_per_day', 'max_fee_per_gas'],
} as const
export type Kind = keyof typeof members
export type Members<K extends Kind> = Record<(typeof members)[K][number], unknown>

/** What a change was made from: one of these revisions, or whatever there is now. */
export type IfMatch = readonly string[] | '*'

/** Of one member, as base64url: two contents with the same one are not found by accident. */
const fingerprintLength = 8

const fingerprint = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value ?? null, sorted))
    .digest('base64url')
    .slice(0, fingerprintLength)

/** Members in any order are the same content. */
export const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

/** URLs of nodes, which may hold passwords. */
const nodeUrls: ReadonlySet<PropertyKey> = new Set(['rpc_urls', 'custom_rpc_urls', 'private_rpc_urls'])

/** Without the secret parts of URLs: whoever reads a fingerprint could try out guesses of them. */
export const withoutSecrets = (name: PropertyKey, value: unknown): unknown =>
  nodeUrls.has(name) ? showRpcUrls(value as { url: string }[]) : value

/** The fingerprints of the members that can be changed, one after the other: it tells which of them differ from another revision. */
export const revisionOf = <K extends Kind>(kind: K, row: Members<K>): string =>
  (members[kind] as readonly (keyof Members<K>)[]).map((name) => fingerprint(withoutSecrets(name, row[name]))).join('')

export const withRevision = <K extends Kind, Row extends Members<K>>(
  kind: K,
  row: Row,
): Row & { revision: string } => ({
  ...row,
  revision: revisionOf(kind, row),
})

/** Null: there is none. */
export const fundingRevision = (funding: Members<'funding'> | null): string =>
  revisionOf('funding', funding ?? ({} as Members<'funding'>))

/** Throws DomainError (412) when a change was made from another revision. Must be called where the row is locked. */
export function checkRevision(kind: Kind, current: string, ifMatch: IfMatch | undefined): void {
  if (ifMatch === undefined || ifMatch === '*' || ifMatch.includes(current)) return
  const [given = ''] = ifMatch
  const part = (revision: string, index: number) =>
    revision.slice(index * fingerprintLength, (index + 1) * fingerprintLength)
  const isKnown = given.length === current.length
  const changed = isKnown ? members[kind].filter((_, index) => part(given, index) !== part(current, index)) : []
  throw new DomainError(
    'precondition_failed',
    [
      { of: 'if_match', field: [], message: 'the resource was changed since it was read; read it again' },
      ...changed.map((name) => ({ of: 'current' as const, field: [name], message: 'was changed since' })),
    ],
    { revision: current },
  )
}

/**
 * Throws DomainError (428) when a body, or the object at `of` in it, has one of these members and there is no revision: they
 * replace what the caller has not read.
 */
export function requireRevision(
  ifMatch: IfMatch | undefined,
  body: object,
  names: readonly string[],
  of: string[] = [],
): void {
  if (ifMatch !== undefined) return
  const given = names.filter((name) => (body as Record<string, unknown>)[name] !== undefined)
  if (given.length === 0) return
  const message = 'must be given: the revision that the change was made from, or * for any'
  throw new DomainError('precondition_required', [
    { of: 'if_match', field: [], message },
    ...given.map((name) => inputFault([...of, name], 'replaces what may have been changed since it was read')),
  ])
}
