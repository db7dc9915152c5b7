import { isIP, type LookupFunction } from 'node:net'
import { callHttp, type HttpAgents, type HttpAnswer } from '../lib/http-client.ts'
import { printable } from '../lib/printable.ts'
import { isPrivateAddress, type TargetCheck } from '../lib/ssrf-guard.ts'

const connectMs = 5_000
const usualAttemptMs = 15_000
const maxAnswerBytes = 16 * 1_024
const shownCharacters = 1_000

export interface AttemptResult {
  /** The HTTP status; null without a response. */
  status: number | null
  error: string | null
  /** The start of the response's body. */
  answer: string | null
  /** The Retry-After header in seconds. */
  retry_after_s: number | undefined
}

export interface AttemptContext {
  agents: HttpAgents
  checkTarget: TargetCheck
  /** Undefined where any address may be called. */
  lookup: LookupFunction | undefined
  publicOnly: boolean
  /** Milliseconds since the epoch, for a date in Retry-After. */
  now(): number
  /** The timeout of the whole attempt. Default 15 s. */
  attempt_ms?: number
}

export interface AttemptRequest {
  url: string
  headers: Record<string, string>
  body: string
}

/** One POST to a webhook. It follows no redirect, does not decompress the response, and always ends within the timeout. */
export async function sendAttempt(
  { agents, checkTarget, lookup, publicOnly, now, attempt_ms = usualAttemptMs }: AttemptContext,
  { url: text, headers, body }: AttemptRequest,
): Promise<AttemptResult> {
  const url = URL.parse(text)
  const refused = url ? checkTarget(url) : 'must be a URL'
  if (!url || refused) return failure(`The url ${refused}`)
  const chunks: Buffer[] = []
  let length = 0
  try {
    const answer = await callHttp({
      ...{ url: url.href, headers, body, agents, lookup, timeoutMs: attempt_ms, connectMs, now },
      refuses: (address) =>
        publicOnly && isIP(address) && isPrivateAddress(address) ? 'The url must have a public address' : undefined,
      take(chunk) {
        length += chunk.length
        chunks.push(chunk)
        return length > maxAnswerBytes ? 'enough' : undefined
      },
    })
    return resultOf(answer, Buffer.concat(chunks))
  } catch (error) {
    return failure((error as Error).message)
  }
}

function resultOf({ status, headers, retry_after_s }: HttpAnswer, bytes: Buffer): AttemptResult {
  const isEncoded = headers['content-encoding'] !== undefined
  return {
    status,
    error: faultOf(status),
    answer: isEncoded ? null : printable(bytes.subarray(0, maxAnswerBytes).toString('utf8').slice(0, shownCharacters)),
    retry_after_s,
  }
}

function faultOf(status: number): string | null {
  if (status >= 300 && status < 400) return 'Redirects are not followed; the url must be the final one'
  return status >= 200 && status < 300 ? null : `HTTP ${status}`
}

const failure = (error: string): AttemptResult => ({
  status: null,
  error: printable(error.slice(0, 1_000)),
  answer: null,
  retry_after_s: undefined,
})
