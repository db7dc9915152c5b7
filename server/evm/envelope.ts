import { type Input, RLP } from '@ethereumjs/rlp'
import { Transaction } from 'ethers/transaction'
import { toHex } from '../hex.ts'
import { keccak256 } from './digest.ts'
import type { Prices } from './fees.ts'

/** A complete unsigned transaction, with nonce and prices. */
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

export interface Sealed {
  /** The digest to sign. */
  digest: Uint8Array
  finish(signature: { rs: Uint8Array; recovery: number }): SignedEnvelope
}

/** The digest to sign (EIP-155 for a legacy transaction, EIP-1559 for the other), and the function that adds the signature. */
export function seal({ chain_id, nonce, to, value, data, gas_limit, prices }: Envelope): Sealed {
  const content = [gas_limit, fromHex(to), value, fromHex(data)]
  if (prices.kind === 'legacy') return sealed(0, BigInt(chain_id), [nonce, prices.gas_price, ...content])
  const { max_fee_per_gas, max_priority_fee_per_gas } = prices
  return sealed(2, BigInt(chain_id), [chain_id, nonce, max_priority_fee_per_gas, max_fee_per_gas, ...content, []])
}

/** The content of signed bytes, for the row of a transaction whose earlier attempt was mined. */
export function readSigned(raw: Uint8Array): {
  content: { to: string | null; value: string; data: string | null; gas_limit: number }
  signature: SignedEnvelope['signature']
} {
  const transaction = Transaction.from(toHex(raw))
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

/** `fields`: the signed fields, in the order of the transaction type (Yellow Paper for a legacy one, EIP-2930, EIP-1559). */
export function sealed(type: 0 | 1 | 2, chain_id: bigint, fields: Input[]): Sealed {
  const serialize = (more: Input[]) => {
    const list = RLP.encode([...fields, ...more])
    return type === 0 ? Buffer.from(list) : Buffer.concat([Uint8Array.of(type), list])
  }
  // EIP-155: a signature for one chain is invalid on any other.
  const domain = type === 0 && chain_id > 0n ? [chain_id, 0, 0] : []
  return {
    digest: keccak256(serialize(domain)),
    finish({ rs, recovery }) {
      const hex = toHex(rs)
      const [r, s] = [hex.slice(0, 66), `0x${hex.slice(66)}`] as const
      const parity = recovery === 1 ? 1 : 0
      // RLP numbers have no leading zeros.
      const raw = serialize([vOf(type, chain_id, parity), BigInt(r), BigInt(s)])
      const signature = shownSignature(type, chain_id, r, s, parity)
      return { raw, hash: toHex(keccak256(raw)), signature }
    },
  }
}

const shownSignature = (type: number | null, chain_id: bigint, r: string, s: string, parity: 0 | 1) => ({
  r,
  s,
  sig: `${r}${s.slice(2)}${(27 + parity).toString(16)}`,
  v: Number(vOf(type, chain_id, parity)),
})

/** `v`: the y parity for a typed transaction, the value of EIP-155 for a legacy one. */
function vOf(type: number | null, chain_id: bigint, parity: 0 | 1): bigint {
  if (type !== 0) return BigInt(parity)
  return BigInt(parity) + (chain_id > 0n ? chain_id * 2n + 35n : 27n)
}

export const fromHex = (hex: string | null): Buffer => Buffer.from((hex ?? '0x').slice(2), 'hex')
