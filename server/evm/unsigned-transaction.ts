import { type NestedUint8Array, RLP } from '@ethereumjs/rlp'
import { toHex } from '../hex.ts'
import { fromHex, type Sealed, sealed } from './envelope.ts'

export interface UnsignedTransaction extends Sealed {
  /** 0 for a legacy one that names none. */
  chain_id: bigint
  /** Lower case; null for the creation of a contract. */
  to: string | null
  value: bigint
  data: string
  /** The most that it pays for gas. */
  gas_price: bigint
  gas_limit: bigint
}

/**
 * An unsigned transaction as its type serialises it (EIP-155, EIP-2930, EIP-1559), in hex. Throws when the bytes are none, or in any
 * other than their one form, or signed already.
 */
export function parseUnsigned(hex: string): UnsignedTransaction {
  const bytes = fromHex(hex)
  const type = typeOf(bytes)
  const encoded = type === 0 ? bytes : bytes.subarray(1)
  checkItems(encoded)
  const list = listIn(RLP.decode(encoded), fieldCounts[type])
  // A legacy one may name its chain behind its content, with two zeros in the places of r and s.
  const [fields, domain] = type === 0 ? [list.slice(0, 6), list.slice(6)] : [list, list.slice(0, 1)]
  const chain_id = domain.length === 0 ? 0n : numberIn(domain[0])
  if (type === 0 && domain.length > 0) {
    if (chain_id === 0n) throw new Error('It names no chain')
    if (numberIn(domain[1]) !== 0n || numberIn(domain[2]) !== 0n) throw new Error('It is signed already')
  }

  const [nonce, ...rest] = type === 0 ? fields : fields.slice(1)
  const prices = rest.splice(0, type === 2 ? 2 : 1).map(numberIn)
  const [gas_limit, receiver, amount, data, access = []] = rest
  if (numberIn(nonce) > max_uint64 || numberIn(gas_limit) > max_uint64)
    throw new Error('It has a number that is too large')
  if (type === 2 && (prices[0] as bigint) > (prices[1] as bigint))
    throw new Error('Its tip is more than it pays at most')
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
/** Transaction, access list, entry, its keys, key. */
const max_depth = 5

/**
 * Counts the items of an RLP text by their headers, because decoding a flat list of 1 MiB blocks the process for up to a second.
 * Lengths that are wrong are left to the decoder.
 */
function checkItems(bytes: Uint8Array): void {
  const ends: number[] = []
  let at = 0
  for (let items = 1; at < bytes.length; items += 1) {
    if (items > max_items) throw new Error(`It has more than ${max_items} items`)
    while (ends.length > 0 && at >= (ends.at(-1) as number)) ends.pop()
    const { isList, start, end } = headerAt(bytes, at)
    if (ends.length >= max_depth) throw new Error(`It is nested more than ${max_depth} deep`)
    if (isList) ends.push(end)
    at = isList ? start : end
  }
}

/** Where an item's content begins and ends (Yellow Paper, appendix B). */
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

/** EIP-2718: a legacy transaction is a list, and a list's first byte is no type. */
function typeOf([first = 0]: Uint8Array): 0 | 1 | 2 {
  if (first >= 0xc0) return 0
  if (first === 1 || first === 2) return first
  throw new Error('Its type is not signed here')
}

/** Of what is not signed. */
const fieldCounts = { 0: [6, 9], 1: [8], 2: [9] }
/** EIP-2681 for the nonce; more gas than that fits in no block. */
const max_uint64 = 2n ** 64n - 1n

type Decoded = Uint8Array | NestedUint8Array

function listIn(decoded: Decoded | undefined, counts?: number[]): Decoded[] {
  if (!Array.isArray(decoded)) throw new Error('It has bytes in the place of a list')
  if (counts && !counts.includes(decoded.length)) throw new Error(`It has ${decoded.length} fields`)
  return decoded
}

function bytesIn(decoded: Decoded | undefined, length?: number): Uint8Array {
  if (!(decoded instanceof Uint8Array)) throw new Error('It has a list in the place of bytes')
  if (length !== undefined && decoded.length !== length) throw new Error(`It has not ${length} bytes where it must`)
  return decoded
}

/** At most 32 bytes; one with leading zeros would be the same number in another form. */
function numberIn(decoded: Decoded | undefined): bigint {
  const bytes = bytesIn(decoded)
  if (bytes.length > 32 || bytes[0] === 0) throw new Error('It has a number that is none')
  return BigInt(bytes.length === 0 ? 0 : toHex(bytes))
}
