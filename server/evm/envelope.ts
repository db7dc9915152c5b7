import { type Input, type NestedUint8Array, RLP } from '@ethereumjs/rlp'
import { Transaction } from 'ethers/transaction'
import { keccak256 } from './digest.ts'
import type { Prices } from './fees.ts'

/** What a signature is put on: a transaction with its nonce and its prices. */
export interface Envelope {
  chain_id: number
  nonce: number
  to: string | null
  value: bigint
  data: string | null
  gas_limit: number
  prices: Prices
}

export interface SignedEnvelope {
  raw: Buffer
  /** Lower case, with 0x. */
  hash: string
  signature: { r: string; s: string; sig: string; v: number }
}

interface Sealed {
  digest: Uint8Array
  finish(signature: { rs: Uint8Array; recovery: number }): SignedEnvelope
}

/** The digest to sign (EIP-155 for a legacy transaction, EIP-1559 for the other), and what becomes of the signature. */
export function seal({ chain_id, nonce, to, value, data, gas_limit, prices }: Envelope): Sealed {
  const content = [gas_limit, fromHex(to), value, fromHex(data)]
  if (prices.kind === 'legacy') return sealed(0, BigInt(chain_id), [nonce, prices.gas_price, ...content])
  const { max_fee_per_gas, max_priority_fee_per_gas } = prices
  return sealed(2, BigInt(chain_id), [chain_id, nonce, max_priority_fee_per_gas, max_fee_per_gas, ...content, []])
}

/**
 * An unsigned transaction as its type serialises it. Throws when the bytes are none, in any other than their one form, or are signed
 * already.
 */
export function parseUnsigned(hex: string): Sealed & {
  chain_id: bigint
  to: string | null
  value: bigint
  data: string
  gas_price: bigint
} {
  const bytes = fromHex(hex)
  const type = typeOf(bytes)
  const list = listIn(RLP.decode(type === 0 ? bytes : bytes.subarray(1)), fieldCounts[type])
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
    ...{ chain_id, to, value: numberIn(amount), data: toHex(bytesIn(data)), gas_price: prices.at(-1) as bigint },
    ...sealed(type, chain_id, fields),
  }
}

/** What signed bytes say, for the row of a transaction whose earlier bytes were mined after all. */
export function readSigned(raw: Uint8Array): {
  content: { to: string | null; value: string; data: string | null; gas_limit: number }
  signature: SignedEnvelope['signature']
} {
  const transaction = Transaction.from(`0x${Buffer.from(raw).toString('hex')}`)
  const { type, chainId, to, value, data, gasLimit, signature } = transaction
  if (!signature) throw new Error('These bytes are not signed')
  return {
    content: {
      to: to?.toLowerCase() ?? null,
      value: value.toString(),
      data: data === '0x' ? null : data,
      gas_limit: Number(gasLimit),
    },
    signature: shownSignature(type, chainId, signature.r, signature.s, signature.yParity),
  }
}

/** `fields`: what is signed, in the order of the type's (the Yellow Paper's for a legacy one, EIP-2930, EIP-1559). */
function sealed(type: 0 | 1 | 2, chain_id: bigint, fields: Input[]): Sealed {
  const serialize = (more: Input[]) => {
    const list = RLP.encode([...fields, ...more])
    return type === 0 ? Buffer.from(list) : Buffer.concat([Uint8Array.of(type), list])
  }
  // EIP-155: a signature for one chain holds on no other.
  const domain = type === 0 && chain_id > 0n ? [chain_id, 0, 0] : []
  return {
    digest: keccak256(serialize(domain)),
    finish({ rs, recovery }) {
      const hex = Buffer.from(rs.buffer, rs.byteOffset, rs.length).toString('hex')
      const [r, s] = [`0x${hex.slice(0, 64)}`, `0x${hex.slice(64)}`] as const
      const parity = recovery === 1 ? 1 : 0
      // Numbers have no leading zeros there.
      const raw = serialize([vOf(type, chain_id, parity), BigInt(r), BigInt(s)])
      const signature = shownSignature(type, chain_id, r, s, parity)
      return { raw, hash: `0x${keccak256(raw).toString('hex')}`, signature }
    },
  }
}

const shownSignature = (type: number | null, chain_id: bigint, r: string, s: string, parity: 0 | 1) => ({
  ...{ r, s, sig: `${r}${s.slice(2)}${(27 + parity).toString(16)}` },
  v: Number(vOf(type, chain_id, parity)),
})

/** The y parity of a typed transaction, and what EIP-155 makes of it for a legacy one. */
function vOf(type: number | null, chain_id: bigint, parity: 0 | 1): bigint {
  if (type !== 0) return BigInt(parity)
  return BigInt(parity) + (chain_id > 0n ? chain_id * 2n + 35n : 27n)
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

const fromHex = (hex: string | null): Buffer => Buffer.from((hex ?? '0x').slice(2), 'hex')
const toHex = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
