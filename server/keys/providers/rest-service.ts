import type { IncomingHttpHeaders } from 'node:http'
import type { AgentOptions } from 'node:https'
import type { LookupFunction } from 'node:net'
import { callHttp, HttpAgents } from '../../lib/http-client.ts'
import { type FaultKind, KeyServiceFault, type Outbound, unanswered } from '../key-service.ts'
import { maxInFlight } from './remote-signer.ts'

/** Requests to one kind of key service with a REST interface, over connections that stay open. */
export class RestService {
  readonly #name: string
  readonly #lookup: LookupFunction | undefined
  readonly #agents: HttpAgents

  /** `name`: as messages name the key service. `tls`: its authorities, and the certificate of the client. */
  constructor(name: string, { lookup }: Pick<Outbound, 'lookup'>, tls: Pick<AgentOptions, 'ca' | 'cert' | 'key'> = {}) {
    this.#name = name
    this.#lookup = lookup
    this.#agents = new HttpAgents({ maxSockets: maxInFlight }, tls)
  }

  /** Rejects with KeyServiceFault (`unavailable`) when there is no answer. */
  async send(request: Omit<JsonRequest, 'lookup' | 'agents'>): Promise<JsonAnswer> {
    try {
      return await requestJson({ ...request, lookup: this.#lookup, agents: this.#agents })
    } catch (error) {
      throw unanswered(this.#name, error)
    }
  }
}

/** By the meaning of HTTP's status codes (RFC 9110, RFC 6585). */
export function kindOfStatus(status: number): FaultKind {
  if (status === 429) return 'throttled'
  return status >= 500 || status === 408 ? 'unavailable' : 'refused'
}

/** The token that a vendor's package gets, or the fault: without a token nothing is signed. */
export async function tokenOf(name: string, get: () => Promise<string | null | undefined>): Promise<string> {
  try {
    const token = await get()
    if (token) return token
  } catch (error) {
    if (error instanceof KeyServiceFault) throw error
    throw new KeyServiceFault(kindOfTokenError(error), `no access token for ${name}`, (error as Error).message)
  }
  throw new KeyServiceFault('refused', `no access token for ${name}`)
}

/** A refusal has the status of an answer, or a code of the package; any other error means that there was no answer. */
function kindOfTokenError(error: unknown): FaultKind {
  const { status, response, code, errorCode } = error as {
    status?: unknown
    response?: { status?: unknown }
    code?: unknown
    errorCode?: unknown
  }
  const answered = [status, response?.status].find((value) => typeof value === 'number')
  if (typeof answered === 'number') return kindOfStatus(answered)
  const word = `${textMember(error, 'code') ?? code} ${errorCode}`
  return /ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|network|timeout|endpoints_resolution/i.test(word)
    ? 'unavailable'
    : 'refused'
}

const maxAnswerBytes = 65_536

interface JsonRequest {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  /** Undefined: no body. */
  body?: unknown
  lookup: LookupFunction | undefined
  signal: AbortSignal
  /** Keeps connections open for later requests. Absent: a connection of its own. */
  agents?: HttpAgents
}

export interface JsonAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Undefined when the answer is not JSON. */
  body: unknown
}

/** A request with a JSON body. Reads at most 64 KiB. */
export async function requestJson({ body, headers, ...request }: JsonRequest): Promise<JsonAnswer> {
  const json = body === undefined ? {} : { 'Content-Type': 'application/json' }
  const chunks: Buffer[] = []
  let bytes = 0
  const answer = await callHttp({
    ...request,
    headers: { Accept: 'application/json', ...headers, ...json },
    body: body === undefined ? undefined : JSON.stringify(body),
    take(chunk) {
      bytes += chunk.length
      if (bytes > maxAnswerBytes) throw new Error(`The answer has more than ${maxAnswerBytes} bytes`)
      chunks.push(chunk)
      return undefined
    },
  })
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: answer.status, headers: answer.headers, text, body: parsed(text) }
}

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
