import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { createAnswerCounter } from './answer-counter.ts'
import type { AnswerLimits } from './answer-limits.ts'
import { parseAnswer } from './answer-parser.ts'

const max_sockets = 64
/** An unused connection is closed after this time. */
const idle_ms = 30_000

export interface PostAnswer {
  status: number
  retry_after_s: number | undefined
  /** Rejects when the body is not JSON. */
  json(): Promise<unknown>
}

export type Post = (body: string, timeout_ms: number, limits: AnswerLimits) => Promise<PostAnswer>

/**
 * POSTs JSON to one URL over persistent connections. Uses node:http, because `fetch` follows redirects to unchecked addresses.
 * `lookup` decides which addresses a host name may resolve to. Throws when no complete response arrives in time, and AnswerTooLarge
 * as soon as a response exceeds the limits.
 */
export function createPost(url: string, lookup: LookupFunction | undefined): Post {
  const { request, Agent } = url.startsWith('https:') ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: max_sockets, scheduling: 'lifo', timeout: idle_ms })

  return (body, timeout_ms, limits) =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, {
        method: 'POST',
        agent,
        ...(lookup && { lookup }),
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
      })
      const timer = setTimeout(() => outgoing.destroy(new Error('No answer in time')), timeout_ms)
      const fail = (error: Error) => {
        clearTimeout(timer)
        reject(error)
      }
      outgoing.once('error', fail)
      outgoing.once('response', (response) => {
        const chunks: Buffer[] = []
        const count = createAnswerCounter(limits)
        response.on('data', (chunk: Buffer) => {
          try {
            count(chunk)
            chunks.push(chunk)
          } catch (error) {
            chunks.length = 0
            outgoing.destroy(error as Error)
          }
        })
        response.once('error', fail)
        response.once('close', () => fail(new Error('The answer ended early')))
        response.once('end', () => {
          clearTimeout(timer)
          const after = Number(response.headers['retry-after'])
          resolve({
            status: response.statusCode ?? 0,
            retry_after_s: Number.isFinite(after) ? after : undefined,
            json: () => parseAnswer(Buffer.concat(chunks)),
          })
        })
      })
      outgoing.end(body)
    })
}
