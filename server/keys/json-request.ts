import { request as httpRequest } from 'node:http'
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
}

export interface JsonAnswer {
  status: number
  /** Undefined when the answer is not JSON. */
  body: unknown
}

/** A request with a JSON body and answer, on a connection of its own. Follows no redirect, and reads at most 64 KiB. */
export const requestJson = ({ url, method, headers, body, lookup, signal }: JsonRequest): Promise<JsonAnswer> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const send = url.startsWith('https:') ? httpsRequest : httpRequest
    const json =
      text === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }
    const outgoing = send(url, {
      method,
      headers: { ...headers, ...json, Accept: 'application/json' },
      signal,
      agent: false,
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
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body: parsed(Buffer.concat(chunks)) }))
    })
    outgoing.end(text)
  })

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
