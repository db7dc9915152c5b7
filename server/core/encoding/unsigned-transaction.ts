import { type NestedUint8Array, RLP } from '@ethereumjs/rlp'
import { toHex } from '../hex.ts'
import { fromHex, type Sealed, sealed } from './envelope.ts'

export interface UnsignedTransaction extends Sealed {
  /** 0 for a legacy transaction without a chain id. */
  chain_id: bigint
  /** Lower case; null for a contract creation. */
  to: string | null
  value: bigint
  data: string
  /** The highest price per unit of gas. */
  gas_price: bigint
  gas_limit: bigint
}

/**
 * Parses the hex of an unsigned transaction (EIP-155, EIP-2930, EIP-1559). Throws when the bytes are malformed, not in canonical form,
 * or already signed.
 */
export function parseUnsigned(hex: string): UnsignedTransaction {
  const bytes = fromHex(hex)
  const type = typeOf(bytes)
  const encoded = type === 0 ? bytes : bytes.subarray(1)
  checkItems(encoded)
  const list = listIn(RLP.decode(encoded), fieldCounts[type])
  // A legacy transaction may end with its chain id and two zeros in place of r and s (EIP-155).
  const [fields, domain] = type === 0 ? [list.slice(0, 6), list.slice(6)] : [list, list.slice(0, 1)]
  const chain_id = domain.length === 0 ? 0n : numberIn(domain[0])
  if (type === 0 && domain.length > 0) {
    if (chain_id === 0n) throw new Error('The chain id is 0')
    if (numberIn(domain[1]) !== 0n || numberIn(domain[2]) !== 0n) throw new Error('The transaction is already signed')
  }

  const [nonce, ...rest] = type === 0 ? fields : fields.slice(1)
  const prices = rest.splice(0, type === 2 ? 2 : 1).map(numberIn)
  const [gas_limit, receiver, amount, data, access = []] = rest
  if (numberIn(nonce) > max_uint64 || numberIn(gas_limit) > max_uint64)
    throw new Error('The nonce or gas limit exceeds 64 bits')
  if (type === 2 && (prices[0] as bigint) > (prices[1] as bigint))
    throw new Error('max_priority_fee_per_gas exceeds max_fee_per_gas')
  for (const entry of listIn(access)) {
    const [address, keys] = listIn(entry, [2])
    bytesIn(address, 20)
    for (const key of listIn(keys)) bytesIn(key, 32)
  }
  const to = bytesIn(receiver).length === 0 ? null : toHex(bytesIn(receiver, 20))
  return {
    chain_id,
    to,
    value: numberIn(amount),
    data: toHex(bytesIn(data)),
    gas_price: prices.at(-1) as bigint,
    gas_limit: numberIn(gas_limit),
    ...sealed(type, chain_id, fields),
  }
}

/** The gas limit of a transaction (EIP-7825: 2^24) pays for 8,830 storage keys of an access list (EIP-2930: 1,900 gas each). */
const max_items = 10_000
/** Transaction, access list, entry, list of storage keys, storage key. */
const max_depth = 5

/**
 * Counts the RLP items by their headers, because decoding a flat list of 1 MiB blocks the process for up to a second. The decoder
 * refuses wrong lengths later.
 */
function checkItems(bytes: Uint8Array): void {
  const ends: number[] = []
  let at = 0
  for (let items = 1; at < bytes.length; items += 1) {
    if (items > max_items) throw new Error(`The transaction has more than ${max_items} items`)
    while (ends.length > 0 && at >= (ends.at(-1) as number)) ends.pop()
    const { isList, start, end } = headerAt(bytes, at)
    if (ends.length >= max_depth) throw new Error(`The transaction is nested more than ${max_depth} levels deep`)
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

/** EIP-2718: a first byte from 0xc0 begins a list, and so a legacy transaction. */
function typeOf([first = 0]: Uint8Array): 0 | 1 | 2 {
  if (first >= 0xc0) return 0
  if (first === 1 || first === 2) return first
  throw new Error('The transaction type is not supported')
}

/** The numbers of fields of an unsigned transaction, by type. */
const fieldCounts = { 0: [6, 9], 1: [8], 2: [9] }
/** The limit for nonces (EIP-2681). No block has more gas than this either. */
const max_uint64 = 2n ** 64n - 1n

type Decoded = Uint8Array | NestedUint8Array

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
