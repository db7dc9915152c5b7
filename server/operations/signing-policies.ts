import type { RelayerPolicies } from '../../generated/openapi.ts'
import { refusedBy } from '../errors.ts'

/** What a relayer's policies say of signatures that are no transaction's. Each throws ApiError (403) with the rule. */
export function checkMessages({ allow_messages }: RelayerPolicies): void {
  if (allow_messages === false) throw refused('allow_messages', 'Messages are not signed')
}

/** `isBlind`: only the hashes are known. */
export function checkTypedData(policies: RelayerPolicies, separator: Uint8Array, isBlind: boolean): void {
  const { allow_blind_typed_data, allowed_domain_separators, token_limits } = policies
  if (isBlind && allow_blind_typed_data === false) {
    throw refused('allow_blind_typed_data', 'Typed data is signed only when it is given in full')
  }
  if (isAllowedDomain(policies, separator)) return
  if (allowed_domain_separators) throw refused('allowed_domain_separators', `${hex(separator)} is no allowed domain`)
  // A permit gives an allowance that no transaction shows.
  if (token_limits) throw refused('token_limits', 'Typed data is signed only for allowed_domain_separators')
}

export function checkSignTransaction({ allow_sign_transaction }: RelayerPolicies): void {
  if (allow_sign_transaction === false)
    throw refused('allow_sign_transaction', 'Transactions are signed to be sent only')
}

/** Whether the policies name this very domain. */
export const isAllowedDomain = ({ allowed_domain_separators }: RelayerPolicies, separator: Uint8Array): boolean =>
  allowed_domain_separators?.includes(hex(separator)) === true

const refused = (policy: keyof RelayerPolicies, message: string) => refusedBy([{ path: `policies/${policy}`, message }])

const hex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
