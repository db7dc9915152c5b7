import { keccak256, Transaction, toUtf8Bytes } from 'ethers'
import type { Anvil } from '../support/anvil.ts'
import type { Call, Liar, Outcome } from '../support/fault-proxy.ts'
import { forgedTransaction } from '../support/forged-transaction.ts'

// Nodes that lie, and nodes with narrow limits, as answers of the fault proxy.

const hex = (number: number | bigint) => `0x${number.toString(16)}`
const isSend = ({ method }: Call) => method === 'eth_sendRawTransaction'
const refusal = (message: string, code = -32_000): Outcome => ({ error: { code, message } })

/** Every count of an account is `change` of the true one. */
export const countLiar =
  (change: (count: number) => number | bigint): Liar =>
  async ({ method }, honest) => {
    if (method !== 'eth_getTransactionCount') return undefined
    return { result: hex(change(Number((await honest()).result))) }
  }

const forgedNonces = 200

/**
 * Denies all receipts, and lists forged transactions at the account's nonces in each block. A service that believes that another
 * transaction used a nonce signs the same payment again.
 */
export const thief =
  (address: string): Liar =>
  async (call, honest) => {
    if (call.method === 'eth_getTransactionReceipt' || call.method === 'eth_getTransactionByHash')
      return { result: null }
    if (call.method !== 'eth_getBlockByNumber' || call.params?.[1] !== true) return undefined
    const { result } = await honest()
    const block = result as { number: string; transactions: unknown[] } | null
    if (!block) return { result }
    const forged = Array.from({ length: forgedNonces }, (_, nonce) =>
      forgedTransaction(address, nonce, keccak256(toUtf8Bytes(`forged ${nonce}`))),
    )
    return { result: { ...block, transactions: forged } }
  }

/** Refuses all signed bytes with these words. */
export const refusing =
  (message: string, code?: number): Liar =>
  (call) =>
    isSend(call) ? refusal(message, code) : undefined

/** The cap on fees that geth has by default: price times gas limit above one ether is refused. */
export const feeCapped: Liar = (call) => {
  if (!isSend(call)) return undefined
  const { maxFeePerGas, gasPrice, gasLimit } = Transaction.from(`${call.params?.[0]}`)
  const fee = (maxFeePerGas ?? gasPrice ?? 0n) * gasLimit
  return fee > 10n ** 18n ? refusal(`tx fee (${fee} wei) exceeds the configured cap (1.00 ether)`) : undefined
}

/** Knows the state of accounts at the newest blocks only, as a node without an archive. */
export const withoutHistory =
  (chain: Anvil, blocks: number): Liar =>
  async ({ method, params = [] }) => {
    if (method !== 'eth_getTransactionCount' && method !== 'eth_getBalance') return undefined
    if (!/^0x/.test(`${params[1]}`)) return undefined
    const head = Number(await chain.rpc<string>('eth_blockNumber'))
    return Number(params[1]) < head - blocks ? refusal('missing trie node') : undefined
  }

/** Holds no more transactions of an account, as geth by default. */
export const holding =
  (chain: Anvil, address: string, slots: number): Liar =>
  async (call) => {
    if (!isSend(call)) return undefined
    const count = (tag: string) => chain.rpc<string>('eth_getTransactionCount', [address, tag])
    const latest = Number(await count('latest'))
    const { nonce } = Transaction.from(`${call.params?.[0]}`)
    return nonce >= latest + slots ? refusal('account limit exceeded: pool limit is reached') : undefined
  }

/** Answers a method with something that is no answer to it. */
export const answering =
  (method: string, result: unknown): Liar =>
  (call) =>
    call.method === method ? { result } : undefined

/** Multiplies every price from which the service reads the market. */
export const priceLiar =
  (times: bigint): Liar =>
  async ({ method }, honest) => {
    const raised = (wei: unknown) => hex(BigInt(`${wei}`) * times)
    if (method === 'eth_gasPrice' || method === 'eth_maxPriorityFeePerGas') {
      return { result: raised((await honest()).result) }
    }
    if (method !== 'eth_feeHistory') return undefined
    const history = (await honest()).result as { baseFeePerGas: string[]; reward?: string[][] }
    const reward = history.reward?.map((row) => row.map(raised))
    return { result: { ...history, baseFeePerGas: history.baseFeePerGas.map(raised), ...(reward && { reward }) } }
  }
