import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { printable } from '../lib/printable.ts'
import { readRetryAfter } from '../lib/retry-after.ts'
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

export interface AttemptDependencies {
  checkTarget: TargetCheck
  /** Undefined where any address may be called. */
  lookup: LookupFunction | undefined
  publicOnly: boolean
  /** Milliseconds since the epoch, for a date in Retry-After. */
  now(): number
  /** The timeout of the whole attempt. Default 15 s. */
  attempt_ms?: number
}

/** One POST to a webhook. It follows no redirect, does not decompress the response, and always ends within the timeout. */
export type SendAttempt = (url: string, headers: Record<string, string>, body: string) => Promise<AttemptResult>

export function createSendAttempt(dependencies: AttemptDependencies): SendAttempt {
  const { checkTarget, lookup, publicOnly, now, attempt_ms = usualAttemptMs } = dependencies
  const agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) }

  return (text, headers, body) => {
    const url = URL.parse(text)
    const refused = url ? checkTarget(url) : 'must be a URL'
    if (!url || refused) return Promise.resolve(failure(`The url ${refused}`))

    return new Promise((resolve) => {
      const secure = url.protocol === 'https:'
      const outgoing = (secure ? https : http).request(url, {
        method: 'POST',
        agent: secure ? agents.https : agents.http,
        ...(lookup && { lookup }),
        headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      })
      const end = (result: AttemptResult) => {
        clearTimeout(whole)
        clearTimeout(connecting)
        outgoing.destroy()
        resolve(result)
      }
      const whole = setTimeout(() => end(failure(`No response within ${attempt_ms / 1_000} s`)), attempt_ms)
      let connecting: NodeJS.Timeout | undefined

      outgoing.once('error', (error) => end(failure(error.message)))
      outgoing.once('socket', (socket) => {
        const check = () => {
          clearTimeout(connecting)
          const { remoteAddress = '' } = socket
          // The final check, on the address of the actual connection.
          if (publicOnly && isIP(remoteAddress) && isPrivateAddress(remoteAddress))
            end(failure('The url must have a public address'))
          else outgoing.end(body)
        }
        if (!socket.connecting) return check()
        connecting = setTimeout(() => end(failure(`No connection within ${connectMs / 1_000} s`)), connectMs)
        socket.once(secure ? 'secureConnect' : 'connect', check)
      })
      outgoing.once('response', (response) => {
        const { statusCode: status = 0, headers: answered } = response
        const chunks: Buffer[] = []
        let length = 0
        const done = () => {
          const bytes = Buffer.concat(chunks).subarray(0, maxAnswerBytes)
          const redirected = status >= 300 && status < 400
          const isEncoded = answered['content-encoding'] !== undefined
          const result = {
            status,
            error: redirected
              ? 'Redirects are not followed; the url must be the final one'
              : status >= 200 && status < 300
                ? null
                : `HTTP ${status}`,
            answer: isEncoded ? null : printable(bytes.toString('utf8').slice(0, shownCharacters)),
            retry_after_s: readRetryAfter(answered['retry-after'], now()),
          }
          clearTimeout(whole)
          // A socket is reused only if its response was read completely.
          if (length > maxAnswerBytes) end(result)
          else resolve(result)
        }
        response.on('data', (chunk: Buffer) => {
          length += chunk.length
          chunks.push(chunk)
          if (length > maxAnswerBytes) done()
        })
        response.once('end', done)
        response.once('error', (error) => end(failure(error.message)))
      })
    })
  }
}

const failure = (error: string): AttemptResult => ({
  status: null,
  error: printable(error.slice(0, 1_000)),
  answer: null,
  retry_after_s: undefined,
})
