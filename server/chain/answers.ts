import type { Receipt } from '../domain/decide.ts'
import { feeParts } from '../domain/encoding/contract-data.ts'
import { percentileOf } from '../domain/fees.ts'
import {
  Malformed,
  optional,
  readAddress,
  readBytes,
  readHash,
  readHeight,
  readInteger,
  readObject,
  readQuantity,
  readStatus,
} from './rpc-answer.ts'

/** What the calls that the service makes are answered with, by value. */
export interface Answers {
  eth_call: Buffer
  /** When the newest fork was, and when the next one is planned (EIP-7910), in seconds since the Unix epoch. */
  eth_config: number[]
  eth_estimateGas: number
  /** Null: the node keeps no history. */
  eth_feeHistory: FeeHistory | null
  eth_gasPrice: bigint
  eth_getBalance: bigint
  /** Null: the node has no block of this number. */
  eth_getBlockByNumber: Block | null
  eth_getCode: Buffer
  eth_getLogs: Log[]
  /** The hash of the transaction; null: the node has none. */
  eth_getTransactionByHash: string | null
  eth_getTransactionBySenderAndNonce: string | null
  eth_getTransactionCount: number
  /** Null: the transaction is in no block that the node has. */
  eth_getTransactionReceipt: Receipt | null
  eth_maxPriorityFeePerGas: bigint
  /** The hash of the transaction. */
  eth_sendRawTransaction: string
  /** The hashes of an account's transactions in the pool, by nonce. */
  txpool_contentFrom: Map<number, string>
}

export type Method = keyof Answers

/** An event in a block. */
interface Log {
  hash: string
  block_hash: string
  block_number: number
  index: number
  data: Buffer
}

interface FeeHistory {
  /** The base fee of the next block; 0 on a chain without one. */
  base_fee: bigint
  /** The tips of the blocks that were not empty, one column per tier. */
  rewards: bigint[][]
}

export interface Block {
  number: number
  hash: string
  parent_hash: string
  /** Its time, in milliseconds since the Unix epoch; undefined: the node does not tell it. */
  at_ms: number | undefined
  gas_limit: number | undefined
  base_fee: bigint | undefined
  /** Undefined: only their hashes were asked for. */
  transactions: ListedTransaction[] | undefined
}

/** The signed members of a transaction object from eth_getBlockByNumber. Quantities are hex. */
export interface ListedTransaction {
  hash: string
  from?: string
  type?: string
  chainId?: string
  nonce: string
  to: string | null
  value: string
  input: string
  gas: string
  gasPrice?: string
  maxFeePerGas?: string
  maxPriorityFeePerGas?: string
  maxFeePerBlobGas?: string
  blobVersionedHashes?: string[]
  accessList?: { address: string; storageKeys: string[] }[]
  authorizationList?: { chainId: string; address: string; nonce: string; r: string; s: string; yParity: string }[]
  r: string
  s: string
  v: string
}

/** No account has sent this many transactions, so a larger count is refused. EIP-2681 allows nonces up to 2^64 - 2. */
const maxNonce = 2 ** 48
/** The highest accepted price, in wei per unit of gas. No chain comes near it. A multiple of a higher price could exceed 256 bits. */
const maxPrice = 2n ** 96n
/** No coin has so many units: the node does not know the fee. */
const maxFee = 2n ** 128n

type Decoders = { [Name in Method]: (result: unknown, params: unknown[]) => Answers[Name] }

/** The only place that reads what nodes answer to the service. Each throws Malformed for an answer that says nothing. */
export const decoders: Decoders = {
  eth_call: (result) => readBytes(result, 'result'),
  eth_config: (result) => {
    const { current, next } = readObject(result, 'result')
    const times = [next, current].map((fork) => optional(readObject, fork, 'fork')?.activationTime)
    return times.flatMap((time) => optional(readInteger, time, 'activationTime') ?? [])
  },
  eth_estimateGas: (result) => positive(readInteger(result, 'result')),
  eth_feeHistory: (result) => (result === null ? null : readHistory(result)),
  eth_gasPrice: (result) => readPrice(result, 'result'),
  eth_getBalance: (result) => readQuantity(result, 'result'),
  eth_getBlockByNumber: (result, [number]) => {
    // Every chain has a newest block.
    if (result === null && number !== 'latest') return null
    return readBlock(result)
  },
  eth_getCode: (result) => readBytes(result, 'result'),
  eth_getLogs: (result) => {
    if (!Array.isArray(result)) throw new Malformed('result is no list')
    return result.map(readLog)
  },
  eth_getTransactionByHash: readTransactionHash,
  eth_getTransactionBySenderAndNonce: readTransactionHash,
  eth_getTransactionCount: (result) => {
    const count = readInteger(result, 'result')
    if (count > maxNonce) throw new Malformed('result is more than any account has sent')
    return count
  },
  eth_getTransactionReceipt: (result, [hash]) => (result === null ? null : readReceipt(result, `${hash}`)),
  eth_maxPriorityFeePerGas: (result) => readPrice(result, 'result'),
  eth_sendRawTransaction: (result) => readHash(result, 'result'),
  txpool_contentFrom: (result) => {
    const { pending, queued } = readObject(result, 'result')
    const entries = [queued, pending].flatMap((part) => Object.entries(optional(readObject, part, 'result') ?? {}))
    return new Map(
      entries.flatMap(([nonce, transaction]) => {
        const hash = optional(readHash, optional(readObject, transaction, nonce)?.hash, 'hash')
        return hash === undefined ? [] : [[Number(nonce), hash]]
      }),
    )
  },
}

function readLog(value: unknown): Log {
  const { transactionHash, blockHash, blockNumber, logIndex, data } = readObject(value, 'log')
  return {
    hash: readHash(transactionHash, 'transactionHash'),
    block_hash: readHash(blockHash, 'blockHash'),
    block_number: readHeight(blockNumber, 'blockNumber'),
    index: readInteger(logIndex, 'logIndex'),
    data: readBytes(data, 'data'),
  }
}

function readTransactionHash(result: unknown): string | null {
  return result === null ? null : readHash(readObject(result, 'result').hash, 'hash')
}

/** The whole transaction of `eth_getTransactionByHash`; null: the node has none. */
export const decodeTransaction = (result: unknown): ListedTransaction | null =>
  result === null ? null : readListed(result)

function positive(number: number): number {
  if (number === 0) throw new Malformed('result is 0, and no transaction runs with that')
  return number
}

function readPrice(value: unknown, name: string): bigint {
  const price = readQuantity(value, name)
  if (price > maxPrice) throw new Malformed(`${name} is higher than the price of any chain`)
  return price
}

function readHistory(result: unknown): FeeHistory {
  const { baseFeePerGas, gasUsedRatio, reward } = readObject(result, 'result')
  const baseFee = readPrice(Array.isArray(baseFeePerGas) ? baseFeePerGas.at(-1) : undefined, 'baseFeePerGas')
  const used: unknown[] = Array.isArray(gasUsedRatio) ? gasUsedRatio : []
  const rows: unknown[] = Array.isArray(reward) ? reward : []
  // A row that says nothing is skipped, and an empty block has no tips.
  const rewards = rows.flatMap((row, index) => {
    if (!Array.isArray(row) || !(Number(used[index]) > 0)) return []
    const prices = row.map((price) => optional(readPrice, price, 'reward')).filter((price) => price !== undefined)
    return prices.length === tiers ? [prices] : []
  })
  return { base_fee: baseFee, rewards }
}

const tiers = Object.keys(percentileOf).length

function readBlock(result: unknown): Block {
  const block = readObject(result, 'result')
  const atS = optional(readInteger, block.timestamp, 'timestamp')
  const { transactions } = block
  const listed = Array.isArray(transactions) && typeof transactions[0] === 'object' ? transactions : undefined
  return {
    number: readHeight(block.number, 'number'),
    hash: readHash(block.hash, 'hash'),
    parent_hash: readHash(block.parentHash, 'parentHash'),
    at_ms: atS === undefined ? undefined : atS * 1_000,
    gas_limit: optional(readInteger, block.gasLimit, 'gasLimit') || undefined,
    base_fee: optional(readPrice, block.baseFeePerGas, 'baseFeePerGas'),
    transactions: listed?.flatMap((one) => optional(readListed, one, 'transaction') ?? []),
  }
}

const quantities = [
  ...(['type', 'chainId', 'nonce', 'value', 'gas', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const),
  ...(['maxFeePerBlobGas', 'r', 's', 'v'] as const),
]

/** Its signature proves it or not, so only what a search compares has to be there. */
function readListed(value: unknown): ListedTransaction {
  const transaction = readObject(value, 'transaction')
  const from = optional(readAddress, transaction.from, 'from')
  const read = quantities.flatMap((name) => {
    const number = optional(readQuantity, transaction[name], name)
    return number === undefined ? [] : [[name, `0x${number.toString(16)}`]]
  })
  return {
    ...(transaction as unknown as ListedTransaction),
    ...Object.fromEntries(read),
    ...{ hash: readHash(transaction.hash, 'hash'), nonce: `0x${readInteger(transaction.nonce, 'nonce').toString(16)}` },
    ...(from !== undefined && { from }),
  }
}

/**
 * Null without a block: it is the receipt of a transaction in the pool. Before Byzantium receipts had no status; no chain that this service
 * sends to is that old, so one without a status proves nothing.
 */
function readReceipt(result: unknown, asked: string): Receipt | null {
  const receipt = readObject(result, 'result')
  if (receipt.blockNumber === null || receipt.blockNumber === undefined) return null
  const hash = readHash(receipt.transactionHash, 'transactionHash')
  if (hash !== asked.toLowerCase()) throw new Malformed(`transactionHash is ${hash}, of another transaction`)
  const gasUsed = optional(readHeight, receipt.gasUsed, 'gasUsed')
  const contractAddress = optional(readAddress, receipt.contractAddress, 'contractAddress')
  return {
    hash,
    block_number: readHeight(receipt.blockNumber, 'blockNumber'),
    block_hash: readHash(receipt.blockHash, 'blockHash'),
    succeeded: readStatus(receipt.status, 'status'),
    ...(gasUsed !== undefined && { gas_used: gasUsed, ...feeOf(receipt, gasUsed) }),
    ...(contractAddress !== undefined && { contract_address: contractAddress }),
    ...(Array.isArray(receipt.logs) && readLogs(receipt.logs)),
  }
}

/** keccak-256 of ExecutedForwardRequest(address,uint256,bool), by which an ERC-2771 forwarder tells what became of a call. */
const executedForwardRequest = '0x842fb24a83793558587a3dab2be7674da4a51d09c5542d6dd354e5d0ea70813c'

function readLogs(logs: unknown[]): Pick<Receipt, 'logs_count' | 'forwarded'> {
  const forwarded = logs.flatMap((log) => {
    const { address, topics, data } = (log ?? {}) as { address?: unknown; topics?: unknown; data?: unknown }
    const [name, signer] = Array.isArray(topics) ? topics : []
    if (`${name}`.toLowerCase() !== executedForwardRequest) return []
    const [forwarder, word] = [readAddress(address, 'address'), readHash(signer, 'topic')]
    // The nonce of the forwarder comes first.
    const succeeded = readBytes(data, 'data')
      .subarray(32)
      .some((byte) => byte !== 0)
    return { forwarder, signer: `0x${word.slice(26)}`, succeeded }
  })
  return { logs_count: logs.length, ...(forwarded.length > 0 && { forwarded }) }
}

function feeOf(
  receipt: Record<string, unknown>,
  gasUsed: number,
): Pick<Receipt, 'fee' | 'effective_gas_price' | 'l1_fee' | 'lacks_fee_parts'> {
  const read = (name: string) => optional(readQuantity, receipt[name], name)
  const effectiveGasPrice = read('effectiveGasPrice')
  if (effectiveGasPrice === undefined) return {}
  const l1Fee = read('l1Fee')
  const told = feeParts.reduce((sum, { amount }) => sum + ((amount && read(amount)) || 0n), 0n)
  const fee = BigInt(gasUsed) * effectiveGasPrice + told
  if (fee > maxFee) return {}
  const isLacking = feeParts.some(({ factors = [] }) => factors.some((name) => (read(name) ?? 0n) > 0n))
  return {
    ...{ fee, effective_gas_price: effectiveGasPrice, ...(l1Fee !== undefined && { l1_fee: l1Fee }) },
    ...(isLacking && { lacks_fee_parts: true }),
  }
}
