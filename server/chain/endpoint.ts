import { printable } from '../lib/printable.ts'
import { AnswerTooLarge, type Audience, isNodesFault, limitsOf, type RpcCall } from './answer-limits.ts'
import type { Post } from './post.ts'
import { optional, type RpcAnswer, readBatch, readEnvelope, readQuantity, show, wordsOf } from './rpc-answer.ts'
import { classifyRpcError, type RpcErrorKind, type RpcErrorObject } from './rpc-error.ts'

const timeoutMs = 5_000
const failuresBeforeRest = 3
const firstRestMs = 1_000
/** Callers provoke rests with their own calls, and all callers of a network share its endpoints. */
const maxRestMs = { service: 30_000, callers: 2_000 }
const maxThrottleS = { service: 60, callers: 2 }
const wrongChainRestMs = 30_000
/** A node may have refused only one batch, so batches are tried again after this time. */
const batchesRestMs = 60_000
const maxReasonLength = 300
/** The texts with which nodes refuse a request or a batch that is too large, apart from HTTP 413. */
const tooLarge =
  /too large|too long|too many (?:requests|calls) in|(?:batch|body|request|payload).{0,20}(?:size|limit|exceed)/i

interface EndpointSettings {
  post: Post
  weight: number
  /** Of the network. */
  chain_id: number
  audience: Audience
  /** Monotonic milliseconds. */
  now(): number
  /** Removes secrets from an error. */
  scrub(error: RpcErrorObject): RpcErrorObject
}

/** One node and its health. */
export class Endpoint {
  readonly weight: number
  /** The end of its rest, in milliseconds of the monotonic clock. A resting endpoint is not called. */
  rest_until = 0
  /** It rests because of rate limiting (429), not because of a failure. */
  throttled = false
  /** The chain id that it reports, if that is not the network's. */
  wrong_chain: bigint | undefined
  /** Called once per change of state: down with the reason, or (undefined) up again. */
  onChange?: (downReason: string | undefined) => void
  /** Called for each answer that exceeds the limits. */
  onTooLarge?: (reason: string) => void
  /** Called for each answer that cannot be read. */
  onMalformed?: (reason: string) => void
  readonly #node: EndpointSettings
  #failures = 0
  #verified = false
  #batchesFrom = 0
  #smaller = { calls: Number.POSITIVE_INFINITY, until: 0 }
  #isDown = false

  constructor(node: EndpointSettings) {
    this.weight = node.weight
    this.#node = node
  }

  /** Closes its connections. */
  close(): void {
    this.#node.post.close?.()
  }

  /**
   * Sends the calls as one batch, and reads their answers (`decode` of a call). An answer is undefined if the node omitted it. Throws when
   * the node does not answer, does not answer with JSON-RPC, or is on another chain.
   */
  async ask(calls: RpcCall[]) {
    try {
      // The first request also asks for the chain id: a restarted node may be on another chain. A concurrent request may change
      // `verified`, so the value at the start decides whether the answer has a chain id.
      const verifying = !this.#verified
      const answers = await this.#send(verifying ? [{ method: 'eth_chainId', params: [] }, ...calls] : calls)
      if (verifying) this.#verify(answers.shift())
      const read = answers.map((answer, index) => this.#decode(calls[index] as RpcCall, answer))
      const faults = calls.flatMap((call, index) => faultIn(call, read[index]) ?? [])
      // A node that answers, and with nothing of use, is left alone as one that does not answer.
      if (faults.length > 0 && faults.length === calls.length) {
        this.#fail(new Error(faults[0]))
        return read
      }
      this.#failures = 0
      // It was asked while it rested: by a survey of all endpoints, or for want of another one.
      if (!this.throttled) this.rest_until = 0
      this.throttled = false
      if (this.#isDown) this.onChange?.(undefined)
      this.#isDown = false
      return read
    } catch (error) {
      this.#verified = false
      this.#fail(error as Error)
      throw error
    }
  }

  #fail(error: Error): void {
    this.#failures += 1
    if (!(error instanceof Throttled)) this.throttled = false
    if (this.#failures >= failuresBeforeRest) {
      const restMs = Math.min(firstRestMs * 2 ** (this.#failures - failuresBeforeRest), maxRestMs[this.#node.audience])
      this.rest_until = Math.max(this.rest_until, this.#node.now() + restMs)
    }
    const isCertain = [WrongChain, AnswerTooLarge, TargetRefused].some((kind) => error instanceof kind)
    if (!this.#isDown && (this.#failures >= failuresBeforeRest || isCertain)) {
      this.#isDown = true
      this.onChange?.(reasonOf(error as NodeJS.ErrnoException))
    }
  }

  #verify(answer: RpcAnswer | undefined) {
    if (!answer || !('result' in answer)) {
      const words = answer && 'error' in answer ? `: ${messageOf(answer.error)}` : ''
      throw new Error(`It returned no chain id${words}`)
    }
    const id = chainIdIn(answer.result)
    if (id === undefined) throw new Error(`Its chain id is ${this.#scrubbed(show(answer.result))}`)
    if (id !== BigInt(this.#node.chain_id)) {
      this.wrong_chain = id
      this.rest_until = this.#node.now() + wrongChainRestMs
      throw new WrongChain(`It is on chain ${id} and not on ${this.#node.chain_id}`)
    }
    this.wrong_chain = undefined
    this.#verified = true
  }

  /** By value; an answer that cannot be read is told, and proves nothing. */
  #decode({ method, params, decode: read }: RpcCall, answer: RpcAnswer | undefined): RpcAnswer | undefined {
    if (!read || !answer || !('result' in answer)) return answer
    try {
      return { result: read(answer.result, params) }
    } catch (error) {
      const malformed = `the answer to ${method} is malformed: ${this.#scrubbed((error as Error).message)}`
      this.onMalformed?.(malformed)
      return { malformed }
    }
  }

  #scrubbed(text: string): string {
    return String(this.#node.scrub({ message: text }).message)
  }

  async #send(calls: RpcCall[]): Promise<(RpcAnswer | undefined)[]> {
    if (calls.length > this.#smaller.calls && this.#node.now() < this.#smaller.until)
      return this.#sendInParts(calls, this.#smaller.calls)
    if (calls.length > 1 && this.#node.now() >= this.#batchesFrom) {
      const answer = await this.#exchange(calls)
      if (answer === undefined) return this.#split(calls)
      if (answer instanceof AnswerTooLarge) return this.#sendInParts(calls, Math.ceil(calls.length / 2))
      if (Array.isArray(answer)) return readBatch(answer, calls.length, this.#node.scrub)
      const refused = readEnvelope(answer, this.#node.scrub)
      if (refused && 'error' in refused && classifyRpcError(refused.error) === 'rate_limited') {
        throw new Error(`It limits the rate of requests: ${refused.error.message}`)
      }
      if (refused && 'error' in refused && tooLarge.test(String(refused.error.message))) return this.#split(calls)
      // Some nodes refuse batches with a single error, so the calls are sent one by one.
      this.#batchesFrom = this.#node.now() + batchesRestMs
    }
    const answers: (RpcAnswer | undefined)[] = []
    for (const call of calls) {
      const answer = await this.#exchange([call], false)
      if (answer instanceof AnswerTooLarge) {
        if (isNodesFault(call)) throw answer
        answers.push({ too_large: answer })
      } else answers.push(answer === undefined ? { error: requestTooLarge } : readEnvelope(answer, this.#node.scrub))
    }
    return answers
  }

  /** Halves the batches for a while, because every batch that is too large costs a round trip. */
  #split(calls: RpcCall[]): Promise<(RpcAnswer | undefined)[]> {
    this.#smaller = { calls: Math.ceil(calls.length / 2), until: this.#node.now() + batchesRestMs }
    return this.#sendInParts(calls, this.#smaller.calls)
  }

  /** Sends the calls one after the other, which keeps the order of transactions. */
  async #sendInParts(calls: RpcCall[], size: number): Promise<(RpcAnswer | undefined)[]> {
    const answers: (RpcAnswer | undefined)[] = []
    for (let from = 0; from < calls.length; from += size)
      answers.push(...(await this.#send(calls.slice(from, from + size))))
    return answers
  }

  /** Undefined: the request is too large for the node. AnswerTooLarge: the answer is too large for this service. */
  async #exchange(calls: RpcCall[], isBatch = true): Promise<unknown> {
    const body = isBatch ? calls.map(encode) : encode(calls[0] as RpcCall, 0)
    const response = await this.#node
      .post(JSON.stringify(body), timeoutMs, limitsOf(calls, this.#node.audience))
      .catch((error) => {
        if (!(error instanceof AnswerTooLarge)) throw error
        this.onTooLarge?.(`The answer to ${calls[0]?.method} ${error.message}`)
        return error
      })
    if (response instanceof AnswerTooLarge) return response
    const { status, retry_after_s } = response
    const withWords = (text: string) => {
      const words = wordsOf(response.start?.() ?? '', this.#node.scrub)
      return words === '' ? text : `${text}: ${words}`
    }
    if (status === 429) {
      this.throttled = true
      this.rest_until =
        this.#node.now() + 1_000 * Math.min(Math.max(retry_after_s ?? 1, 1), maxThrottleS[this.#node.audience])
      throw new Throttled(withWords('It answers 429'))
    }
    if (status === 413) return undefined
    // Nodes send JSON-RPC errors with status 4xx and 5xx too, so the body decides.
    let answer: unknown
    try {
      answer = await response.json()
    } catch {
      throw new Error(withWords(`It responded ${status} without JSON`))
    }
    if (!isBatch && Array.isArray(answer)) [answer] = answer
    if (!Array.isArray(answer) && readEnvelope(answer, this.#node.scrub) === undefined)
      throw new Error(withWords(`It responded ${status} without JSON-RPC`))
    return answer
  }
}

/** No chain has a higher id (EIP-2294). Undefined: it is none. */
function chainIdIn(result: unknown): bigint | undefined {
  const id = optional(readQuantity, result, 'the chain id')
  return id !== undefined && id > 0n && id < 2n ** 63n ? id : undefined
}

const messageOf = ({ message, code }: RpcErrorObject): string => message ?? `code ${code ?? 'unknown'}`

/** The refusals of a transaction that are about the node. */
const ill: ReadonlySet<RpcErrorKind> = new Set(['rate_limited', 'unavailable'])

/**
 * What is wrong with the node; undefined: nothing. An error that is not classified is the node's fault when the service made the call
 * (`decode`), and the caller's otherwise.
 */
export function faultIn(call: RpcCall, answer: RpcAnswer | undefined): string | undefined {
  if (answer === undefined) return `It gives no answer to ${call.method}`
  if ('malformed' in answer) return answer.malformed
  if (!('error' in answer)) return undefined
  const kind = classifyRpcError(answer.error)
  const isRead = call.decode !== undefined && !call.method.startsWith('eth_send')
  const isFault = ill.has(kind) || (kind === 'unknown' && isRead)
  return isFault ? `It answers ${call.method} with an error: ${messageOf(answer.error)}` : undefined
}

/** The node limits the rate of requests (429). */
class Throttled extends Error {}

class WrongChain extends Error {}

/** The settings forbid calls of the URL. */
export class TargetRefused extends Error {}

const requestTooLarge: RpcErrorObject = { code: 413, message: 'Request too large' }

const encode = ({ method, params }: RpcCall, id: number) => ({ jsonrpc: '2.0', id, method, params })

/** An error that gathers several (a name with two addresses) has a code and no message. */
const reasonOf = (error: NodeJS.ErrnoException): string => {
  const { message, code } = error
  return error instanceof AnswerTooLarge
    ? `Its answer ${message}`
    : printable((message || code || 'It does not answer').slice(0, maxReasonLength))
}
