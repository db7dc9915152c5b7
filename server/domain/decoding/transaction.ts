import { type NestedUint8Array, RLP } from '@ethereumjs/rlp'
import { recoverAddress } from 'ethers/transaction'
import type { AccessList, Authorization } from '../../../generated/openapi.ts'
import { toHex } from '../encoding/digest.ts'
import {
  authorizationDigest,
  fromHex,
  type SignedEnvelope,
  sealed,
  shownSignature,
  type UnsignedPayload,
} from '../encoding/envelope.ts'

type Decoded = Uint8Array | NestedUint8Array

/** The gas limit of a transaction (EIP-7825: 2^24) pays for 8,830 storage keys of an access list (EIP-2930: 1,900 gas each). */
const maxItems = 10_000
/** Transaction, access list, entry, list of storage keys, storage key. */
const maxDepth = 5

/** Throws for malformed bytes, and for more items or depth than a transaction has. */
function decodeRlp(bytes: Uint8Array): Decoded {
  checkItems(bytes)
  return RLP.decode(bytes)
}

/**
 * Counts the RLP items by their headers, because decoding a flat list of 1 MiB blocks the process for up to a second. The decoder
 * refuses wrong lengths later.
 */
function checkItems(bytes: Uint8Array): void {
  const ends: number[] = []
  let at = 0
  for (let items = 1; at < bytes.length; items += 1) {
    if (items > maxItems) throw new Error(`The transaction has more than ${maxItems} items`)
    while (ends.length > 0 && at >= (ends.at(-1) as number)) ends.pop()
    const { isList, start, end } = headerAt(bytes, at)
    if (ends.length >= maxDepth) throw new Error(`The transaction is nested more than ${maxDepth} levels deep`)
    if (isList) ends.push(end)
    at = isList ? start : end
  }
}

/** The start and the end of an item's content (Yellow Paper, appendix B). */
function headerAt(bytes: Uint8Array, at: number): { isList: boolean; start: number; end: number } {
  const first = bytes[at] as number
  if (first < 0x80) return { isList: false, start: at, end: at + 1 }
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  if (short <= 55) return { isList, start: at + 1, end: at + 1 + short }
  let length = 0
  const start = at + 1 + short - 55
  for (let index = at + 1; index < start; index += 1) length = length * 256 + (bytes[index] ?? 0)
  return { isList, start, end: start + length }
}

function listIn(decoded: Decoded | undefined, counts?: number[]): Decoded[] {
  if (!Array.isArray(decoded)) throw new Error('A list is missing')
  if (counts && !counts.includes(decoded.length)) throw new Error(`A list has ${decoded.length} items`)
  return decoded
}

function bytesIn(decoded: Decoded | undefined, length?: number): Uint8Array {
  if (!(decoded instanceof Uint8Array)) throw new Error('A list is given where bytes are required')
  if (length !== undefined && decoded.length !== length) throw new Error(`A field must have ${length} bytes`)
  return decoded
}

/** At most 32 bytes without leading zeros, because the form must be canonical. */
function numberIn(decoded: Decoded | undefined): bigint {
  const bytes = bytesIn(decoded)
  if (bytes.length > 32 || bytes[0] === 0) throw new Error('A number exceeds 32 bytes or has leading zeros')
  return BigInt(bytes.length === 0 ? 0 : toHex(bytes))
}

/** Lower case; null: a contract creation. */
const receiverIn = (decoded: Decoded | undefined): string | null =>
  bytesIn(decoded).length === 0 ? null : toHex(bytesIn(decoded, 20))

/** An access list (EIP-2930), in lower case. */
const accessListIn = (decoded: Decoded | undefined): { address: string; storage_keys: string[] }[] =>
  listIn(decoded).map((entry) => {
    const [address, keys] = listIn(entry, [2])
    return {
      address: toHex(bytesIn(address, 20)),
      storage_keys: listIn(keys).map((key) => toHex(bytesIn(key, 32))),
    }
  })

/** What signed bytes do, apart from their nonce and prices. */
export interface SignedContent {
  to: string | null
  data: string | null
  gas_limit: number
  value: string
  access_list: AccessList | null
  authorization_list: Authorization[] | null
}

interface SignedTransaction {
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
const feeMarket = ['chain_id', 'nonce', 'max_priority_fee', 'max_fee', ...base, 'access_list'] as const
const fields = {
  0: ['nonce', 'gas_price', ...base],
  1: ['chain_id', 'nonce', 'gas_price', ...base, 'access_list'],
  2: feeMarket,
  3: [...feeMarket, 'max_fee_per_blob_gas', 'blob_hashes'],
  4: [...feeMarket, 'authorization_list'],
} as const

/** Reads signed bytes in canonical form. Throws for any other. */
export function readSigned(raw: Uint8Array): SignedTransaction {
  const type = typeOf(raw)
  const names: readonly string[] = fields[type]
  const items = listIn(decodeRlp(type === 0 ? raw : raw.subarray(1)), [names.length + 3])
  const field = (name: string) => items[names.indexOf(name)]
  const [v, r, s] = items.slice(-3).map(numberIn) as [bigint, bigint, bigint]
  const isProtected = type === 0 && v >= 35n
  const chainId = type === 0 ? (isProtected ? (v - 35n) / 2n : 0n) : numberIn(field('chain_id'))
  const yParity = Number(type === 0 ? (isProtected ? (v - 35n) % 2n : v - 27n) : v) === 1 ? 1 : 0
  const signature = shownSignature(type, chainId, [word(r), word(s)], yParity)
  const data = toHex(bytesIn(field('data')))
  const accessList = type === 0 ? [] : accessListIn(field('access_list'))
  return {
    chain_id: chainId,
    signature,
    content: {
      to: receiverIn(field('to')),
      value: numberIn(field('value')).toString(),
      data: data === '0x' ? null : data,
      gas_limit: Number(numberIn(field('gas_limit'))),
      access_list: accessList.length > 0 || type === 1 ? accessList : null,
      authorization_list: type === 4 ? listIn(field('authorization_list')).map(authorizationIn) : null,
    },
    recover: () => recover(sealed(type, chainId, items.slice(0, -3)).digest, signature.r, signature.s, yParity),
  }
}

function typeOf([first = 0]: Uint8Array): Type {
  if (first >= 0xc0) return 0
  if (first >= 1 && first <= 4) return first as Type
  throw new Error('The transaction type is not supported')
}

function authorizationIn(item: Decoded): Authorization {
  const [chainId, address, nonce, yParity, r, s] = listIn(item, [6])
  return {
    chain_id: Number(numberIn(chainId)),
    address: toHex(bytesIn(address, 20)),
    nonce: Number(numberIn(nonce)),
    r: word(numberIn(r)),
    s: word(numberIn(s)),
    y_parity: Number(numberIn(yParity)),
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

export interface UnsignedTransaction extends UnsignedPayload {
  type: 0 | 1 | 2
  /** 0 for a legacy transaction without a chain id. */
  chain_id: bigint
  nonce: bigint
  /** Lower case; null for a contract creation. */
  to: string | null
  value: bigint
  data: string
  /** The highest price per unit of gas. */
  gas_price: bigint
  /** Undefined for a transaction with a gas price. */
  max_priority_fee_per_gas: bigint | undefined
  gas_limit: bigint
  access_list: AccessList
}

/**
 * Parses the hex of an unsigned transaction (EIP-155, EIP-2930, EIP-1559). Throws when the bytes are malformed, not in canonical form,
 * or already signed.
 */
export function parseUnsigned(hex: string): UnsignedTransaction {
  const bytes = fromHex(hex)
  const type = typeOfUnsignedTransaction(bytes)
  const list = listIn(decodeRlp(type === 0 ? bytes : bytes.subarray(1)), fieldCounts[type])
  // A legacy transaction may end with its chain id and two zeros in place of r and s (EIP-155).
  const [fields, domain] = type === 0 ? [list.slice(0, 6), list.slice(6)] : [list, list.slice(0, 1)]
  const chainId = domain.length === 0 ? 0n : numberIn(domain[0])
  if (type === 0 && domain.length > 0) {
    if (chainId === 0n) throw new Error('The chain id is 0')
    if (numberIn(domain[1]) !== 0n || numberIn(domain[2]) !== 0n) throw new Error('The transaction is already signed')
  }

  const [nonce, ...rest] = type === 0 ? fields : fields.slice(1)
  const prices = rest.splice(0, type === 2 ? 2 : 1).map(numberIn)
  const [gasLimit, receiver, amount, data, access = []] = rest
  if (numberIn(nonce) > maxUint64 || numberIn(gasLimit) > maxUint64)
    throw new Error('The nonce or gas limit exceeds 64 bits')
  const gasPrice = prices.at(-1) as bigint
  const maxPriorityFeePerGas = type === 2 ? prices[0] : undefined
  if (maxPriorityFeePerGas !== undefined && maxPriorityFeePerGas > gasPrice)
    throw new Error('max_priority_fee_per_gas exceeds max_fee_per_gas')
  return {
    type,
    chain_id: chainId,
    nonce: numberIn(nonce),
    to: receiverIn(receiver),
    value: numberIn(amount),
    data: toHex(bytesIn(data)),
    gas_price: gasPrice,
    max_priority_fee_per_gas: maxPriorityFeePerGas,
    gas_limit: numberIn(gasLimit),
    access_list: accessListIn(access),
    ...sealed(type, chainId, fields),
  }
}

/** EIP-2718: a first byte from 0xc0 begins a list, and so a legacy transaction. */
function typeOfUnsignedTransaction([first = 0]: Uint8Array): 0 | 1 | 2 {
  if (first >= 0xc0) return 0
  if (first === 1 || first === 2) return first
  throw new Error('The transaction type is not supported')
}

/** The numbers of fields of an unsigned transaction, by type. */
const fieldCounts = { 0: [6, 9], 1: [8], 2: [9] }
/** The limit for nonces (EIP-2681). No block has more gas than this either. */
const maxUint64 = 2n ** 64n - 1n

/**
 * What nodes take as one transaction (geth's txMaxSize, which the other clients follow). No rule of a chain is known by heart: forks change
 * them.
 */
const maxBytes = 128 * 1024

/** Why no node can accept these signed bytes, derived from the bytes alone; undefined when nothing is wrong with them. */
export const flawOf = (raw: Uint8Array): string | undefined =>
  raw.length > maxBytes ? `it has ${raw.length} bytes, and nodes accept at most ${maxBytes}` : undefined

/** What signed bytes prove against a node's refusal; undefined when the refusal is not about the signature or the chain id. */
export function contradictionOf(refusal: string, raw: Uint8Array): string | undefined {
  const isAboutSender = /sender|signature/i.test(refusal)
  const isAboutChain = /chain ?id|another chain|replay-protected/i.test(refusal)
  if (!isAboutSender && !isAboutChain) return undefined
  const { recover, chain_id } = readSigned(raw)
  return isAboutSender ? `the signature recovers to ${recover()}` : `it is signed for chain ${chain_id}`
}
