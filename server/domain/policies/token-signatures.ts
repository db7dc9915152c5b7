import type { RelayerPolicies, SignTypedDataRequest } from '../../../generated/openapi.ts'
import type { HashedTypedData, Type } from '../encoding/typed-data.ts'
import type { Spend } from '../transaction-rows.ts'

type TokenLimits = NonNullable<RelayerPolicies['token_limits']>
type Message = SignTypedDataRequest['message']

/**
 * What a signature of typed data lets its holder move, on one chain, in each token's smallest unit. `uncounted`: it is not known, or
 * not limited to a chain.
 */
type TokenSignature =
  | { outcome: 'counted'; chain_id: bigint; amounts: Map<string, bigint> }
  | { outcome: 'uncounted'; reason: string }

type JudgedSignature = TokenSignature | { outcome: 'above_limit'; reason: string }

const authorization = 'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce'
const maxUint256 = 2n ** 256n - 1n

/** The types whose verifying contract is the token, and the amount that each moves. */
const tokenTypes: Record<string, (message: Message) => bigint> = {
  // ERC-3009
  [`TransferWithAuthorization(${authorization})`]: ({ value }) => integer(value),
  [`ReceiveWithAuthorization(${authorization})`]: ({ value }) => integer(value),
  'CancelAuthorization(address authorizer,bytes32 nonce)': () => 0n,
  // ERC-2612
  'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)': ({ value }) => integer(value),
  // Dai's permit sets the allowance to the highest number, or to 0.
  'Permit(address holder,address spender,uint256 nonce,uint256 expiry,bool allowed)': ({ allowed }) =>
    allowed === true ? maxUint256 : 0n,
}

/** Permit2's address on most chains, and on those that are built like zkSync. */
const permit2Contracts = ['0x000000000022d473030f116ddee9f6b43ac78ba3', '0x0000000000225e31d15943971f47ad3022f714fa']
const permissions = 'TokenPermissions(address token,uint256 amount)'
const details = 'PermitDetails(address token,uint160 amount,uint48 expiration,uint48 nonce)'
const transfer = 'address spender,uint256 nonce,uint256 deadline'

/** The types of Permit2, and the type of their first member, which has the tokens and the amounts. */
const permit2Types: Record<string, string> = {
  [`PermitTransferFrom(TokenPermissions permitted,${transfer})`]: permissions,
  [`PermitBatchTransferFrom(TokenPermissions[] permitted,${transfer})`]: permissions,
  'PermitSingle(PermitDetails details,address spender,uint256 sigDeadline)': details,
  'PermitBatch(PermitDetails[] details,address spender,uint256 sigDeadline)': details,
}
/** The witness types are those without a witness, and one more member of any type. */
const witness = /^(Permit(?:Batch)?)Witness(TransferFrom\(.*),[^,]+\)$/

/** Reads what typed data moves. A type is known by its exact members and its contract, never by its name. */
export function readTokenSignature({ struct, message, contract, chain_id }: HashedTypedData): TokenSignature {
  if (chain_id === undefined) return uncounted('token_limits cannot count typed data without chainId in its domain')
  if (contract === undefined) return uncounted('token_limits cannot count typed data without a verifying contract')
  const amounts = new Map<string, bigint>()
  const amountOf = Object.hasOwn(tokenTypes, struct.text) ? tokenTypes[struct.text] : undefined
  if (amountOf) {
    amounts.set(contract, amountOf(message))
    return { outcome: 'counted', chain_id, amounts }
  }
  const [first] = struct.members
  const known = permit2Types[struct.text.replace(witness, '$1$2)')]
  if (!first || known === undefined || known !== innerText(first.type) || !permit2Contracts.includes(contract)) {
    return uncounted(`token_limits cannot count the type ${struct.text.slice(0, 200)} of the contract ${contract}`)
  }
  for (const { token, amount } of [message[first.name]].flat() as { token: string; amount: unknown }[]) {
    const name = token.toLowerCase()
    amounts.set(name, (amounts.get(name) ?? 0n) + integer(amount))
  }
  return { outcome: 'counted', chain_id, amounts }
}

/** Whether `token_limits` of a relayer on this chain count a signature, and allow its amounts apart from those per day. */
export function judgeTokenSignature(
  limits: TokenLimits,
  relayerChainId: number,
  document: HashedTypedData,
): JudgedSignature {
  const signature = readTokenSignature(document)
  // It moves nothing on the chain of these limits.
  if (signature.outcome === 'uncounted' || signature.chain_id !== BigInt(relayerChainId)) return signature
  for (const [token, amount] of signature.amounts) {
    const limit = limitOf(limits, token)
    if (!limit) return uncounted(`token_limits do not count signatures of the token ${token}`)
    if (limit.max_amount_per_transaction !== null && amount > BigInt(limit.max_amount_per_transaction)) {
      return {
        outcome: 'above_limit',
        reason: `${amount} of the token ${token} is above the limit of ${limit.max_amount_per_transaction}`,
      }
    }
  }
  return signature
}

/** The amounts of a signature that the daily limits of the relayer on its chain count. */
export function signatureSpending({ token_limits = [] }: RelayerPolicies, document: HashedTypedData): Spend[] {
  const signature = readTokenSignature(document)
  if (signature.outcome === 'uncounted') return []
  return [...signature.amounts].flatMap(([token, amount]) => {
    const limit = limitOf(token_limits, token)?.max_amount_per_day ?? null
    return limit === null || amount === 0n ? [] : [{ policy: 'token_limits', asset: token, amount: `${amount}`, limit }]
  })
}

const limitOf = (limits: TokenLimits, token: string) =>
  limits.find((limit) => limit.asset === token && limit.allow_signatures)

const innerText = (type: Type): string | undefined =>
  type.kind === 'struct' ? type.text : type.kind === 'array' ? innerText(type.of) : undefined

const uncounted = (reason: string) => ({ outcome: 'uncounted', reason }) as const

/** A valid integer of a document. */
const integer = (value: unknown): bigint => BigInt(value as number | string)
