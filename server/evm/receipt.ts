import type { Receipt } from '../core/decide.ts'

/** As nodes answer eth_getTransactionReceipt. */
export interface RawReceipt {
  transactionHash: string
  blockNumber: string | null
  blockHash: string
  status?: string
  gasUsed?: string
  effectiveGasPrice?: string
  l1Fee?: string
  contractAddress?: string | null
  logs?: unknown[]
}

/** No coin has so many units: the node does not know the fee. */
const max_fee = 2n ** 128n

/** Before Byzantium receipts had no status; no chain that this service sends to is that old. */
export function readReceipt(receipt: RawReceipt | null): Receipt | undefined {
  const block_number = safeNumberOf(receipt?.blockNumber)
  // Without a block or its hash it is the receipt of a transaction in the pool, or none.
  if (!receipt || block_number === undefined || !isWord(receipt.blockHash) || !isWord(receipt.transactionHash)) {
    return undefined
  }
  const gas_used = safeNumberOf(receipt.gasUsed)
  return {
    hash: receipt.transactionHash,
    block_number,
    block_hash: receipt.blockHash,
    succeeded: receipt.status !== '0x0',
    ...(gas_used !== undefined && { gas_used, ...feeOf(receipt, gas_used) }),
    ...(isAddress(receipt.contractAddress) && { contract_address: receipt.contractAddress.toLowerCase() }),
    ...(Array.isArray(receipt.logs) && { logs_count: receipt.logs.length }),
  }
}

function feeOf(
  { effectiveGasPrice, l1Fee }: RawReceipt,
  gas_used: number,
): Pick<Receipt, 'fee' | 'effective_gas_price' | 'l1_fee'> {
  if (!isHex(effectiveGasPrice)) return {}
  const effective_gas_price = BigInt(effectiveGasPrice)
  const l1_fee = isHex(l1Fee) ? BigInt(l1Fee) : undefined
  const fee = BigInt(gas_used) * effective_gas_price + (l1_fee ?? 0n)
  if (fee > max_fee) return {}
  return { fee, effective_gas_price, ...(l1_fee !== undefined && { l1_fee }) }
}

/** A block number or an amount of gas; undefined for anything else. */
export function safeNumberOf(answer: unknown): number | undefined {
  const number = isHex(answer) ? Number(answer) : Number.NaN
  return Number.isSafeInteger(number) ? number : undefined
}

export const isHex = (answer: unknown): answer is string =>
  typeof answer === 'string' && /^0x[0-9a-f]{1,64}$/i.test(answer)

const isWord = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-f]{64}$/i.test(text)

const isAddress = (text: unknown): text is string => typeof text === 'string' && /^0x[0-9a-f]{40}$/i.test(text)
