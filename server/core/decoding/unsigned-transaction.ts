import type { AccessList } from '../../../generated/openapi.ts'
import { fromHex, type Sealed, sealed } from '../encoding/envelope.ts'
import { toHex } from '../hex.ts'
import { accessListIn, bytesIn, decodeRlp, listIn, numberIn, receiverIn } from './rlp.ts'

export interface UnsignedTransaction extends Sealed {
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
  const type = typeOf(bytes)
  const list = listIn(decodeRlp(type === 0 ? bytes : bytes.subarray(1)), fieldCounts[type])
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
  const gas_price = prices.at(-1) as bigint
  const max_priority_fee_per_gas = type === 2 ? prices[0] : undefined
  if (max_priority_fee_per_gas !== undefined && max_priority_fee_per_gas > gas_price)
    throw new Error('max_priority_fee_per_gas exceeds max_fee_per_gas')
  return {
    type,
    chain_id,
    nonce: numberIn(nonce),
    to: receiverIn(receiver),
    value: numberIn(amount),
    data: toHex(bytesIn(data)),
    gas_price,
    max_priority_fee_per_gas,
    gas_limit: numberIn(gas_limit),
    access_list: accessListIn(access),
    ...sealed(type, chain_id, fields),
  }
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
