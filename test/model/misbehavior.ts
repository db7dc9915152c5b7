import { forgedTransaction } from '../support/forged-transaction.ts'
import { type ChainModel, hashOf } from './chain.ts'
import { type Answer, answerHonestly, type Call, hex } from './node.ts'

/** How a node may misbehave. Absent parts: as an honest node. `turn`: the number of the call, of all nodes. */
export interface Misbehavior {
  /** What happens to the whole HTTP request. */
  request?: 'unreachable' | 'hang' | 'http_500' | 'no_batches' | 'body_limit'
  /** The answer to one call, in the place of the honest one. `honest` asks the chain, and acts on it. */
  answer?(
    call: Call,
    honest: (call?: Call) => Answer,
    world: { chain: ChainModel; address: string; turn: number },
  ): Answer | undefined
}

const result = (value: unknown): Answer => ({ result: value })
const error = (message: string, code = -32_000): Answer => ({ error: { code, message } })

const isSend = ({ method }: Call) => method === 'eth_sendRawTransaction'
/** The node acts on it, and the caller hears something else. */
const masking = (message: string): Misbehavior => ({
  answer(call, honest) {
    if (!isSend(call)) return undefined
    honest()
    return error(message)
  },
})
const refusing = (message: string, code?: number): Misbehavior => ({
  answer: (call) => (isSend(call) ? error(message, code) : undefined),
})

const lagBlocks = 3

/** Trouble that honest nodes have too; it may strike every node at once. */
export const troubles = {
  unreachable: { request: 'unreachable' },
  hang: { request: 'hang' },
  http_500: { request: 'http_500' },
  no_batches: { request: 'no_batches' },
  body_limit: { request: 'body_limit' },
  limit_exceeded: { answer: () => error('limit exceeded', -32_005) },
  internal_error: { answer: () => error('internal error', -32_603) },
  null_results: { answer: () => result(null) },
  sends_fail: refusing('internal error', -32_603),
  sends_time_out: masking('request timed out'),
  pool_full: refusing('txpool is full'),
  underpriced: refusing('transaction underpriced'),
  fee_cap: refusing('tx fee (2.10 ether) exceeds the configured cap (1.00 ether)'),
  forgets: {
    answer: (call) => (isSend(call) ? result(hashOf(`${call.params[0]}`)) : undefined),
  },
  lags: { answer: (call, honest, { chain }) => (isSend(call) ? honest() : answerHonestly(behind(chain), call)) },
  // One URL over several nodes: each call reaches another one, and every third lags.
  balancer: {
    answer: (call, honest, { chain, turn }) =>
      isSend(call) || turn % 3 > 0 ? honest() : answerHonestly(behind(chain), call),
  },
  // The index of receipts is behind for hours, and blocks and counts are right.
  late_receipts: { answer: ({ method }) => (method === 'eth_getTransactionReceipt' ? result(null) : undefined) },
  no_fee_history: { answer: ({ method }) => (method === 'eth_feeHistory' ? result(null) : undefined) },
  bad_fee_history: {
    answer: ({ method }) => (method === 'eth_feeHistory' ? result({ baseFeePerGas: 'x', reward: {} }) : undefined),
  },
  no_history: {
    // A node without archive state: it knows the accounts of the newest blocks only.
    answer({ method, params }, _honest, { chain }) {
      if (method !== 'eth_getTransactionCount' || !/^0x/.test(`${params[1]}`)) return undefined
      return Number(params[1]) < chain.head().number - 2 ? error('missing trie node') : undefined
    },
  },
} satisfies Record<string, Misbehavior>

/** Of the private relay. */
export const relayTroubles = {
  unreachable: { request: 'unreachable' },
  sends_fail: refusing('internal error', -32_603),
  // It says that it has the bytes, and has dropped them.
  drops: { answer: (call) => (isSend(call) ? result(hashOf(`${call.params[0]}`)) : undefined) },
} satisfies Record<string, Misbehavior>

/** Wrong statements about the chain or the account. Only a minority of the nodes may lie, or the only one. */
export const lies = {
  wrong_chain: { answer: ({ method }) => (method === 'eth_chainId' ? result('0x1') : undefined) },
  count_ahead_by_one: count((nonce) => nonce + 1n),
  count_ahead_by_3000: count((nonce) => nonce + 3_000n),
  count_of_2_to_the_53: count(() => 2n ** 53n),
  count_behind: count((nonce) => (nonce > 0n ? nonce - 1n : 0n)),
  count_zero: count(() => 0n),
  forged_listing: { answer: forgedListing },
  // The attacker of the payment that was signed eight times: its nonce is used, by something that nobody signed.
  thief: {
    answer(call, honest, world) {
      const { method } = call
      if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') return result(null)
      return forgedListing(call, honest, world)
    },
  },
  thief_that_counts_ahead: {
    answer(call, honest, world) {
      const { method } = call
      if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') return result(null)
      return forgedListing(call, honest, world) ?? count((nonce) => nonce + 1n).answer?.(call, honest, world)
    },
  },
  nonce_too_low: refusing('nonce too low'),
  already_known: masking('already known'),
  hopeless: refusing('exceeds block gas limit'),
  invalid_sender: refusing('invalid sender'),
  replacement_underpriced: refusing('replacement transaction underpriced'),
  other_hashes: {
    answer({ method }, honest) {
      if (method !== 'eth_getBlockByNumber') return undefined
      const answer = honest()
      const block = 'result' in answer ? (answer.result as { number: string } | null) : null
      return block ? result({ ...block, hash: hashOf(`other ${block.number}`) }) : answer
    },
  },
  knows_nothing: { answer: ({ method }) => (method === 'eth_getTransactionByHash' ? result(null) : undefined) },
  no_balance: { answer: ({ method }) => (method === 'eth_getBalance' ? result('0x0') : undefined) },
} satisfies Record<string, Misbehavior>

/** Wrong prices: only policies limit the fees then. */
export const priceLies = {
  price_x1000: prices((wei) => wei * 1_000n),
  price_of_one: prices(() => 1n),
  huge_price: prices(() => 2n ** 200n),
} satisfies Record<string, Misbehavior>

export type Trouble = keyof typeof troubles
export type Lie = keyof typeof lies
export type PriceLie = keyof typeof priceLies

function count(change: (nonce: bigint) => bigint): Misbehavior {
  return {
    answer({ method }, honest) {
      if (method !== 'eth_getTransactionCount') return undefined
      const answer = honest()
      return 'result' in answer ? result(hex(change(BigInt(`${answer.result}`)))) : answer
    },
  }
}

/** Each block lists a transaction of the account at each of its next nonces, which nobody signed. */
function forgedListing(call: Call, honest: () => Answer, { address }: { address: string }): Answer | undefined {
  if (call.method !== 'eth_getBlockByNumber' || call.params[1] !== true) return undefined
  const answer = honest()
  const block = 'result' in answer ? (answer.result as { number: string; transactions: unknown[] } | null) : null
  if (!block) return answer
  const forged = Array.from({ length: 20 }, (_, nonce) =>
    forgedTransaction(address, nonce, hashOf(`forged ${nonce} ${block.number}`)),
  )
  return result({ ...block, transactions: forged })
}

function prices(change: (wei: bigint) => bigint): Misbehavior {
  const changed = (wei: string) => hex(change(BigInt(wei)))
  return {
    answer({ method }, honest) {
      if (!['eth_feeHistory', 'eth_gasPrice', 'eth_maxPriorityFeePerGas'].includes(method)) return undefined
      const answer = honest()
      if (!('result' in answer)) return answer
      if (method !== 'eth_feeHistory') return result(changed(`${answer.result}`))
      const history = answer.result as { baseFeePerGas: string[]; reward: string[][] }
      const reward = history.reward.map((row) => row.map(changed))
      return result({ ...history, baseFeePerGas: history.baseFeePerGas.map(changed), reward })
    },
  }
}

/** The chain as a node sees it that has not heard of the last blocks yet. */
function behind(chain: ChainModel): ChainModel {
  const blocks = chain.blocks().slice(0, Math.max(1, chain.blocks().length - lagBlocks))
  const head = () => blocks.at(-1) as ReturnType<ChainModel['head']>
  return {
    ...chain,
    blocks: () => blocks,
    head,
    stateOf: (address, block = head()) => chain.stateOf(address, block),
    find(hash) {
      const found = chain.find(hash)
      return found?.block && found.block.number > head().number ? undefined : found
    },
  }
}
