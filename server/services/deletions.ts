import { namedError } from '../domain/errors.ts'
import type { Caller, PathParameter } from '../domain/operation.ts'
import type { Deletion, InUse } from '../domain/rows.ts'

/** What is said of those that use a resource, with what to do first. */
const uses: Record<InUse['used_by'], (ids: string) => string> = {
  relayers: (ids) => `relayers use it: ${ids}; delete them first`,
  reporting_relayers: (ids) => `relayers report to it: ${ids}; take it out of their notification_ids first`,
  funding: (ids) => `it is the treasury of ${ids}; end their funding first`,
  api_keys: (ids) => `API keys are limited to it: ${ids}; take it out of their pool_ids, or revoke them, first`,
  sponsorships: (ids) => `sponsorships send their calls through it: ${ids}; delete them first`,
  facilitators: (ids) => `facilitators send their payments through it: ${ids}; delete them first`,
}

const isOfRelayers: ReadonlySet<InUse['used_by']> = new Set(['relayers', 'reporting_relayers'])
const maxNamed = 3

/**
 * Whether there was such a row. Throws DomainError (409) for one that is in use; a caller that is limited to relayers gets no ids but
 * of these.
 */
export function isDeleted(name: PathParameter, outcome: Deletion, caller?: Caller): boolean {
  if (typeof outcome === 'string') return outcome === 'deleted'
  const { used_by, ids } = outcome
  const own = caller?.relayer_ids
  const seen = own === undefined ? ids : ids.filter((id) => isOfRelayers.has(used_by) && own.has(id))
  const named = seen.slice(0, maxNamed).join(', ')
  const all =
    seen.length <= maxNamed && seen.length === ids.length ? named : named === '' ? 'others' : `${named} and others`
  throw namedError('in_use', name, uses[used_by](all))
}
