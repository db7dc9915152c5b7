import type { TypedData } from '../../generated/openapi.ts'
import { badRequest } from '../errors.ts'
import { resolveStruct, type Struct } from './typed-data-types.ts'
import { hashOf } from './typed-data-values.ts'

export interface HashedTypedData {
  domain_separator: Buffer
  struct_hash: Buffer
  /** The one that the domain names. */
  chain_id: bigint | undefined
}

/** Up to six microseconds each: no document holds others up. */
const max_values = 5_000
const max_types_length = 32_768

const domainType = 'EIP712Domain'
/** EIP-712: a domain has one or more of these, in this order. */
const domainMembers = {
  name: 'string',
  version: 'string',
  chainId: 'uint256',
  verifyingContract: 'address',
  salt: 'bytes32',
} as const

/**
 * EIP-712: the two hashes of a document. Stricter than the libraries, which take "false" for true and a member that is missing
 * for nothing, and linear in the document's size, which they are not. Throws ApiError (400) with the place.
 */
export function hashTypedData({ domain, types, primaryType, message }: TypedData): HashedTypedData {
  const length = Object.entries(types).reduce(
    (sum, [name, members]) =>
      members.reduce((own, member) => own + member.name.length + member.type.length, sum + name.length),
    0,
  )
  if (length > max_types_length) throw badRequest('/body/types', `must have at most ${max_types_length} characters`)
  const structs = new Map(Object.entries(types))
  if (primaryType === domainType) throw badRequest('/body/primaryType', 'must not be the domain')
  const budget = { left: max_values }
  const struct = resolveStruct(structs, primaryType, '/body/primaryType')
  return {
    domain_separator: hashOf(domainStruct(structs, domain), domain, '/body/domain', budget),
    struct_hash: hashOf(struct, message, '/body/message', budget),
    chain_id: domain.chainId === undefined ? undefined : BigInt(domain.chainId),
  }
}

/** As it is declared; else with the members that are given, in the standard's order. */
function domainStruct(structs: Map<string, TypedData['types'][string]>, domain: TypedData['domain']): Struct {
  const given = Object.entries(domainMembers).filter(([name]) => Object.hasOwn(domain, name))
  const members = structs.get(domainType) ?? given.map(([name, type]) => ({ name, type }))
  for (const [index, { name, type }] of members.entries()) {
    const known = Object.hasOwn(domainMembers, name) ? domainMembers[name as keyof typeof domainMembers] : undefined
    if (known === type) continue
    throw badRequest(`/body/types/${domainType}/${index}`, 'is no member that a domain can have')
  }
  return resolveStruct(new Map([[domainType, members]]), domainType, `/body/types/${domainType}`)
}
