import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https, { type AgentOptions } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { TLSSocket } from 'node:tls'

/** Connections that stay open for later requests, for both schemes. */
export class HttpAgents {
  readonly #http: http.Agent
  readonly #https: https.Agent

  constructor(options: http.AgentOptions = {}, tls: Pick<AgentOptions, 'ca' | 'cert' | 'key'> = {}) {
    this.#http = new http.Agent({ keepAlive: true, ...options })
    this.#https = new https.Agent({ keepAlive: true, ...options, ...tls })
  }

  of(url: string): http.Agent {
    return url.startsWith('https:') ? this.#https : this.#http
  }

  /** Closes all connections. Later requests open one of their own. */
  close(): void {
    for (const agent of [this.#http, this.#https]) {
      // Node's types omit the setting.
      Object.assign(agent, { keepAlive: false })
      agent.destroy()
    }
  }
}

interface HttpRequest {
  url: string
  method?: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string | undefined
  /** Undefined: a connection of its own. */
  agents?: HttpAgents | undefined
  /** Decides which addresses a host name may resolve to. Undefined: any. */
  lookup: LookupFunction | undefined
  signal?: AbortSignal
  /** For the whole exchange, and for the connection. */
  timeoutMs?: number
  connectMs?: number
  /** The final check of a connection, before anything is sent: the reason why its address may not be called. */
  refuses?(remoteAddress: string): string | undefined
  /** Called with each chunk of the answer. What it throws ends the request; `enough`: the rest is not read. */
  take(chunk: Buffer): 'enough' | undefined
  /** Milliseconds since the epoch, for a date in Retry-After. */
  now?(): number
}

export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** From Retry-After. */
  retry_after_s: number | undefined
}

/**
 * The only client of the service's own calls: of nodes, key services and webhooks. Uses node:http, because `fetch` follows redirects to
 * unchecked addresses and inflates bodies. Follows no redirect. Rejects without a complete answer in time.
 */
export function callHttp(request: HttpRequest): Promise<HttpAnswer> {
  const {
    url,
    method = 'POST',
    headers,
    body,
    agents,
    lookup,
    signal,
    timeoutMs,
    connectMs,
    refuses,
    take,
    now = Date.now,
  } = request
  const isSecure = url.startsWith('https:')
  return new Promise((resolve, reject) => {
    const outgoing = (isSecure ? https : http).request(url, {
      method,
      agent: agents?.of(url) ?? false,
      headers: body === undefined ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) },
      ...(lookup && { lookup }),
      ...(signal && { signal }),
    })
    const whole = timer(timeoutMs, () => fail(new Error(`No response within ${seconds(timeoutMs)} s`)))
    let connecting: NodeJS.Timeout | undefined
    const stop = () => {
      clearTimeout(whole)
      clearTimeout(connecting)
    }
    const fail = (error: Error) => {
      stop()
      outgoing.destroy()
      reject(error)
    }
    outgoing.on('error', fail)
    outgoing.once('response', (response) => {
      const answer = {
        status: response.statusCode ?? 0,
        headers: response.headers,
        retry_after_s: readRetryAfter(response.headers['retry-after'], now()),
      }
      read(response, take, fail, (isWhole) => {
        stop()
        // A socket is reused only if its response was read completely.
        if (!isWhole) outgoing.destroy()
        resolve(answer)
      })
    })
    if (!refuses) return void outgoing.end(body)
    outgoing.once('socket', (socket) => {
      const send = () => {
        clearTimeout(connecting)
        const refused = refuses(socket.remoteAddress ?? '')
        if (refused) fail(new Error(refused))
        else outgoing.end(body)
      }
      if (!socket.connecting) return send()
      connecting = timer(connectMs, () => fail(new Error(`No connection within ${seconds(connectMs)} s`)))
      socket.once((socket as TLSSocket).encrypted ? 'secureConnect' : 'connect', send)
    })
  })
}

function read(
  response: IncomingMessage,
  take: HttpRequest['take'],
  fail: (error: Error) => void,
  done: (isWhole: boolean) => void,
): void {
  response.on('data', (chunk: Buffer) => {
    try {
      if (take(chunk) === 'enough') done(false)
    } catch (error) {
      fail(error as Error)
    }
  })
  response.on('error', fail)
  response.once('close', () => response.complete || fail(new Error('The answer ended early')))
  response.once('end', () => done(true))
}

const timer = (ms: number | undefined, late: () => void) => (ms === undefined ? undefined : setTimeout(late, ms))
const seconds = (ms = 0) => ms / 1_000

/** A larger number is no time that anybody waits. */
const wholeSeconds = /^\d{1,9}$/
/** The two forms of RFC 9110, section 5.6.7, that name their zone. Without the pattern `Date.parse` takes "-1" and "1.5" for dates. */
const date = /^[A-Z][a-z]{2,8}, [\w :-]{10,30} GMT$/

/** The seconds of a Retry-After header, which has seconds or a date (RFC 9110, section 10.2.3); undefined without one. `now`: epoch ms. */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  const value = header?.trim() ?? ''
  if (wholeSeconds.test(value)) return Number(value)
  const at = date.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
