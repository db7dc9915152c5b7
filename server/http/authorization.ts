import { ApiError, notFound, relayerNotFound } from '../errors.ts'
import type { Caller } from '../operation.ts'
import type { Operation } from './contract.ts'

/** Throws ApiError (403) when the caller's key lacks a role that the contract asks for. */
export function checkRoles({ roles }: Caller, { roles: wanted }: Operation): void {
  const missing = wanted.find((role) => !roles.has(role))
  if (missing !== undefined) {
    throw new ApiError('forbidden', 'Forbidden', [{ path: 'api_key', message: reasons[missing] ?? lacks(missing) }])
  }
}

const lacks = (scope: string) => `has not the scope ${scope}`
const reasons: Record<string, string> = {
  all_relayers: 'is limited to relayers, and this operation is not for such keys',
  administer: 'may not manage API keys: it has not every scope, or is limited to relayers, addresses or time',
}

/**
 * Throws ApiError (404) for a relayer that the caller's key may not touch: for one that there is and for one that there is not, at
 * the same place and with the same words, so that nothing tells them apart.
 */
export function checkRelayer({ relayer_ids }: Caller, { id }: Operation, relayer_id: string | undefined): void {
  if (!relayer_ids || relayer_id === undefined || relayer_ids.has(relayer_id)) return
  throw id === 'signMessage' ? notFound('Not found') : relayerNotFound(relayer_id)
}
