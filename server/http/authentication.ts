import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../errors.ts'
import type { Caller } from '../operation.ts'

/** Says who calls. Throws ApiError (401) for a token that is missing, doubled, malformed or wrong: always the same answer. */
export type Authenticate = (request: IncomingMessage) => Caller

/** RFC 6750: one header, the scheme in any case, one space, a token of its characters. */
const bearer = /^bearer ([A-Za-z0-9\-._~+/]{1,512}=*)$/i

export function createAuthentication(apiKey: string): Authenticate {
  const wanted = digest(apiKey)
  const caller: Caller = { id: 'environment' }

  return (request) => {
    const { authorization } = request.headers
    const token = authorization === undefined || isDoubled(request) ? undefined : bearer.exec(authorization)?.[1]
    // Digests have one length, and comparing them tells nothing about the key, however long it takes.
    if (token === undefined || !timingSafeEqual(digest(token), wanted)) {
      throw new ApiError('unauthorized', 'Unauthorized', [], { 'WWW-Authenticate': 'Bearer' })
    }
    return caller
  }
}

const digest = (text: string) => hash('sha256', text, 'buffer')

/** Node keeps the first of two Authorization headers and says nothing. */
function isDoubled({ rawHeaders }: IncomingMessage): boolean {
  let seen = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue
    if (seen) return true
    seen = true
  }
  return false
}
