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

/** The digest to sign (EIP-155 for a legacy transaction, EIP-1559 for the other), and what becomes of the signature. */
export function seal(envelope: Envelope): {
  digest: Uint8Array
  finish(signature: { rs: Uint8Array; recovery: number }): SignedEnvelope
} {
  const { chain_id, nonce, to, value, data, gas_limit, prices } = envelope
  const transaction = Transaction.from({
    type: prices.kind === 'legacy' ? 0 : 2,
    chainId: chain_id,
    nonce,
    to,
    value,
    data: data ?? '0x',
    gasLimit: gas_limit,
    ...(prices.kind === 'legacy'
      ? { gasPrice: prices.gas_price }
      : { maxFeePerGas: prices.max_fee_per_gas, maxPriorityFeePerGas: prices.max_priority_fee_per_gas }),
  })
  return { digest: fromHex(transaction.unsignedHash), finish: (signature) => finish(transaction, signature) }
}

/** An unsigned transaction as its type serialises it. Throws when the bytes are none, or are signed already. */
export function parseUnsigned(hex: string): {
  chain_id: bigint
  to: string | null
  value: bigint
  data: string
  gas_price: bigint
  digest: Uint8Array
  finish(signature: { rs: Uint8Array; recovery: number }): SignedEnvelope
} {
  const transaction = Transaction.from(hex)
  if (transaction.signature !== null) throw new Error('It is signed already')
  if (transaction.type === null || transaction.type > 2) throw new Error('Its type is not signed here')
  return {
    chain_id: transaction.chainId,
    to: transaction.to?.toLowerCase() ?? null,
    value: transaction.value,
    data: transaction.data,
    gas_price: transaction.maxFeePerGas ?? transaction.gasPrice ?? 0n,
    digest: fromHex(transaction.unsignedHash),
    finish: (signature) => finish(transaction, signature),
  }
}

/** What signed bytes say, for the row of a transaction whose earlier bytes were mined after all. */
export function readSigned(raw: Uint8Array): {
  content: { to: string | null; value: string; data: string | null; gas_limit: number }
  signature: SignedEnvelope['signature']
} {
  const transaction = Transaction.from(`0x${Buffer.from(raw).toString('hex')}`)
  const { to, value, data, gasLimit, signature } = transaction
  if (!signature) throw new Error('These bytes are not signed')
  return {
    content: {
      to: to?.toLowerCase() ?? null,
      value: value.toString(),
      data: data === '0x' ? null : data,
      gas_limit: Number(gasLimit),
    },
    signature: shownSignature(transaction, signature.r, signature.s, signature.yParity),
  }
}

function finish(transaction: Transaction, { rs, recovery }: { rs: Uint8Array; recovery: number }): SignedEnvelope {
  const hex = Buffer.from(rs.buffer, rs.byteOffset, rs.length).toString('hex')
  const [r, s] = [`0x${hex.slice(0, 64)}`, `0x${hex.slice(64)}`]
  transaction.signature = { r, s, yParity: recovery === 1 ? 1 : 0 }
  const raw = fromHex(transaction.serialized)
  return {
    raw,
    // Ethers' own would serialise it once more.
    hash: `0x${keccak256(raw).toString('hex')}`,
    signature: shownSignature(transaction, r, s, recovery),
  }
}

/** v: the y parity of a typed transaction, and what EIP-155 makes of it for a legacy one. */
function shownSignature({ type, chainId }: Transaction, r: string, s: string, parity: number) {
  const v = type !== 0 ? parity : chainId > 0n ? Number(chainId) * 2 + 35 + parity : 27 + parity
  return { r, s, sig: `${r}${s.slice(2)}${(27 + parity).toString(16)}`, v }
}

const fromHex = (hex: string): Buffer => Buffer.from(hex.slice(2), 'hex')
