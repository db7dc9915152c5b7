export interface RpcCall {
  method: string
  params: unknown[]
  /** Reads the result, or throws Malformed; absent: it is passed on as it is, to who asked. */
  decode?: (result: unknown, params: unknown[]) => unknown
}

/** The most that a node may answer. A counter reads the bytes as they arrive, so nothing larger is kept or parsed. */
export interface AnswerLimits {
  max_bytes: number
  /** Elements of arrays and members of objects, and the arrays and objects themselves. */
  max_values: number
}

/** `callers`: calls that callers of the API ask for. `service`: the calls of the service itself. */
export type Audience = 'service' | 'callers'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

/** A number, a hash or a short list: its size does not depend on the chain's contracts. */
const fixed = { max_bytes: 64 * kibibyte, max_values: 1_000 }
/** A block with the hashes of its transactions. */
const header = { max_bytes: 2 * mebibyte, max_values: 25_000 }
/** To parse and to write 100,000 values takes up to 50 ms; logs fill 4 MiB with fewer. */
const large = {
  callers: { max_bytes: 4 * mebibyte, max_values: 100_000 },
  // The logs of a receipt and the transactions of a block, whose size the gas limit of a block bounds.
  service: { max_bytes: 16 * mebibyte, max_values: 100_000 },
}

const fixed_methods: ReadonlySet<string> = new Set([
  'eth_blockNumber',
  'eth_chainId',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_blobBaseFee',
  'eth_getBalance',
  'eth_getStorageAt',
  'eth_getTransactionCount',
  'eth_maxPriorityFeePerGas',
  'eth_sendPrivateTransaction',
  'eth_sendRawTransaction',
  'eth_syncing',
  'net_version',
])
const block_methods: ReadonlySet<string> = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash'])

const isHeader = ({ method, params }: RpcCall): boolean => block_methods.has(method) && params[1] !== true

/** Whether only a faulty node exceeds the limit. The size of other answers depends on contracts and on what the caller asked for. */
export const isNodesFault = (call: RpcCall): boolean => fixed_methods.has(call.method) || isHeader(call)

/** The limits of the answer to one request, which may be a batch. A batch gets at most what one large answer may have. */
export function limitsOf(calls: RpcCall[], audience: Audience): AnswerLimits {
  const most = large[audience]
  const limits = { max_bytes: 0, max_values: 0 }
  for (const call of calls) {
    const its = fixed_methods.has(call.method) ? fixed : isHeader(call) ? header : most
    limits.max_bytes = Math.min(limits.max_bytes + its.max_bytes, most.max_bytes)
    limits.max_values = Math.min(limits.max_values + its.max_values, most.max_values)
  }
  return limits
}
