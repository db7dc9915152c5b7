import type { RelayerPolicies, ResourceWarning } from '../../../generated/openapi.ts'
import { toHex } from '../encoding/digest.ts'
import type { HashedTypedData } from '../encoding/typed-data.ts'
import { refusedBy } from '../errors.ts'
import type { Caller } from '../operation.ts'
import type { RelayerRow } from '../rows.ts'
import { judgeTokenSignature } from './token-signatures.ts'
import { checkNewTransactions } from './transaction-policies.ts'

type Policed = Pick<RelayerRow, 'policies' | 'chain_id'>

/** A policy that refuses a signature. */
interface PolicyFault {
  policy: keyof RelayerPolicies
  message: string
}

/** A relayer, and all relayers on its address on any chain, including itself. */
interface OnAddress {
  relayer: RelayerRow
  on_address: RelayerRow[]
}

/**
 * A signature of a message or of typed data is valid on every chain, so the policies of all relayers on the address apply.
 * Throws DomainError (403) with the first policy that refuses; the relayer's own policies come first.
 */
export function checkAddress(
  { relayer, on_address }: OnAddress,
  caller: Caller,
  faultOf: (relayer: RelayerRow) => PolicyFault | undefined,
): void {
  const own = faultOf(relayer)
  if (own) throw refused(own)
  for (const other of on_address) {
    const fault = faultOf(other)
    if (!fault) continue
    throw refused({ ...fault, message: `${fault.message} (policy of ${nameOf(other, caller)} on the same address)` })
  }
}

export function messageFault({ policies }: Pick<Policed, 'policies'>): PolicyFault | undefined {
  return policies.allow_messages === false
    ? { policy: 'allow_messages', message: 'This relayer does not sign messages' }
    : undefined
}

/** Typed data (EIP-712) to sign. `document`: absent when the request contains the hashes only. */
export interface AskedTypedData {
  domain_separator: Uint8Array
  document?: HashedTypedData
}

export function typedDataFault(
  { policies, chain_id }: Policed,
  { domain_separator, document }: AskedTypedData,
): PolicyFault | undefined {
  const { allowed_domain_separators, allow_blind_typed_data, token_limits } = policies
  if (!document && allow_blind_typed_data === false) return blindFault
  const isAllowed = isAllowedDomain(policies, domain_separator)
  if (allowed_domain_separators && !isAllowed) {
    return {
      policy: 'allowed_domain_separators',
      message: `The domain separator ${toHex(domain_separator)} is not in allowed_domain_separators`,
    }
  }
  if (!token_limits) return undefined
  const judged = document ? judgeTokenSignature(token_limits, chain_id, document) : uncountable
  if (judged.outcome === 'above_limit') return { policy: 'token_limits', message: judged.reason }
  if (judged.outcome === 'counted' || isAllowed) return undefined
  return { policy: 'token_limits', message: `${judged.reason}; ${permits}` }
}

const uncountable = { outcome: 'uncounted', reason: 'token_limits cannot count typed data from its hashes' } as const
const permits = 'without that, typed data is signed only for domains in allowed_domain_separators'

export function checkSignTransaction(policies: RelayerPolicies): void {
  checkNewTransactions(policies)
  const { allow_sign_transaction } = policies
  if (allow_sign_transaction === false) {
    throw refused({ policy: 'allow_sign_transaction', message: 'This relayer signs transactions only to send them' })
  }
}

const zeroAddress = `0x${'00'.repeat(20)}`

/** Throws DomainError (403). `address`: the contract whose code the account is to run; the zero address ends a delegation. */
export function checkAuthorization(policies: RelayerPolicies, address: string): void {
  checkNewTransactions(policies)
  const { allow_authorizations, allowed_delegates, whitelist_receivers } = policies
  if (allow_authorizations !== true) {
    throw refused({ policy: 'allow_authorizations', message: 'This relayer does not sign authorizations' })
  }
  if (address === zeroAddress) return
  const [policy, list] = allowed_delegates
    ? (['allowed_delegates', allowed_delegates] as const)
    : (['whitelist_receivers', whitelist_receivers] as const)
  if (list && !list.includes(address)) {
    throw refused({ policy, message: `The contract ${address} is not in ${policy}` })
  }
  const limit = limits.find((name) => [policies[name] ?? []].flat().length > 0)
  if (!list && limit !== undefined) {
    const message = `The code of ${address} would not keep ${limit}; list the contracts that the account may run`
    throw refused({ policy: 'allowed_delegates', message })
  }
}

/** Limits that the code of a contract does not keep. */
const limits = ['max_value', 'max_value_per_day', 'token_limits', 'allowed_functions'] as const

/** Whether `allowed_domain_separators` contains this domain separator. */
export const isAllowedDomain = ({ allowed_domain_separators }: RelayerPolicies, separator: Uint8Array): boolean =>
  allowed_domain_separators?.includes(toHex(separator)) === true

const blindFault: PolicyFault = {
  policy: 'allow_blind_typed_data',
  message: 'Typed data must be given in full; hashes alone are not signed',
}

const maxWarnings = 20

/**
 * Describes how the policies of relayers on one address differ: policies of others that apply to this relayer, and policies of this
 * relayer that apply to others. At most 20 sentences.
 */
export function addressWarnings({ relayer, on_address }: OnAddress, caller: Caller): ResourceWarning[] {
  const others = on_address.filter(({ row_id }) => row_id !== relayer.row_id)
  const warnings = others.flatMap((other) => {
    const name = nameOf(other, caller)
    return [
      ...stricterRules(other.policies, relayer.policies).map(
        ({ policy, message }) => `${policy} of ${name} on the same address applies to this relayer too: ${message}`,
      ),
      ...stricterRules(relayer.policies, other.policies).map(
        ({ policy, message }) => `${policy} applies to ${name} on the same address too: ${message}`,
      ),
    ]
  })
  const more = warnings.length - maxWarnings
  const messages = more <= 0 ? warnings : [...warnings.slice(0, maxWarnings - 1), `${more + 1} more differences`]
  return messages.map((message) => ({ code: 'shared_address', message: message.slice(0, 1_000) }))
}

/** The policies that refuse signatures which the other relayer's policies allow. */
function stricterRules(strict: RelayerPolicies, lax: RelayerPolicies): PolicyFault[] {
  const faults: PolicyFault[] = []
  const message = messageFault({ policies: strict })
  if (message && !messageFault({ policies: lax })) faults.push(message)
  if (strict.allow_blind_typed_data === false && lax.allow_blind_typed_data !== false) faults.push(blindFault)
  const [allowed, others] = [domainsOf(strict), domainsOf(lax)]
  if (allowed && !others?.every((separator) => allowed.includes(separator))) {
    const policy = strict.allowed_domain_separators ? 'allowed_domain_separators' : 'token_limits'
    const counted = strict.token_limits?.some(({ allow_signatures }) => allow_signatures) ? ', or counted' : ''
    const message = `Typed data is signed only for domains in its allowed_domain_separators${counted}`
    faults.push({ policy, message })
  }
  return faults
}

/** The only domains for which typed data is signed; undefined: any. */
const domainsOf = ({ allowed_domain_separators, token_limits }: RelayerPolicies): string[] | undefined =>
  allowed_domain_separators ?? (token_limits && [])

/** A caller that may not use the relayer does not learn its id. */
const nameOf = ({ id }: RelayerRow, { relayer_ids }: Caller): string =>
  relayer_ids === undefined || relayer_ids.has(id) ? `the relayer ${id}` : 'another relayer'

const refused = ({ policy, message }: PolicyFault) => refusedBy([{ of: 'policies', field: [policy], message }])
