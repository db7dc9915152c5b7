import { recoverAddress } from 'ethers/transaction'
import type { AccessList, Authorization } from '../../../generated/openapi.ts'
import { authorizationDigest, type SignedEnvelope, sealed, shownSignature } from '../encoding/envelope.ts'
import { toHex } from '../hex.ts'
import { accessListIn, bytesIn, type Decoded, decodeRlp, listIn, numberIn, receiverIn } from './rlp.ts'

/** What signed bytes do, apart from their nonce and prices. */
export interface SignedContent {
  to: string | null
  data: string | null
  gas_limit: number
  value: string
  access_list: AccessList | null
  authorization_list: Authorization[] | null
}

export interface SignedTransaction {
  /** 0 for a legacy transaction that is valid on every chain. */
  chain_id: bigint
  content: SignedContent
  signature: SignedEnvelope['signature']
  /** The account that signed it, in lower case; undefined when the signature is not valid. */
  recover(): string | undefined
}

/** EIP-2718: legacy, EIP-2930, EIP-1559, EIP-4844, EIP-7702. */
type Type = 0 | 1 | 2 | 3 | 4

/** The signed fields of each type, in their order, apart from v, r and s. */
const base = ['gas_limit', 'to', 'value', 'data'] as const
const fee_market = ['chain_id', 'nonce', 'max_priority_fee', 'max_fee', ...base, 'access_list'] as const
const fields = {
  0: ['nonce', 'gas_price', ...base],
  1: ['chain_id', 'nonce', 'gas_price', ...base, 'access_list'],
  2: fee_market,
  3: [...fee_market, 'max_fee_per_blob_gas', 'blob_hashes'],
  4: [...fee_market, 'authorization_list'],
} as const

/** Reads signed bytes in canonical form. Throws for any other. */
export function readSigned(raw: Uint8Array): SignedTransaction {
  const type = typeOf(raw)
  const names: readonly string[] = fields[type]
  const items = listIn(decodeRlp(type === 0 ? raw : raw.subarray(1)), [names.length + 3])
  const field = (name: string) => items[names.indexOf(name)]
  const [v, r, s] = items.slice(-3).map(numberIn) as [bigint, bigint, bigint]
  const isProtected = type === 0 && v >= 35n
  const chain_id = type === 0 ? (isProtected ? (v - 35n) / 2n : 0n) : numberIn(field('chain_id'))
  const y_parity = Number(type === 0 ? (isProtected ? (v - 35n) % 2n : v - 27n) : v) === 1 ? 1 : 0
  const signature = shownSignature(type, chain_id, word(r), word(s), y_parity)
  const data = toHex(bytesIn(field('data')))
  const access_list = type === 0 ? [] : accessListIn(field('access_list'))
  return {
    chain_id,
    signature,
    content: {
      to: receiverIn(field('to')),
      value: numberIn(field('value')).toString(),
      data: data === '0x' ? null : data,
      gas_limit: Number(numberIn(field('gas_limit'))),
      access_list: access_list.length > 0 || type === 1 ? access_list : null,
      authorization_list: type === 4 ? listIn(field('authorization_list')).map(authorizationIn) : null,
    },
    recover: () => recover(sealed(type, chain_id, items.slice(0, -3)).digest, signature.r, signature.s, y_parity),
  }
}

function typeOf([first = 0]: Uint8Array): Type {
  if (first >= 0xc0) return 0
  if (first >= 1 && first <= 4) return first as Type
  throw new Error('The transaction type is not supported')
}

function authorizationIn(item: Decoded): Authorization {
  const [chain_id, address, nonce, y_parity, r, s] = listIn(item, [6])
  return {
    chain_id: Number(numberIn(chain_id)),
    address: toHex(bytesIn(address, 20)),
    nonce: Number(numberIn(nonce)),
    r: word(numberIn(r)),
    s: word(numberIn(s)),
    y_parity: Number(numberIn(y_parity)),
  }
}

const word = (number: bigint): string => `0x${number.toString(16).padStart(64, '0')}`

/** The address that signed an authorization, in lower case; undefined when the signature is not valid. */
export const authorityOf = (authorization: Authorization): string | undefined =>
  recover(authorizationDigest(authorization), authorization.r, authorization.s, authorization.y_parity === 1 ? 1 : 0)

function recover(digest: Uint8Array, r: string, s: string, yParity: 0 | 1): string | undefined {
  try {
    return recoverAddress(digest, { r, s, yParity }).toLowerCase()
  } catch {
    return undefined
  }
}

/** r and s, the last two fields of a signed transaction of any type. Throws for malformed bytes. */
export function signatureFields(raw: Uint8Array): [r: Uint8Array, s: Uint8Array] {
  const [r, s] = listIn(decodeRlp(typeOf(raw) === 0 ? raw : raw.subarray(1))).slice(-2)
  return [bytesIn(r), bytesIn(s)]
}
