import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'

const max_sockets = 64
/** The limit for a response. */
const default_max_bytes = 64 * 1024 * 1024

export interface PostAnswer {
  status: number
  retry_after_s: number | undefined
  text: string
}

export type Post = (body: string, timeout_ms: number) => Promise<PostAnswer>

/** A node's response is larger than the limit. The message completes "The answer ...". */
export class AnswerTooLarge extends Error {}

/**
 * POSTs JSON to one URL over persistent connections. Uses node:http, because `fetch` follows redirects to unchecked addresses.
 * `lookup` decides which addresses a host name may resolve to. Throws when no complete response arrives in time, and AnswerTooLarge
 * for a response of more than `max_bytes`.
 */
export function createPost(url: string, lookup: LookupFunction | undefined, max_bytes = default_max_bytes): Post {
  const { request, Agent } = url.startsWith('https:') ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: max_sockets, scheduling: 'lifo' })

  return (body, timeout_ms) =>
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
        let length = 0
        response.on('data', (chunk: Buffer) => {
          length += chunk.length
          if (length > max_bytes) outgoing.destroy(new AnswerTooLarge(`is larger than ${max_bytes / 1024 / 1024} MiB`))
          else chunks.push(chunk)
        })
        response.once('error', fail)
        response.once('close', () => fail(new Error('The answer ended early')))
        response.once('end', () => {
          clearTimeout(timer)
          const after = Number(response.headers['retry-after'])
          resolve({
            status: response.statusCode ?? 0,
            retry_after_s: Number.isFinite(after) ? after : undefined,
            text: Buffer.concat(chunks, length).toString('utf8'),
          })
        })
      })
      outgoing.end(body)
    })
}
