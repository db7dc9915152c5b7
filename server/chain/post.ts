import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { readRetryAfter } from '../lib/retry-after.ts'
import { type AnswerLimits, createAnswerCounter } from './answer-limits.ts'
import { parseAnswer } from './answer-parser.ts'

const maxSockets = 64
/** An unused connection is closed after this time. */
const idleMs = 30_000
const maxStartBytes = 4_096

export interface PostAnswer {
  status: number
  retry_after_s: number | undefined
  /** Rejects when the body is not JSON. */
  json(): Promise<unknown>
  /** The first characters of the body, which may be a page or a text. */
  start?(): string
}

export interface Post {
  (body: string, timeoutMs: number, limits: AnswerLimits): Promise<PostAnswer>
  /** Closes all connections. Later calls open one of their own. */
  close?(): void
}

/**
 * POSTs JSON to one URL over persistent connections. Uses node:http, because `fetch` follows redirects to unchecked addresses.
 * `lookup` decides which addresses a host name may resolve to. Throws when no complete response arrives in time, and AnswerTooLarge
 * as soon as a response exceeds the limits.
 */
export function createPost(url: string, lookup: LookupFunction | undefined): Post {
  const { request, Agent } = url.startsWith('https:') ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: maxSockets, scheduling: 'lifo', timeout: idleMs })

  const post: Post = (body, timeoutMs, limits) =>
    new Promise((resolve, reject) => {
      const outgoing = request(url, {
        method: 'POST',
        agent,
        ...(lookup && { lookup }),
        headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) },
      })
      const timer = setTimeout(() => outgoing.destroy(new Error('No answer in time')), timeoutMs)
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
          resolve({
            status: response.statusCode ?? 0,
            retry_after_s: readRetryAfter(response.headers['retry-after'], Date.now()),
            json: () => parseAnswer(Buffer.concat(chunks)),
            start: () => Buffer.concat(chunks).subarray(0, maxStartBytes).toString('utf8'),
          })
        })
      })
      outgoing.end(body)
    })
  post.close = () => {
    // Node's types omit the setting.
    Object.assign(agent, { keepAlive: false })
    agent.destroy()
  }
  return post
}
