import type { Endpoint, RpcAnswer, RpcCall } from './endpoint.ts'
import { AnswerTooLarge } from './post.ts'
import { classifyRpcError, type RpcErrorKind, type RpcErrorObject } from './rpc-error.ts'

/** A node answered with an error. `kind` is what it means, `message` what it said. */
export class RpcError extends Error {
  readonly kind: RpcErrorKind
  readonly error: RpcErrorObject

  constructor(error: RpcErrorObject) {
    super(String(error.message ?? 'The node answered with an error').slice(0, 500))
    this.name = 'RpcError'
    this.kind = classifyRpcError(error)
    this.error = error
  }
}

/** No node answered. `wrong_chain`: every one of them is on another chain. */
export class RpcUnavailable extends Error {
  readonly wrong_chain: bigint | undefined

  constructor(message: string, wrong_chain?: bigint) {
    super(message)
    this.name = 'RpcUnavailable'
    this.wrong_chain = wrong_chain
  }
}

/** Asks the nodes of a network. Throws RpcError, RpcUnavailable or, where answers are bounded, AnswerTooLarge. */
export type Rpc = (method: string, params: unknown[]) => Promise<unknown>

export interface RpcLimits {
  /** Calls in one exchange. */
  max_batch: number
  /** Exchanges in flight. */
  max_at_once: number
  /** Calls that wait for an exchange. */
  max_waiting: number
}

const default_limits: RpcLimits = { max_batch: 100, max_at_once: 4, max_waiting: 20_000 }

interface Waiting extends RpcCall {
  resolve(result: unknown): void
  reject(error: Error): void
}

/**
 * Calls go out at once while few are under way and gather into batches when many are, so that a burst costs few exchanges
 * and a lone call no delay. A node that fails is passed over for the next one; every call here may be made twice, since
 * sending the same signed bytes again changes nothing.
 */
export function createRpc(
  endpoints: Endpoint[],
  now: () => number,
  random: () => number = Math.random,
  { max_batch, max_at_once, max_waiting }: RpcLimits = default_limits,
): Rpc {
  const queue: Waiting[] = []
  let underWay = 0

  /** `isWhole`: nothing more joins the queue in this turn of the loop; else what fills no batch yet stays. */
  const pump = (isWhole = true) => {
    while (queue.length >= (isWhole ? 1 : max_batch) && underWay < max_at_once) {
      underWay += 1
      void settle(queue.splice(0, batchSize(queue, isWhole, max_batch))).finally(() => {
        underWay -= 1
        pump()
      })
    }
  }

  async function settle(calls: Waiting[]): Promise<void> {
    const tried = new Set<Endpoint>()
    let left = calls
    let failure: Error = new RpcUnavailable('No node of the network answers')
    while (left.length > 0) {
      const endpoint = choose(endpoints, tried, now(), random)
      if (!endpoint) break
      tried.add(endpoint)
      try {
        const answers = await endpoint.ask(left)
        const again: Waiting[] = []
        for (const [index, call] of left.entries()) {
          const answer = answers[index]
          const error = failureOf(answer)
          if (answer && 'result' in answer) call.resolve(answer.result)
          else if (error && !isNodesOwn(error)) call.reject(error)
          else {
            again.push(call)
            if (error) failure = error
          }
        }
        left = again
      } catch (error) {
        // No other node would answer with less.
        if (error instanceof AnswerTooLarge) {
          failure = error
          break
        }
        failure = new RpcUnavailable(
          `No node of the network answers (${(error as Error).message})`,
          wrongChain(endpoints),
        )
      }
    }
    for (const call of left) call.reject(failure)
  }

  return (method, params) =>
    new Promise((resolve, reject) => {
      if (queue.length >= max_waiting) {
        reject(new RpcUnavailable('Too many calls wait for the nodes of the network'))
        return
      }
      queue.push({ method, params, resolve, reject })
      // What one turn of the loop asks for goes out together.
      if (queue.length === 1) setImmediate(() => pump())
      else if (queue.length >= max_batch) pump(false)
    })
}

/**
 * Transactions that are sent together stay together: of two batches at once the later nonces may come first, and some nodes
 * refuse those.
 */
function batchSize(queue: RpcCall[], isWhole: boolean, max_batch: number): number {
  const end = Math.min(queue.length, max_batch)
  const next = queue[end]
  const mayCut = next ? isSending(next) : !isWhole
  let start = end
  while (mayCut && isSending(queue[start - 1])) start -= 1
  return start > 0 ? start : end
}

const isSending = (call: RpcCall | undefined): boolean => call?.method === 'eth_sendRawTransaction'

/** By weight among those that are well; those of weight 0, and those at rest, only when there is no other. */
function choose(endpoints: Endpoint[], tried: Set<Endpoint>, time: number, random: () => number): Endpoint | undefined {
  const left = endpoints.filter((endpoint) => !tried.has(endpoint))
  const well = left.filter(({ rest_until }) => rest_until <= time)
  const total = well.reduce((sum, { weight }) => sum + weight, 0)
  let at = random() * total
  for (const endpoint of well) {
    at -= endpoint.weight
    if (endpoint.weight > 0 && at < 0) return endpoint
  }
  if (well.length > 0) return well[0]
  // Of those at rest the one that is next to end it is tried; one that asked to be left alone is.
  return left.filter(({ throttled }) => !throttled).sort((a, b) => a.rest_until - b.rest_until)[0]
}

const failureOf = (answer: RpcAnswer | undefined): RpcError | undefined =>
  answer && 'error' in answer ? new RpcError(answer.error) : undefined

/** Says something about the node and not about the call: another node may do better. */
const isNodesOwn = ({ kind }: RpcError): boolean =>
  kind === 'rate_limited' || kind === 'unavailable' || kind === 'method_not_found'

function wrongChain(endpoints: Endpoint[]): bigint | undefined {
  const wrong = endpoints.map(({ wrong_chain }) => wrong_chain)
  return wrong.every((id) => id !== undefined) ? wrong[0] : undefined
}
