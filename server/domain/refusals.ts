import { DomainError, type Fault } from './errors.ts'
import type { AuditEntry, PendingAuditEntry, RefusedBy } from './rows.ts'

const maxMessage = 500

/** What the audit trail keeps of a failure: no value of the request, which may be a secret in the wrong place. */
export function failureIn(error: unknown, entry: PendingAuditEntry): Pick<AuditEntry, 'failure' | 'refused_by'> {
  if (!(error instanceof DomainError)) return { failure: { code: 'internal', message: '' } }
  const { code, faults } = error
  const message = code === 'not_found' ? '' : [...new Set(faults.map((fault) => messageOf(error, fault)))].join('; ')
  const refusedBy = refuserOf(error, entry)
  return { failure: { code, message: message.slice(0, maxMessage) }, ...(refusedBy && { refused_by: refusedBy }) }
}

const messageOf = ({ code }: DomainError, { of, field, message }: Fault): string =>
  code === 'invalid_request' && of === 'input' ? `/${field.join('/')}` : message

/** The rule that refuses; undefined: it is no rule that somebody sets. */
function refuserOf({ code, faults }: DomainError, entry: PendingAuditEntry): RefusedBy | undefined {
  const { relayer_id, pool_id, sponsorship_id } = entry
  const found = (resource: RefusedBy['resource'], id: string | null | undefined, rule: unknown) =>
    id == null ? undefined : { resource, id, rule: `${rule}` }
  if (code === 'relayer_paused') return found('relayer', relayer_id, 'paused')
  const fault = faults.find(({ of }) => of === 'policies' || of === 'pool_policies' || of === 'sponsorship')
  const [rule] = fault?.field ?? []
  if (rule === undefined) return undefined
  if (fault?.of === 'pool_policies') return found('pool', pool_id, rule)
  if (fault?.of === 'sponsorship') return found('sponsorship', sponsorship_id, rule)
  return found('relayer', relayer_id, rule)
}

/** The operations that make or change the rules of a resource: what it refused before is over. */
const ruleChanges: Readonly<Record<string, RefusedBy['resource']>> = {
  createRelayer: 'relayer',
  updateRelayer: 'relayer',
  deleteRelayer: 'relayer',
  createPool: 'pool',
  updatePool: 'pool',
  deletePool: 'pool',
  createSponsorship: 'sponsorship',
  updateSponsorship: 'sponsorship',
  deleteSponsorship: 'sponsorship',
}

export const isRuleChange = (operation: string): boolean => operation in ruleChanges

/** The resource whose rules the entry made or changed; undefined: none. */
export function changedRules({ operation, relayer_id, subject }: AuditEntry): Omit<RefusedBy, 'rule'> | undefined {
  const resource = ruleChanges[operation]
  const id = subject ?? relayer_id
  return resource === undefined || id === null ? undefined : { resource, id }
}
