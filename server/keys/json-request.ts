import { type Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'

const max_answer_bytes = 65_536

export interface JsonRequest {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  /** Undefined: no body. */
  body?: unknown
  lookup: LookupFunction | undefined
  signal: AbortSignal
  /** Keeps connections open for later requests. Absent: a connection of its own. */
  agent?: HttpAgent
}

export interface JsonAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Undefined when the answer is not JSON. */
  body: unknown
}

/** A request with a JSON body. Follows no redirect, and reads at most 64 KiB. */
export const requestJson = ({ url, method, headers, body, lookup, signal, agent }: JsonRequest): Promise<JsonAnswer> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const send = url.startsWith('https:') ? httpsRequest : httpRequest
    const json =
      text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    const outgoing = send(url, {
      method,
      headers: { Accept: 'application/json', ...headers, ...json },
      signal,
      agent: agent ?? false,
      ...(lookup && { lookup }),
    })
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > max_answer_bytes) response.destroy(new Error(`The answer has more than ${max_answer_bytes} bytes`))
        else chunks.push(chunk)
      })
      response.once('error', reject)
      response.once('end', () => {
        const answer = Buffer.concat(chunks).toString('utf8')
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: answer,
          body: parsed(answer),
        })
      })
    })
    outgoing.end(text)
  })

/** A member of an answer; undefined when the answer has another form. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

/** A text of an answer; undefined when it is something else. */
export function textMember(value: unknown, name: string): string | undefined {
  const found = member(value, name)
  return typeof found === 'string' ? found : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
