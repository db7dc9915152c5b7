import { type Input, RLP } from '@ethereumjs/rlp'
import type { AccessList, Authorization } from '../../../generated/openapi.ts'
import type { Form } from '../transaction-form.ts'
import { keccak256, toHex } from './digest.ts'

/** A complete unsigned transaction. */
export type Envelope = Form & {
  chain_id: number
  nonce: number
  to: string | null
  value: bigint
  data: string | null
  gas_limit: number
}

export interface SignedEnvelope {
  raw: Buffer
  /** Lower case, with 0x. */
  hash: string
  signature: { r: string; s: string; sig: string; v: number }
}

export interface UnsignedPayload {
  /** The digest to sign. */
  digest: Uint8Array
  /** The bytes that have this digest. */
  preimage(): Uint8Array
  finish(signature: { rs: Uint8Array; recovery: number }): SignedEnvelope
}

/** The digest to sign, and the function that adds the signature. */
export function serializeUnsigned(envelope: Envelope): UnsignedPayload {
  const { chain_id, nonce, to, value, data, gas_limit } = envelope
  const content = [gas_limit, fromHex(to), value, fromHex(data)]
  const id = BigInt(chain_id)
  switch (envelope.type) {
    case 0:
      return sealed(0, id, [nonce, envelope.prices.gas_price, ...content])
    case 1:
      return sealed(1, id, [chain_id, nonce, envelope.prices.gas_price, ...content, listItems(envelope.access_list)])
    default: {
      const { max_fee_per_gas, max_priority_fee_per_gas } = envelope.prices
      const prices = [max_priority_fee_per_gas, max_fee_per_gas]
      const fields = [chain_id, nonce, ...prices, ...content, listItems(envelope.access_list)]
      if (envelope.type === 2) return sealed(2, id, fields)
      return sealed(4, id, [...fields, envelope.authorization_list.map(authorizationItem)])
    }
  }
}

const listItems = (accessList: AccessList): Input =>
  accessList.map(({ address, storage_keys }) => [fromHex(address), storage_keys.map(fromHex)])

/** `fields`: the signed fields, in the order of the transaction type (Yellow Paper for a legacy one, EIP-2930, EIP-1559,
 * EIP-4844, EIP-7702). */
export function sealed(type: 0 | 1 | 2 | 3 | 4, chainId: bigint, fields: Input[]): UnsignedPayload {
  const serialize = (more: Input[]) => {
    const list = RLP.encode([...fields, ...more])
    return type === 0 ? Buffer.from(list) : Buffer.concat([Uint8Array.of(type), list])
  }
  // EIP-155: a signature for one chain is invalid on any other.
  const domain = type === 0 && chainId > 0n ? [chainId, 0, 0] : []
  return {
    digest: keccak256(serialize(domain)),
    preimage: () => serialize(domain),
    finish({ rs, recovery }) {
      const hex = toHex(rs)
      const [r, s] = [hex.slice(0, 66), `0x${hex.slice(66)}`] as const
      const parity = recovery === 1 ? 1 : 0
      // RLP numbers have no leading zeros.
      const raw = serialize([vOf(type, chainId, parity), BigInt(r), BigInt(s)])
      const signature = shownSignature(type, chainId, [r, s], parity)
      return { raw, hash: toHex(keccak256(raw)), signature }
    },
  }
}

export const shownSignature = (
  type: number,
  chainId: bigint,
  [r, s]: readonly [r: string, s: string],
  parity: 0 | 1,
) => ({
  r,
  s,
  sig: `${r}${s.slice(2)}${(27 + parity).toString(16)}`,
  v: Number(vOf(type, chainId, parity)),
})

/** An item of the list of EIP-7702. Numbers have no leading zeros there. */
const authorizationItem = ({ chain_id, address, nonce, r, s, y_parity }: Authorization): Input => [
  chain_id,
  fromHex(address),
  nonce,
  y_parity,
  BigInt(r),
  BigInt(s),
]

type UnsignedAuthorization = Omit<Authorization, 'r' | 's' | 'y_parity'>

/** The bytes whose digest signs an authorization (EIP-7702): 0x05 || rlp([chain_id, address, nonce]). */
export const authorizationPreimage = ({ chain_id, address, nonce }: UnsignedAuthorization): Buffer =>
  Buffer.concat([Uint8Array.of(5), RLP.encode([chain_id, fromHex(address), nonce])])

export const authorizationDigest = (authorization: UnsignedAuthorization): Buffer =>
  keccak256(authorizationPreimage(authorization))

/** `v`: the y parity for a typed transaction, the value of EIP-155 for a legacy one. */
function vOf(type: number, chainId: bigint, parity: 0 | 1): bigint {
  if (type !== 0) return BigInt(parity)
  return BigInt(parity) + (chainId > 0n ? chainId * 2n + 35n : 27n)
}

export const fromHex = (hex: string | null): Buffer => Buffer.from((hex ?? '0x').slice(2), 'hex')
