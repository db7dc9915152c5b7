import type { Authorization } from '../../generated/openapi.ts'
import { badRequest } from '../errors.ts'
import type { RelayerRow } from '../store/rows.ts'

/**
 * Refuses authorizations (EIP-7702) that the chain would skip, and those of the relayer's own address: applying one uses the
 * account's next nonce, which this service assigns to a transaction. Throws ApiError (400).
 */
export function checkAuthorizations(
  { chain_id, address }: Pick<RelayerRow, 'chain_id' | 'address'>,
  authorizations: Authorization[] | null,
  authorityOf: (authorization: Authorization) => string | undefined,
): void {
  for (const [index, authorization] of (authorizations ?? []).entries()) {
    const path = `/body/authorization_list/${index}`
    if (authorization.chain_id !== 0 && authorization.chain_id !== chain_id) {
      throw badRequest(`${path}/chain_id`, `must be 0 or ${chain_id}, the chain of the relayer's network`)
    }
    const authority = authorityOf(authorization)
    if (authority === undefined) throw badRequest(path, 'has an invalid signature')
    if (authority === address) {
      throw badRequest(path, "must not be of the relayer's own address: applying it uses the account's next nonce")
    }
  }
}
