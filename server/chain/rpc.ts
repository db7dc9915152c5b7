import { AnswerTooLarge, batchSize, isSending, type RpcCall, sizeOf } from './answer-limits.ts'
import { type Answers, decoders, type Method } from './answers.ts'
import { type Endpoint, faultIn } from './endpoint.ts'
import type { RpcAnswer } from './rpc-answer.ts'
import { classifyRpcError, isAboutCall, type RpcErrorKind, type RpcErrorObject } from './rpc-error.ts'

/** A row has room for as much of a node's words. */
const maxMessageLength = 900

/**
 * A node's error answer. `kind`: its classification; `message`: the node's text. `isAgreed`: it refuses a transaction for good, and
 * so does every healthy endpoint; they are at least two, and more than half of all.
 */
export class RpcError extends Error {
  readonly kind: RpcErrorKind
  readonly error: RpcErrorObject
  isAgreed = false
  /** No endpoint got the call before the one that gave this answer. */
  isFirstAnswer = false

  constructor(error: RpcErrorObject) {
    super(String(error.message ?? 'The node answered with an error').slice(0, maxMessageLength))
    this.name = 'RpcError'
    this.kind = classifyRpcError(error)
    this.error = error
  }
}

interface Unavailability {
  /** Every node is on another chain, with this id. */
  wrong_chain?: bigint | undefined
  /** The answer exceeds the limits; completes "The answer ...". */
  too_large?: string
  /** What is wrong with the last node that was asked; a sentence about it. */
  reason?: string
}

/** No node answered. */
export class RpcUnavailable extends Error {
  readonly wrong_chain: bigint | undefined
  readonly too_large: string | undefined
  readonly reason: string | undefined

  constructor(message: string, { wrong_chain, too_large, reason }: Unavailability = {}) {
    super(message)
    this.name = 'RpcUnavailable'
    this.wrong_chain = wrong_chain
    this.too_large = too_large
    this.reason = reason
  }
}

/** A node answered with something that cannot be read. It proves nothing. */
export class MalformedAnswer extends RpcUnavailable {}

/**
 * Whether only the answer about this hash, account or block failed, while nodes answer: the others' answers count. Otherwise no node
 * answers.
 */
export const isOfItem = (error: unknown): error is RpcError | RpcUnavailable =>
  error instanceof RpcError ||
  error instanceof MalformedAnswer ||
  (error instanceof RpcUnavailable && error.too_large !== undefined)

/** Undefined when nodes answer, and the answer about this item says nothing. */
export function orAbsent(error: unknown): undefined {
  if (!isOfItem(error)) throw error
}

/** Calls a node of a network. Throws RpcError or RpcUnavailable. Without `decode` the result is passed on as it is. */
export type Rpc = (method: string, params: unknown[], options?: RpcOptions) => Promise<unknown>

interface RpcOptions extends Pick<RpcCall, 'decode'> {
  /** Sends the call to every healthy endpoint, even after one has answered. */
  everywhere?: boolean
}

/** A call of the service itself: its answer is read by value (answers.ts). Throws RpcError or RpcUnavailable. */
export const call = <Name extends Method>(
  rpc: Rpc,
  method: Name,
  params: unknown[],
  options: Pick<RpcOptions, 'everywhere'> = {},
): Promise<Answers[Name]> => rpc(method, params, { ...options, decode: decoders[method] }) as Promise<Answers[Name]>

export interface RpcLimits {
  /** The most calls in one request, and approximately the most bytes of their parameters. */
  max_batch: number
  max_batch_bytes: number
  /** The most requests in flight. */
  max_at_once: number
  /** The most calls that wait for a request. */
  max_waiting: number
  /** Waits for a turn before each request; absent: none is needed. */
  inTurn?: <T>(work: () => Promise<T>) => Promise<T>
}

export const defaultLimits: RpcLimits = {
  max_batch: 100,
  max_batch_bytes: 512 * 1024,
  max_at_once: 4,
  max_waiting: 20_000,
}

interface Waiting extends RpcCall {
  bytes: number
  everywhere: boolean
  isAnswered: boolean
  /** The first node's result, while other nodes still get the call. */
  success?: { result: unknown } | { error: Error }
  /** The refusal that says the most so far, of a transaction the least final one; undefined: none. */
  refusal?: Error
  /** It is about the node, not about the call. */
  isRefusalOfNode: boolean
  /** How many endpoints refused a transaction for good. */
  final_refusals: number
  resolve(result: unknown): void
  reject(error: Error): void
}

/**
 * While few requests are in flight, a call is sent at once; when many are, calls are batched. A burst costs few requests, and a single
 * call is not delayed. When a node fails, the next one is asked. Every call may be repeated, because sending the same signed bytes
 * again changes nothing. Only an error about the call itself (a revert, funds, gas) ends a read; any other leads to the next node.
 *
 * A transaction that one node refuses is sent to the other healthy nodes, and one acceptance suffices. When all refuse it, the least
 * final refusal is thrown, so that a transaction is given up only when all nodes say that it can never be accepted (`isAgreed`).
 */
export class CallQueue {
  readonly #endpoints: Endpoint[]
  readonly #now: () => number
  readonly #random: () => number
  readonly #limits: RpcLimits
  readonly #queue: Waiting[] = []
  #underWay = 0

  /** `now`: monotonic milliseconds. `random`: chooses among endpoints. */
  constructor(
    endpoints: Endpoint[],
    now: () => number,
    random: () => number = Math.random,
    limits: RpcLimits = defaultLimits,
  ) {
    this.#endpoints = endpoints
    this.#now = now
    this.#random = random
    this.#limits = limits
  }

  readonly call: Rpc = (method, params, { everywhere = false, decode } = {}) =>
    new Promise((resolve, reject) => {
      const { max_waiting, max_batch } = this.#limits
      if (this.#queue.length >= max_waiting) {
        reject(new RpcUnavailable('Too many calls wait for the nodes of the network'))
        return
      }
      this.#queue.push({
        ...{ method, params, everywhere, resolve, reject },
        ...(decode && { decode }),
        ...{ bytes: sizeOf(params), isAnswered: false, isRefusalOfNode: false, final_refusals: 0 },
      })
      // Calls of one turn of the event loop are sent together.
      if (this.#queue.length === 1) setImmediate(() => this.#pump())
      else if (this.#queue.length >= max_batch) this.#pump(false)
    })

  /** `isWhole`: the queue is complete for this turn of the event loop. Otherwise an incomplete batch stays in the queue. */
  #pump(isWhole = true): void {
    const { max_batch, max_batch_bytes, max_at_once, inTurn = (work) => work() } = this.#limits
    while (this.#queue.length >= (isWhole ? 1 : max_batch) && this.#underWay < max_at_once) {
      this.#underWay += 1
      const calls = this.#queue.splice(0, batchSize(this.#queue, isWhole, max_batch, max_batch_bytes))
      void inTurn(() => this.#answer(calls)).finally(() => {
        this.#underWay -= 1
        this.#pump()
      })
    }
  }

  async #answer(calls: Waiting[]): Promise<void> {
    const tried = new Set<Endpoint>()
    let left = calls
    while (left.length > 0) {
      const endpoint = choose(this.#endpoints, tried, this.#now(), this.#random)
      if (!endpoint) break
      tried.add(endpoint)
      // A resting node is the last resort.
      const asked = endpoint.rest_until > this.#now() ? left.filter(mayAskResting) : left
      if (asked.length === 0) break
      try {
        const answers = await endpoint.ask(asked)
        for (const [index, call] of asked.entries()) take(call, answers[index], tried.size === 1)
      } catch (error) {
        for (const call of asked) refuse(call, noAnswer(error as Error, this.#endpoints))
      }
      left = left.filter(({ isAnswered }) => !isAnswered)
    }
    for (const call of left)
      if (call.refusal instanceof RpcError) call.refusal.isAgreed = isAgreed(call, this.#endpoints.length)
    const silence = new RpcUnavailable('No node of the network answers')
    for (const call of left) end(call, call.success ?? { error: call.refusal ?? silence })
  }
}

/** A node's answer to a call. */
function take(call: Waiting, answer: RpcAnswer | undefined, isFirst: boolean): void {
  if (answer === undefined) return
  if ('result' in answer) {
    succeed(call, answer)
    return
  }
  const error = errorIn(answer)
  if (error instanceof RpcError) error.isFirstAnswer = isFirst
  const kind = error instanceof RpcError ? error.kind : 'unknown'
  if (isSending(call) && kind === 'already_known') succeed(call, { error })
  else if (isSending(call) || !isAboutCall(kind)) refuse(call, error, faultIn(call, answer) !== undefined)
  else end(call, { error })
}

function errorIn(answer: Exclude<RpcAnswer, { result: unknown }>): Error {
  if ('error' in answer) return new RpcError(answer.error)
  return 'malformed' in answer ? new MalformedAnswer(answer.malformed) : tooLarge(answer.too_large)
}

/** A resting node gets what the others could not carry out, and nothing that one of them has answered or refused. */
const mayAskResting = ({ success, refusal, isRefusalOfNode }: Waiting): boolean =>
  !success && (!refusal || isRefusalOfNode)

const tooLarge = ({ message }: AnswerTooLarge): RpcUnavailable =>
  new RpcUnavailable(`The node's answer ${message}`, { too_large: message })

/** Resolves the call at once, without waiting for other nodes. */
function succeed(call: Waiting, success: NonNullable<Waiting['success']>): void {
  call.success ??= success
  end(call, success)
  call.isAnswered = !call.everywhere
}

function refuse(call: Waiting, error: Error, isOfNode = true): void {
  if (isFinal(error)) call.final_refusals += 1
  const before = call.refusal
  if (before && (isSending(call) ? hopeOf(error) <= hopeOf(before) : wordsIn(error) < wordsIn(before))) return
  call.refusal = error
  call.isRefusalOfNode = isOfNode && !isSending(call)
}

function end(call: Waiting, outcome: NonNullable<Waiting['success']>): void {
  call.isAnswered = true
  if ('result' in outcome) call.resolve(outcome.result)
  else call.reject(outcome.error)
}

/** The refusals of a transaction that are final for every node. */
const final: ReadonlySet<RpcErrorKind> = new Set(['gas_limit_too_low', 'gas_limit_too_high', 'rejected'])
const isFinal = (error: Error): boolean => error instanceof RpcError && final.has(error.kind)

/** The refusal that is kept is final only when no endpoint gave another one. A single endpoint never decides. */
const isAgreed = ({ refusal, final_refusals }: Waiting, endpoints: number): boolean =>
  refusal !== undefined && isFinal(refusal) && final_refusals >= 2 && final_refusals * 2 > endpoints

/** The other refusals that are about the transaction, the least final last. */
const told: readonly RpcErrorKind[] = [
  ...(['reverted', 'fee_too_high', 'insufficient_funds', 'nonce_too_high', 'pool_full'] as const),
  ...(['nonce_too_low', 'underpriced', 'replacement_underpriced'] as const),
]

/** How much hope a refusal leaves. Of two refusals of a transaction the one with the higher number is reported. */
const hopeOf = (error: Error): number => {
  if (!(error instanceof RpcError)) return 1
  return isFinal(error) ? 0 : 3 + told.indexOf(error.kind)
}

/** Chooses a healthy endpoint by weight. Endpoints of weight 0, and resting ones, are used only when there is no other. */
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
  // Tries the resting endpoint whose rest ends first. An endpoint that limits the rate (429) is left alone.
  return left.filter(({ throttled }) => !throttled).sort((a, b) => a.rest_until - b.rest_until)[0]
}

/** All endpoints, by their indexes, in the order in which `choose` takes them when each fails. */
export function inTurn(endpoints: Endpoint[], time: number, random: () => number = Math.random): number[] {
  const tried = new Set<Endpoint>()
  for (;;) {
    const next = choose(endpoints, tried, time, random)
    if (!next) return [...tried].map((endpoint) => endpoints.indexOf(endpoint))
    tried.add(next)
  }
}

/** How much an error says about a read. Of two errors the one with the higher number is reported. */
const wordsIn = (error: Error): number => {
  if (!(error instanceof RpcError)) return isOfItem(error) ? 1 : 0
  if (error.kind === 'unknown') return 4
  return error.kind === 'method_not_found' || error.kind === 'not_found' ? 3 : 2
}

/** `error`: of the endpoint that was asked last. */
function noAnswer(error: Error, endpoints: Endpoint[]): RpcUnavailable {
  const reason = error instanceof AnswerTooLarge ? `the answer ${error.message}` : error.message
  const wrong = endpoints.map(({ wrong_chain }) => wrong_chain)
  if (!wrong.every((id) => id !== undefined))
    return new RpcUnavailable(`No node of the network answers (${reason})`, { reason })
  return new RpcUnavailable(`Every node of the network is on another chain (${reason})`, {
    reason,
    wrong_chain: wrong[0],
  })
}

/** Whether no node answered, or a node answered with an error. */
export const isRpcFailure = (error: unknown): error is RpcError | RpcUnavailable =>
  error instanceof RpcError || error instanceof RpcUnavailable

/** Undefined for a fact that no node tells, where others go on without it. */
export function orUnknown(error: unknown): undefined {
  if (!isRpcFailure(error)) throw error
}

/** The kind of a node's error; `unreachable` when no node answered; undefined: not a node's error. */
export const rpcKindOf = (error: unknown): RpcErrorKind | 'unreachable' | undefined => {
  if (error instanceof RpcError) return error.kind
  return error instanceof RpcUnavailable ? 'unreachable' : undefined
}
