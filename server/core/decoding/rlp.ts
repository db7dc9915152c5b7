import { type NestedUint8Array, RLP } from '@ethereumjs/rlp'
import { toHex } from '../hex.ts'

export type Decoded = Uint8Array | NestedUint8Array

/** The gas limit of a transaction (EIP-7825: 2^24) pays for 8,830 storage keys of an access list (EIP-2930: 1,900 gas each). */
const max_items = 10_000
/** Transaction, access list, entry, list of storage keys, storage key. */
const max_depth = 5

/** Throws for malformed bytes, and for more items or depth than a transaction has. */
export function decodeRlp(bytes: Uint8Array): Decoded {
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

export function listIn(decoded: Decoded | undefined, counts?: number[]): Decoded[] {
  if (!Array.isArray(decoded)) throw new Error('A list is missing')
  if (counts && !counts.includes(decoded.length)) throw new Error(`A list has ${decoded.length} items`)
  return decoded
}

export function bytesIn(decoded: Decoded | undefined, length?: number): Uint8Array {
  if (!(decoded instanceof Uint8Array)) throw new Error('A list is given where bytes are required')
  if (length !== undefined && decoded.length !== length) throw new Error(`A field must have ${length} bytes`)
  return decoded
}

/** At most 32 bytes without leading zeros, because the form must be canonical. */
export function numberIn(decoded: Decoded | undefined): bigint {
  const bytes = bytesIn(decoded)
  if (bytes.length > 32 || bytes[0] === 0) throw new Error('A number exceeds 32 bytes or has leading zeros')
  return BigInt(bytes.length === 0 ? 0 : toHex(bytes))
}

/** Lower case; null: a contract creation. */
export const receiverIn = (decoded: Decoded | undefined): string | null =>
  bytesIn(decoded).length === 0 ? null : toHex(bytesIn(decoded, 20))

/** An access list (EIP-2930), in lower case. */
export const accessListIn = (decoded: Decoded | undefined): { address: string; storage_keys: string[] }[] =>
  listIn(decoded).map((entry) => {
    const [address, keys] = listIn(entry, [2])
    return {
      address: toHex(bytesIn(address, 20)),
      storage_keys: listIn(keys).map((key) => toHex(bytesIn(key, 32))),
    }
  })
