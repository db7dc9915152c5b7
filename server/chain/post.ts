import type { LookupFunction } from 'node:net'
import { callHttp, HttpAgents } from '../lib/http-client.ts'
import { tlsFault } from '../lib/tls-fault.ts'
import { AnswerCounter, type AnswerLimits } from './answer-limits.ts'
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

const headers = { 'Content-Type': 'application/json' }

/** The error that the sender of a request reads. */
const call = (request: Parameters<typeof callHttp>[0]): ReturnType<typeof callHttp> =>
  callHttp(request).catch((error: NodeJS.ErrnoException) => {
    const fault = tlsFault(error.code)
    throw fault === undefined ? error : new Error(`It ${fault} (${error.code})`, { cause: error })
  })

/**
 * POSTs JSON to one URL over persistent connections. `lookup` decides which addresses a host name may resolve to. Throws when no complete
 * response arrives in time, and AnswerTooLarge as soon as a response exceeds the limits.
 */
export function openPost(url: string, lookup: LookupFunction | undefined): Post {
  const agents = new HttpAgents({ maxSockets, scheduling: 'lifo', timeout: idleMs })
  const post: Post = async (body, timeoutMs, limits) => {
    const chunks: Buffer[] = []
    const counter = new AnswerCounter(limits)
    const { status, retry_after_s } = await call({
      ...{ url, headers, body, agents, lookup, timeoutMs },
      take(chunk) {
        counter.count(chunk)
        chunks.push(chunk)
        return undefined
      },
    })
    return {
      status,
      retry_after_s,
      json: () => parseAnswer(Buffer.concat(chunks)),
      start: () => Buffer.concat(chunks).subarray(0, maxStartBytes).toString('utf8'),
    }
  }
  post.close = () => agents.close()
  return post
}
