import { Agent as HttpAgent } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent } from 'node:https'
import { type JsonAnswer, type JsonRequest, requestJson, textMember } from './json-request.ts'
import { type FaultKind, KeyServiceFault, type Outbound, unanswered } from './key-service.ts'
import { max_in_flight } from './remote-signer.ts'

/** Requests to one kind of key service with a REST interface, over connections that stay open. */
export interface RestService {
  /** Rejects with KeyServiceFault (`unavailable`) when there is no answer. */
  send(request: Omit<JsonRequest, 'lookup' | 'agent'>): Promise<JsonAnswer>
}

/** `name`: as messages name the key service. `tls`: its authorities, and the certificate of the client. */
export function createRestService(
  name: string,
  { lookup }: Pick<Outbound, 'lookup'>,
  tls: Pick<AgentOptions, 'ca' | 'cert' | 'key'> = {},
): RestService {
  const options = { keepAlive: true, maxSockets: max_in_flight }
  const agents = { http: new HttpAgent(options), https: new HttpsAgent({ ...options, ...tls }) }
  return {
    async send(request) {
      const agent = request.url.startsWith('https:') ? agents.https : agents.http
      try {
        return await requestJson({ ...request, lookup, agent })
      } catch (error) {
        throw unanswered(name, error)
      }
    },
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
