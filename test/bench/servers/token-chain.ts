import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { keccak256 } from 'ethers/crypto'
import { Transaction } from 'ethers/transaction'
import { typedDataDigest } from '../../../server/domain/encoding/digest.ts'
import { hashTypedData } from '../../../server/domain/encoding/typed-data.ts'
import { authorizationTypes } from '../../../server/domain/payments.ts'
import { addressOf, curve } from '../../../server/keys/secp256k1.ts'
import { listen } from './listen.ts'

// A chain with one contract, a token of EIP-3009, which it executes: it keeps nonces, coins, balances of the token and used authorizations, takes
// a transaction by its signature only, and mines all that can run each BLOCK_MS. It answers about the state of any block. An EVM would take
// more of the two cores than the service that is measured.

const blockMs = Number(process.env.BLOCK_MS ?? 500)
export const token = `0x${'70'.repeat(20)}`
export const chainId = 31_337
const domain = { name: 'USD Coin', version: '2', chainId, verifyingContract: token }
const gas = 78_000
const gasPrice = 1_000_000_000n
const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

interface Sent {
  hash: string
  from: string
  nonce: number
  to: string | null
  data: string
  fee: bigint
}
interface Log {
  address: string
  topics: string[]
  data: string
  blockNumber: string
  blockHash: string
  transactionHash: string
  logIndex: string
}
interface Block {
  number: string
  hash: string
  parentHash: string
  timestamp: string
  gasLimit: string
  baseFeePerGas: string
  transactions: string[]
}

const hex = (value: number | bigint) => `0x${value.toString(16)}`
const word = (value: string | number | bigint) =>
  (typeof value === 'string' ? value.slice(2) : value.toString(16)).padStart(64, '0')
const hashOf = (number: number) => `0x${(number + 2 ** 40).toString(16).padStart(64, '0')}`

const blocks: Block[] = []
const logsOf: Log[][] = []
const useOf = new Map<string, { block: number; log: Log }>()
const receipts = new Map<string, object>()
/** By account: the heights at which its transactions were mined. */
const minedAt = new Map<string, number[]>()
const spent = new Map<string, bigint>()
const balances = new Map<string, bigint>()
const pool = new Map<string, Map<number, Sent>>()

function mine(): void {
  const number = blocks.length
  const block = {
    number: hex(number),
    hash: hashOf(number),
    parentHash: number === 0 ? `0x${word(0)}` : hashOf(number - 1),
  }
  const [transactions, logs] = [[] as string[], [] as Log[]]
  for (const [from, waiting] of pool) {
    const heights = minedAt.get(from) ?? []
    minedAt.set(from, heights)
    for (let sent = waiting.get(heights.length); sent; sent = waiting.get(heights.length)) {
      waiting.delete(heights.length)
      heights.push(number)
      spent.set(from, (spent.get(from) ?? 0n) + sent.fee)
      const made = execute(sent, { number, hash: block.hash }, logs.length)
      receipts.set(sent.hash, {
        ...{ transactionHash: sent.hash, blockNumber: block.number, blockHash: block.hash, from, to: sent.to },
        ...{ status: made ? '0x1' : '0x0', gasUsed: hex(gas), effectiveGasPrice: hex(gasPrice), logs: made ?? [] },
      })
      transactions.push(sent.hash)
      logs.push(...(made ?? []))
    }
  }
  logsOf.push(logs)
  blocks.push({
    ...{ ...block, timestamp: hex(Math.floor(Date.now() / 1_000)), gasLimit: hex(1_000_000_000), transactions },
    baseFeePerGas: hex(gasPrice / 2n),
  })
}

interface Transfer {
  from: string
  to: string
  value: bigint
  nonce: string
}

/** What a call of transferWithAuthorization (v, r, s) would transfer; undefined: it reverts. */
function check(to: string | null, data: string): Transfer | undefined {
  if (to?.toLowerCase() !== token || !data.startsWith('0xe3ee160e')) return undefined
  const words = data.slice(10).match(/.{64}/g) ?? []
  const [from, payee] = words.slice(0, 2).map((one) => `0x${one.slice(24)}`) as [string, string]
  const [value, after, before, , v] = words.slice(2).map((one) => BigInt(`0x${one}`)) as [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ]
  const nonce = `0x${words[5]}`
  const now = BigInt(Math.floor(Date.now() / 1_000))
  if (now <= after || now >= before || useOf.has(`${from} ${nonce}`) || (balances.get(from) ?? 0n) < value)
    return undefined
  const message = { from, to: payee, value: `${value}`, validAfter: `${after}`, validBefore: `${before}`, nonce }
  const document = { domain, types: authorizationTypes, primaryType: 'TransferWithAuthorization', message }
  const { domain_separator, struct_hash } = hashTypedData(document)
  const rs = Buffer.from(`${words[7]}${words[8]}`, 'hex')
  const key = curve.recover(typedDataDigest(domain_separator, struct_hash), { rs, recovery: Number(v) - 27 })
  return key && addressOf(key) === from ? { from, to: payee, value, nonce } : undefined
}

function execute({ hash, to, data }: Sent, at: { number: number; hash: string }, index: number): Log[] | undefined {
  const transfer = check(to, data)
  if (!transfer) return undefined
  const { from, to: payee, value, nonce } = transfer
  balances.set(from, (balances.get(from) ?? 0n) - value)
  balances.set(payee, (balances.get(payee) ?? 0n) + value)
  const place = { address: token, blockNumber: hex(at.number), blockHash: at.hash, transactionHash: hash }
  const [payer, receiver] = [`0x${word(from)}`, `0x${word(payee)}`]
  const used = { ...place, topics: [usedTopic, payer, nonce], data: '0x', logIndex: hex(index) }
  useOf.set(`${from} ${nonce}`, { block: at.number, log: used })
  return [
    used,
    { ...place, topics: [transferTopic, payer, receiver], data: `0x${word(value)}`, logIndex: hex(index + 1) },
  ]
}

class Refused extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const heightOf = (at: unknown): number =>
  typeof at === 'string' && at.startsWith('0x') ? Number(at) : blocks.length - 1

function send(raw: string): string {
  const { to, data, nonce, unsignedHash, signature, gasLimit, maxFeePerGas } = Transaction.from(raw)
  if (!signature) throw new Refused(-32_000, 'invalid sender')
  const rs = Buffer.from(signature.r.slice(2) + signature.s.slice(2), 'hex')
  const key = curve.recover(Buffer.from(unsignedHash.slice(2), 'hex'), { rs, recovery: signature.yParity })
  if (!key) throw new Refused(-32_000, 'invalid sender')
  const [from, hash] = [addressOf(key), keccak256(raw)]
  const count = minedAt.get(from)?.length ?? 0
  if (nonce < count) throw new Refused(-32_000, 'nonce too low')
  if ((maxFeePerGas ?? gasPrice) < gasPrice / 2n) throw new Refused(-32_000, 'transaction underpriced')
  if (gasLimit < gas) throw new Refused(-32_000, 'intrinsic gas too low')
  const waiting = pool.get(from) ?? new Map<number, Sent>()
  pool.set(from, waiting)
  const known = waiting.get(nonce)
  if (known && known.hash !== hash) throw new Refused(-32_000, 'replacement transaction underpriced')
  waiting.set(nonce, { hash, from, nonce, to, data, fee: BigInt(gas) * gasPrice })
  return hash
}

const run = ({ to, data }: { to: string; data: string }, at: unknown): string => {
  if (to.toLowerCase() !== token) return '0x'
  const words = data.slice(10).match(/.{64}/g) ?? []
  const owner = `0x${words[0]?.slice(24)}`
  if (data.startsWith('0xe94a0102')) {
    const use = useOf.get(`${owner} 0x${words[1]}`)
    return `0x${word(use !== undefined && use.block <= heightOf(at) ? 1 : 0)}`
  }
  if (data.startsWith('0x70a08231')) return `0x${word(balances.get(owner) ?? 0n)}`
  if (!check(to, data)) throw new Refused(3, 'execution reverted')
  return '0x'
}

interface Filter {
  topics: string[]
  blockHash?: string
  fromBlock?: string
  toBlock?: string
}

function findLogs({ topics, blockHash, fromBlock, toBlock }: Filter): Log[] {
  if (blockHash !== undefined) {
    const logs = logsOf[Number(BigInt(blockHash) - 2n ** 40n)] ?? []
    return logs.filter((log) => topics.every((topic, index) => log.topics[index] === topic))
  }
  const use = useOf.get(`0x${topics[1]?.slice(26)} ${topics[2]}`)
  return use && use.block >= heightOf(fromBlock) && use.block <= heightOf(toBlock) ? [use.log] : []
}

const methods: Record<string, (params: never) => unknown> = {
  eth_chainId: () => hex(chainId),
  net_version: () => `${chainId}`,
  eth_blockNumber: () => hex(blocks.length - 1),
  eth_getBalance: ([address]: string[]) => hex(10n ** 24n - (spent.get(address as string) ?? 0n)),
  eth_getTransactionCount: ([address, at]: string[]) => {
    const heights = minedAt.get((address as string).toLowerCase()) ?? []
    const mined = heights.filter((height) => height <= heightOf(at)).length
    const waiting = pool.get((address as string).toLowerCase())
    return hex(at === 'pending' ? mined + (waiting?.size ?? 0) : mined)
  },
  eth_getCode: ([address]: string[]) => ((address as string).toLowerCase() === token ? '0x60' : '0x'),
  eth_gasPrice: () => hex(gasPrice),
  eth_maxPriorityFeePerGas: () => hex(gasPrice / 2n),
  eth_feeHistory: () => ({
    oldestBlock: hex(blocks.length - 1),
    baseFeePerGas: [hex(gasPrice / 2n), hex(gasPrice / 2n)],
    gasUsedRatio: [0],
    reward: [],
  }),
  eth_estimateGas: ([call]: [{ to: string; data: string }]) => {
    if (!check(call.to, call.data)) throw new Refused(3, 'execution reverted')
    return hex(gas)
  },
  eth_call: ([call, at]: [{ to: string; data: string }, string]) => run(call, at),
  eth_getBlockByNumber: ([at]: string[]) => blocks[heightOf(at)] ?? null,
  eth_getLogs: ([filter]: [Filter]) => findLogs(filter),
  eth_sendRawTransaction: ([raw]: string[]) => send(raw as string),
  eth_getTransactionReceipt: ([hash]: string[]) => receipts.get(hash as string) ?? null,
  eth_getTransactionByHash: ([hash]: string[]) => (receipts.has(hash as string) ? { hash } : null),
  /** For the benchmark: gives an account units of the token. */
  token_mint: ([to, amount]: string[]) => void balances.set(to as string, BigInt(amount as string)),
  token_counts: () => Object.fromEntries(counts),
}

const counts = new Map<string, number>()

interface Call {
  id: number
  method: string
  params: unknown[]
}

function answer({ id, method, params }: Call): object {
  counts.set(method, (counts.get(method) ?? 0) + 1)
  try {
    const call = methods[method]
    if (!call) throw new Refused(-32_601, `the method ${method} does not exist`)
    return { jsonrpc: '2.0', id, result: call(params as never) ?? null }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } }
  }
}

if (import.meta.main) {
  mine()
  setInterval(mine, blockMs).unref()
  const server = createServer(async (request, response) => {
    counts.set('requests', (counts.get('requests') ?? 0) + 1)
    const calls: Call | Call[] = JSON.parse(await text(request))
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)))
  })
  await listen(server)
}
