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

const fixedMethods: ReadonlySet<string> = new Set([
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
const blockMethods: ReadonlySet<string> = new Set(['eth_getBlockByNumber', 'eth_getBlockByHash'])

const isHeader = ({ method, params }: RpcCall): boolean => blockMethods.has(method) && params[1] !== true

/** Whether only a faulty node exceeds the limit. The size of other answers depends on contracts and on what the caller asked for. */
export const isNodesFault = (call: RpcCall): boolean => fixedMethods.has(call.method) || isHeader(call)

/** The limits of the answer to one request, which may be a batch. A batch gets at most what one large answer may have. */
export function limitsOf(calls: RpcCall[], audience: Audience): AnswerLimits {
  const most = large[audience]
  const limits = { max_bytes: 0, max_values: 0 }
  for (const call of calls) {
    const its = fixedMethods.has(call.method) ? fixed : isHeader(call) ? header : most
    limits.max_bytes = Math.min(limits.max_bytes + its.max_bytes, most.max_bytes)
    limits.max_values = Math.min(limits.max_values + its.max_values, most.max_values)
  }
  return limits
}

/** A node's answer exceeds the limits. The message completes "The answer ...". */
export class AnswerTooLarge extends Error {}

/** Functions that walk an answer recurse. */
const maxDepth = 100
const [quote, backslash, comma, openArray, openObject, closeArray, closeObject] = Array.from('"\\,[{]}', (character) =>
  character.charCodeAt(0),
)

/**
 * Counts bytes, values and depth of a JSON text as it arrives, by the characters that begin and separate values: 2 ms per MiB. Throws
 * AnswerTooLarge. UTF-8 uses these characters for nothing else.
 */
export class AnswerCounter {
  readonly #limits: AnswerLimits
  #bytes = 0
  #values = 1
  #depth = 0
  #isText = false
  #isEscaped = false

  constructor(limits: AnswerLimits) {
    this.#limits = limits
  }

  count(chunk: Uint8Array): void {
    const { max_bytes, max_values } = this.#limits
    this.#bytes += chunk.length
    if (this.#bytes > max_bytes) throw new AnswerTooLarge(`is larger than ${inUnits(max_bytes)}`)
    let [values, depth, isText, isEscaped] = [this.#values, this.#depth, this.#isText, this.#isEscaped]
    for (const character of chunk) {
      if (isEscaped) isEscaped = false
      else if (isText) {
        if (character === quote) isText = false
        else if (character === backslash) isEscaped = true
      } else if (character === quote) isText = true
      else if (character === comma) values += 1
      else if (character === openArray || character === openObject) {
        values += 1
        depth += 1
        if (depth > maxDepth) throw new AnswerTooLarge(`is nested more than ${maxDepth} levels deep`)
      } else if (character === closeArray || character === closeObject) depth -= 1
    }
    if (values > max_values) throw new AnswerTooLarge(`has more than ${max_values} values`)
    this.#values = values
    this.#depth = depth
    this.#isText = isText
    this.#isEscaped = isEscaped
  }
}

const inUnits = (bytes: number): string => (bytes >= 1024 * 1024 ? `${bytes / 1024 / 1024} MiB` : `${bytes / 1024} KiB`)

/** `bytes`: by `sizeOf`. */
type Sized = RpcCall & { bytes: number }

/**
 * How many calls from the head of the queue go into the next request. `isWhole`: the queue is complete for this turn of the event
 * loop. Keeps transactions that are sent together in one batch: of two concurrent batches, the one with later nonces may arrive first, and
 * some nodes refuse it.
 */
export function batchSize(queue: Sized[], isWhole: boolean, maxBatch: number, maxBytes: number): number {
  const end = fittingBytes(queue, Math.min(queue.length, maxBatch), maxBytes)
  const next = queue[end]
  const mayCut = next ? isSending(next) : !isWhole
  let start = end
  while (mayCut && isSending(queue[start - 1])) start -= 1
  return start > 0 ? start : end
}

/** The number of calls from the head of the queue that fit in one request; at least one. */
function fittingBytes(queue: Sized[], most: number, maxBytes: number): number {
  let bytes = 0
  for (let count = 0; count < most; count += 1) {
    bytes += queue[count]?.bytes ?? 0
    if (bytes > maxBytes) return Math.max(count, 1)
  }
  return most
}

const envelopeBytes = 100

/** The approximate size of a call in JSON. */
export const sizeOf = (params: unknown[]): number =>
  params
    .flatMap((param) => (typeof param === 'object' && param !== null ? Object.values(param) : [param]))
    .reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 20), envelopeBytes)

export const sendingMethod = 'eth_sendRawTransaction'

export const isSending = (call: RpcCall | undefined): boolean => call?.method === sendingMethod
