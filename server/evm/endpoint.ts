import { printable, printableTexts } from '../core/printable.ts'
import { AnswerTooLarge } from './answer-counter.ts'
import { type Audience, isNodesFault, limitsOf, type RpcCall } from './answer-limits.ts'
import type { Post } from './post.ts'
import { classifyRpcError, type RpcErrorObject } from './rpc-error.ts'

/** `too_large`: the answer exceeds the limits, and the size of such an answer depends on the request. */
export type RpcAnswer = { result: unknown } | { error: RpcErrorObject } | { too_large: AnswerTooLarge }

/** One node and its health. */
export interface Endpoint {
  weight: number
  /** The end of its rest, in milliseconds of the monotonic clock. A resting endpoint is not called. */
  rest_until: number
  /** It rests because of rate limiting (429), not because of a failure. */
  throttled: boolean
  /** The chain id that it reports, if that is not the network's. */
  wrong_chain: bigint | undefined
  /** Called once per change of state: down with the reason, or (undefined) up again. */
  onChange?(down_reason: string | undefined): void
  /** Called for each answer that exceeds the limits. */
  onTooLarge?(reason: string): void
  /**
   * Sends the calls as one batch. An answer is undefined if the node omitted it. Throws when the node does not answer, does not answer
   * with JSON-RPC, or is on another chain.
   */
  ask(calls: RpcCall[]): Promise<(RpcAnswer | undefined)[]>
}

const timeout_ms = 5_000
const failures_before_rest = 3
const first_rest_ms = 1_000
/** Callers provoke rests with their own calls, and all callers of a network share its endpoints. */
const max_rest_ms = { service: 30_000, callers: 2_000 }
const max_throttle_s = { service: 60, callers: 2 }
const wrong_chain_rest_ms = 30_000
/** A node may have refused only one batch, so batches are tried again after this time. */
const batches_rest_ms = 60_000
const max_reason_length = 300
/** The texts with which nodes refuse a request or a batch that is too large, apart from HTTP 413. */
const too_large =
  /too large|too long|too many (?:requests|calls) in|(?:batch|body|request|payload).{0,20}(?:size|limit|exceed)/i

/** `now`: monotonic milliseconds. `scrub`: removes secrets from an error. */
export function createEndpoint(
  post: Post,
  weight: number,
  chain_id: number,
  now: () => number,
  scrub: (error: RpcErrorObject) => RpcErrorObject = (error) => error,
  audience: Audience = 'service',
): Endpoint {
  let failures = 0
  let verified = false
  let batchesFrom = 0
  let smaller = { calls: Number.POSITIVE_INFINITY, until: 0 }
  let isDown = false

  const endpoint: Endpoint = { weight, rest_until: 0, throttled: false, wrong_chain: undefined, ask }

  async function ask(calls: RpcCall[]) {
    try {
      // The first request also asks for the chain id: a restarted node may be on another chain. A concurrent request may change
      // `verified`, so the value at the start decides whether the answer has a chain id.
      const verifying = !verified
      const answers = await send(verifying ? [{ method: 'eth_chainId', params: [] }, ...calls] : calls)
      if (verifying) verify(answers.shift())
      failures = 0
      // It was asked while it rested: by a survey of all endpoints, or for want of another one.
      if (!endpoint.throttled) endpoint.rest_until = 0
      endpoint.throttled = false
      if (isDown) endpoint.onChange?.(undefined)
      isDown = false
      return answers
    } catch (error) {
      verified = false
      failures += 1
      if (!(error instanceof Throttled)) endpoint.throttled = false
      if (failures >= failures_before_rest) {
        const rest_ms = Math.min(first_rest_ms * 2 ** (failures - failures_before_rest), max_rest_ms[audience])
        endpoint.rest_until = Math.max(endpoint.rest_until, now() + rest_ms)
      }
      const isCertain = [WrongChain, AnswerTooLarge, TargetRefused].some((kind) => error instanceof kind)
      if (!isDown && (failures >= failures_before_rest || isCertain)) {
        isDown = true
        endpoint.onChange?.(reasonOf(error as NodeJS.ErrnoException))
      }
      throw error
    }
  }

  function verify(answer: RpcAnswer | undefined) {
    if (!answer || !('result' in answer) || typeof answer.result !== 'string')
      throw new Error('It returned no chain id')
    if (Number(answer.result) !== chain_id) {
      endpoint.wrong_chain = BigInt(answer.result)
      endpoint.rest_until = now() + wrong_chain_rest_ms
      throw new WrongChain(`It is on chain ${Number(answer.result)} and not on ${chain_id}`)
    }
    endpoint.wrong_chain = undefined
    verified = true
  }

  async function send(calls: RpcCall[]): Promise<(RpcAnswer | undefined)[]> {
    if (calls.length > smaller.calls && now() < smaller.until) return sendInParts(calls, smaller.calls)
    if (calls.length > 1 && now() >= batchesFrom) {
      const answer = await exchange(calls)
      if (answer === undefined) return split(calls)
      if (answer instanceof AnswerTooLarge) return sendInParts(calls, Math.ceil(calls.length / 2))
      if (Array.isArray(answer)) {
        const byId = new Map(answer.map((one) => [(one as { id?: unknown } | null)?.id, one]))
        return calls.map((_, id) => readAnswer(byId.get(id)))
      }
      const refused = readAnswer(answer)
      if (refused && 'error' in refused && classifyRpcError(refused.error) === 'rate_limited') {
        throw new Error(`It limits the rate of requests: ${refused.error.message}`)
      }
      if (refused && 'error' in refused && too_large.test(String(refused.error.message))) return split(calls)
      // Some nodes refuse batches with a single error, so the calls are sent one by one.
      batchesFrom = now() + batches_rest_ms
    }
    const answers: (RpcAnswer | undefined)[] = []
    for (const call of calls) {
      const answer = await exchange([call], false)
      if (answer instanceof AnswerTooLarge) {
        if (isNodesFault(call)) throw answer
        answers.push({ too_large: answer })
      } else answers.push(answer === undefined ? { error: request_too_large } : readAnswer(answer))
    }
    return answers
  }

  /** Halves the batches for a while, because every batch that is too large costs a round trip. */
  function split(calls: RpcCall[]): Promise<(RpcAnswer | undefined)[]> {
    smaller = { calls: Math.ceil(calls.length / 2), until: now() + batches_rest_ms }
    return sendInParts(calls, smaller.calls)
  }

  /** Sends the calls one after the other, which keeps the order of transactions. */
  async function sendInParts(calls: RpcCall[], size: number): Promise<(RpcAnswer | undefined)[]> {
    const answers: (RpcAnswer | undefined)[] = []
    for (let from = 0; from < calls.length; from += size) answers.push(...(await send(calls.slice(from, from + size))))
    return answers
  }

  function readAnswer(answer: unknown): RpcAnswer | undefined {
    if (typeof answer !== 'object' || answer === null) return undefined
    const { result, error } = answer as { result?: unknown; error?: unknown }
    if (typeof error === 'object' && error !== null) return { error: printableTexts(scrub(readError(error))) }
    return result === undefined ? undefined : { result }
  }

  /** Undefined: the request is too large for the node. AnswerTooLarge: the answer is too large for this service. */
  async function exchange(calls: RpcCall[], isBatch = true): Promise<unknown> {
    const body = isBatch ? calls.map(encode) : encode(calls[0] as RpcCall, 0)
    const response = await post(JSON.stringify(body), timeout_ms, limitsOf(calls, audience)).catch((error) => {
      if (!(error instanceof AnswerTooLarge)) throw error
      endpoint.onTooLarge?.(`The answer to ${calls[0]?.method} ${error.message}`)
      return error
    })
    if (response instanceof AnswerTooLarge) return response
    const { status, retry_after_s } = response
    if (status === 429) {
      endpoint.throttled = true
      endpoint.rest_until = now() + 1_000 * Math.min(Math.max(retry_after_s ?? 1, 1), max_throttle_s[audience])
      throw new Throttled('It answers 429')
    }
    if (status === 413) return undefined
    // Nodes send JSON-RPC errors with status 4xx and 5xx too, so the body decides.
    let answer: unknown
    try {
      answer = await response.json()
    } catch {
      throw new Error(`It responded ${status} without JSON`)
    }
    if (!Array.isArray(answer) && readAnswer(answer) === undefined)
      throw new Error(`It responded ${status} without JSON-RPC`)
    return answer
  }

  return endpoint
}

/** A code that is no integer is left out, and a message that is no text becomes a detail: callers get both as the contract has them. */
function readError({ code: given, message, ...rest }: { code?: unknown; message?: unknown }): RpcErrorObject {
  const code = typeof given === 'string' ? Number(given) : given
  return {
    ...rest,
    ...(Number.isSafeInteger(code) && { code: code as number }),
    ...(typeof message === 'string' ? { message } : { details: message }),
  }
}

/** The node limits the rate of requests (429). */
class Throttled extends Error {}

class WrongChain extends Error {}

/** The settings forbid calls of the URL. */
export class TargetRefused extends Error {}

const request_too_large: RpcErrorObject = { code: 413, message: 'Request too large' }

const encode = ({ method, params }: RpcCall, id: number) => ({ jsonrpc: '2.0', id, method, params })

/** An error that gathers several (a name with two addresses) has a code and no message. */
const reasonOf = (error: NodeJS.ErrnoException): string => {
  const { message, code } = error
  return error instanceof AnswerTooLarge
    ? `Its answer ${message}`
    : printable((message || code || 'It does not answer').slice(0, max_reason_length))
}
