import { ZeroAddress } from 'ethers'
import type { SignTypedDataRequest } from '../../generated/openapi.ts'

export const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
export const far = 4_000_000_000

type Domain = SignTypedDataRequest['domain']
type Amount = string | number
interface TokenAmount {
  token: string
  amount: Amount
}

/** Typed data that moves tokens, as wallets build it. Amounts default to 1, times to the far future. */
export const domainOf = (verifyingContract: string, chainId: number): Domain => ({
  name: 'Counted',
  version: '1',
  chainId,
  verifyingContract,
})

/** "address from,uint256 value" as members. */
const membersOf = (text: string) =>
  text.split(',').map((member) => {
    const [type = '', name = ''] = member.split(' ')
    return { name, type }
  })

const documentOf = (
  domain: Domain,
  types: Record<string, string>,
  message: SignTypedDataRequest['message'],
): SignTypedDataRequest => ({
  domain,
  types: Object.fromEntries(Object.entries(types).map(([name, text]) => [name, membersOf(text)])),
  primaryType: Object.keys(types)[0] as string,
  message,
})

/** ERC-3009. */
export const authorizationOf = (
  domain: Domain,
  {
    type = 'TransferWithAuthorization',
    from = ZeroAddress,
    to = ZeroAddress,
    value = '1' as Amount,
    validBefore = far,
    nonce = `0x${'00'.repeat(32)}`,
  },
): SignTypedDataRequest =>
  documentOf(
    domain,
    { [type]: 'address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce' },
    { from, to, value, validAfter: 0, validBefore, nonce },
  )

/** ERC-2612. */
export const permitOf = (
  domain: Domain,
  { owner = ZeroAddress, spender = ZeroAddress, value = '1' as Amount | bigint, nonce = 0 },
): SignTypedDataRequest =>
  documentOf(
    domain,
    { Permit: 'address owner,address spender,uint256 value,uint256 nonce,uint256 deadline' },
    { owner, spender, value: `${value}`, nonce, deadline: far },
  )

export const daiPermitOf = (
  domain: Domain,
  { spender, allowed }: { spender: string; allowed: boolean },
): SignTypedDataRequest =>
  documentOf(
    domain,
    { Permit: 'address holder,address spender,uint256 nonce,uint256 expiry,bool allowed' },
    { holder: ZeroAddress, spender, nonce: 0, expiry: 0, allowed },
  )

const permissions = 'address token,uint256 amount'
const common = 'address spender,uint256 nonce,uint256 deadline'
const details = 'address token,uint160 amount,uint48 expiration,uint48 nonce'
type Types = Record<string, { name: string; type: string }[]>

function witnessed(
  name: string,
  permitted: string,
  domain: Domain,
  message: SignTypedDataRequest['message'],
  witness?: Types,
) {
  const type = witness ? `Permit${name}WitnessTransferFrom` : `Permit${name}TransferFrom`
  const [of] = Object.keys(witness ?? {})
  const more = of === undefined ? '' : `,${of} witness`
  const made = documentOf(
    domain,
    { [type]: `${permitted} permitted,${common}${more}`, TokenPermissions: permissions },
    { ...message, nonce: 0, deadline: far, ...(witness && { witness: { amount: 1 } }) },
  )
  return { ...made, types: { ...made.types, ...witness } }
}

export const transferOf = (
  domain: Domain,
  { token, amount, spender, witness }: TokenAmount & { spender: string; witness?: Types },
): SignTypedDataRequest => witnessed('', 'TokenPermissions', domain, { permitted: { token, amount }, spender }, witness)

export const batchTransferOf = (
  domain: Domain,
  { permitted, spender, witness }: { permitted: TokenAmount[]; spender: string; witness?: Types },
): SignTypedDataRequest => witnessed('Batch', 'TokenPermissions[]', domain, { permitted, spender }, witness)

const detailed = (amount: TokenAmount) => ({ ...amount, expiration: far, nonce: 0 })

export const singleAllowanceOf = (
  domain: Domain,
  { spender, ...amount }: TokenAmount & { spender: string },
): SignTypedDataRequest =>
  documentOf(
    domain,
    { PermitSingle: 'PermitDetails details,address spender,uint256 sigDeadline', PermitDetails: details },
    { details: detailed(amount), spender, sigDeadline: far },
  )

export const batchAllowanceOf = (
  domain: Domain,
  { details: amounts, spender }: { details: TokenAmount[]; spender: string },
): SignTypedDataRequest =>
  documentOf(
    domain,
    { PermitBatch: 'PermitDetails[] details,address spender,uint256 sigDeadline', PermitDetails: details },
    { details: amounts.map(detailed), spender, sigDeadline: far },
  )
