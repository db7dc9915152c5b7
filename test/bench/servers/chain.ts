import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { keccak256 } from 'ethers/crypto'
import { listen } from './listen.ts'

// A chain that answers at once: it takes every transaction, has it mined in the next block, and a block is made each second.

interface Call {
  id: number
  method: string
  params: unknown[]
}

const blockMs = 1_000
const ether = 10n ** 18n

/** Hash to height. */
const mined = new Map<string, number>()
let waiting: string[] = []
let height = 1
/** One account sends. */
let nonce = 0

setInterval(() => {
  height += 1
  for (const hash of waiting) mined.set(hash, height)
  nonce += waiting.length
  waiting = []
}, blockMs).unref()

const hex = (value: number | bigint) => `0x${value.toString(16)}`
const blockHash = (number: number) => `0x${number.toString(16).padStart(64, '0')}`

const methods: Record<string, (params: unknown[]) => unknown> = {
  eth_chainId: () => hex(31_337),
  net_version: () => '31337',
  eth_blockNumber: () => hex(height),
  eth_getBalance: () => hex(1_000_000n * ether),
  eth_getTransactionCount: () => hex(nonce),
  eth_gasPrice: () => hex(2_000_000_000),
  eth_maxPriorityFeePerGas: () => hex(1_000_000_000),
  eth_feeHistory: () => ({ oldestBlock: hex(height), baseFeePerGas: [hex(7), hex(7)], gasUsedRatio: [0], reward: [] }),
  eth_estimateGas: () => hex(21_000),
  eth_getBlockByNumber: ([at]) => {
    const number = typeof at === 'string' && at.startsWith('0x') ? Number(at) : height
    if (number > height) return null
    return { number: hex(number), hash: blockHash(number), parentHash: blockHash(number - 1), transactions: [] }
  },
  eth_sendRawTransaction: ([raw]) => {
    const hash = keccak256(raw as string)
    if (!mined.has(hash)) waiting.push(hash)
    return hash
  },
  eth_getTransactionReceipt: ([hash]) => {
    const number = mined.get(hash as string)
    return number === undefined
      ? null
      : { transactionHash: hash, blockNumber: hex(number), blockHash: blockHash(number), status: '0x1' }
  },
  eth_getTransactionByHash: ([hash]) => (mined.has(hash as string) ? { hash } : null),
}

const answer = ({ id, method, params }: Call) => {
  const call = methods[method]
  return call
    ? { jsonrpc: '2.0', id, result: call(params) }
    : { jsonrpc: '2.0', id, error: { code: -32_601, message: `the method ${method} does not exist` } }
}

const server = createServer(async (request, response) => {
  const calls: Call | Call[] = JSON.parse(await text(request))
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)))
})
await listen(server)
