import type { Request } from 'express'
import { errorOf, notFound, relayerNotFound } from '../../domain/errors.ts'
import type { Caller } from '../../domain/operation.ts'
import type { Operation } from './contract.ts'

/**
 * Authenticates the request's caller now, and checks its rights to an operation on the relayer of the path. A right is checked where it
 * is used: when the body is complete, before each member of a batch, before a key is used, and before each event of a stream. Throws
 * ApiError (401, 403, 404).
 */
export async function authorize(
  request: Request,
  operation: Pick<Operation, 'id' | 'roles' | 'anyRole'>,
  identify: (request: Request) => Caller | Promise<Caller>,
): Promise<Caller> {
  const caller = await identify(request)
  checkRoles(caller, operation)
  checkRelayer(caller, operation, request.params.relayer_id as string | undefined)
  return caller
}

/** Throws DomainError (403) when the caller's key lacks a role that the operation requires. */
export function checkRoles({ roles }: Caller, { roles: wanted, anyRole }: Pick<Operation, 'roles' | 'anyRole'>): void {
  if (roles.has('relay') && !wanted.includes('relay')) {
    throw errorOf('forbidden', 'api_key', onlyRelays)
  }
  if (anyRole && wanted.some((role) => roles.has(role))) return
  const missing = wanted.find((role) => !roles.has(role))
  if (missing !== undefined) {
    throw errorOf('forbidden', 'api_key', reasons[missing] ?? lacks(missing, roles))
  }
}

const onlyRelays = 'this API key is that of a sponsorship, and does nothing else'
const lacks = (scope: string, roles: ReadonlySet<string>) =>
  `this API key lacks the scope "${scope}" (it has: ${[...roles].filter((role) => !(role in reasons)).join(', ')})`
const reasons: Record<string, string> = {
  all_relayers: 'this API key is limited to relayers; the operation requires a key for all relayers',
  administer:
    'this API key cannot manage API keys; that requires every scope and no limit to relayers, addresses or time',
}

/**
 * Throws DomainError (404) for a relayer that the caller's key may not use. The check does not look whether the relayer exists, so
 * that the response does not reveal it.
 */
function checkRelayer({ relayer_ids }: Caller, { id }: Pick<Operation, 'id'>, relayerId: string | undefined): void {
  if (!relayer_ids || relayerId === undefined || relayer_ids.has(relayerId)) return
  throw id === 'signMessage' ? notFound('Not found') : relayerNotFound(relayerId)
}
