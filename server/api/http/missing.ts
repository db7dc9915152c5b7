import { distance } from 'fastest-levenshtein'
import {
  DomainError,
  notFound,
  notificationNotFound,
  relayerNotFound,
  transactionNotFound,
} from '../../domain/errors.ts'
import type { Caller, PathParameter } from '../../domain/operation.ts'
import { apiKeyNotFound } from '../../services/api-keys.ts'
import { poolMissing } from '../../services/pools.ts'
import { ApiError, detailsOf, messageOf } from './errors.ts'

const inDetails = (name: PathParameter, message: string): ApiError =>
  new ApiError('not_found', 'Not Found', [{ path: `/path/${name}`, message }])

/** What is said of a resource that does not exist, by the path parameter that names it. Clients compare these sentences. */
const errors: Record<PathParameter, (id: string) => Error> = {
  relayer_id: relayerNotFound,
  transaction_id: transactionNotFound,
  nonce: (nonce) => notFound(`Transaction with nonce ${nonce} not found`),
  notification_id: notificationNotFound,
  api_key_id: apiKeyNotFound,
  pool_id: poolMissing,
  network_id(id) {
    // The id of a network begins with its type.
    const hint = id.startsWith('evm:') ? '' : `; did you mean evm:${id}?`
    return inDetails('network_id', `no network has this id${hint}`)
  },
  signer_id: () => inDetails('signer_id', 'no signer has this id'),
  abi_id: () => inDetails('abi_id', 'no ABI has this id'),
  problem_id: () => inDetails('problem_id', 'no present problem has this id'),
  sponsorship_id: () => inDetails('sponsorship_id', 'no sponsorship has this id'),
  facilitator_id: () => inDetails('facilitator_id', 'no facilitator has this id'),
  payment_id: () => inDetails('payment_id', 'no payment has this id'),
  call_id: () => inDetails('call_id', 'no call has this id'),
  user: () => inDetails('user', 'no call is of this user'),
}

export const missing = (name: PathParameter, id: string): Error => errors[name](id)

/** The error (404) of an operation whose handler finds nothing: the last parameter of its path names what is missing. */
export function missingAt(path: string): (values: Record<string, string>) => Error {
  const name = path.match(/(?<=\{)\w+(?=\})/g)?.at(-1) as PathParameter | undefined
  if (name === undefined) return () => new Error(`the handler of ${path} returned nothing`)
  return (values) => missing(name, values[name] as string)
}

const tables = {
  relayer_id: 'relayers',
  pool_id: 'pools',
  network_id: 'networks',
  signer_id: 'signers',
  notification_id: 'notifications',
} as const satisfies Partial<Record<PathParameter, string>>

export type SomeIds = (table: (typeof tables)[keyof typeof tables]) => Promise<string[]>

/**
 * An error (404) with the id that is nearest to an unknown one of the path, among those that the caller may see. Another error stays as it
 * is.
 */
export async function withNearest(
  error: unknown,
  values: Record<string, unknown>,
  caller: Caller | undefined,
  someIds: SomeIds,
): Promise<unknown> {
  if (!(error instanceof DomainError) || error.code !== 'not_found' || !caller?.roles.has('read')) return error
  for (const name of Object.keys(tables) as (keyof typeof tables)[]) {
    const id = values[name]
    if (typeof id !== 'string') continue
    const limited = name === 'relayer_id' ? [...(caller.relayer_ids ?? [])] : []
    const ids = caller.relayer_ids === undefined ? await someIds(tables[name]) : limited
    if (ids.includes(id)) continue
    const near = nearestOf(id, ids)
    if (near === undefined) return error
    const path = `/path/${name}`
    const others = detailsOf(error).filter((detail) => detail.path !== path)
    return new ApiError('not_found', messageOf(error), [
      ...others,
      { path, message: `there is no ${id}; did you mean ${near}?` },
    ])
  }
  return error
}

/** Longer ids are not compared: the time grows with the square of the length. */
const maxLength = 64

/** The id from which at most a quarter of the characters differ. */
function nearestOf(id: string, ids: readonly string[]): string | undefined {
  const most = Math.max(1, Math.floor(id.length / 4))
  if (id.length > maxLength) return undefined
  const [nearest] = ids
    .filter((other) => Math.abs(other.length - id.length) <= most)
    .map((other) => ({ other, far: distance(other, id) }))
    .filter(({ far }) => far <= most)
    .sort((a, b) => a.far - b.far)
  return nearest?.other
}
