import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import { ApiError } from './errors.ts'

/** Whether a header is given more than once. Node silently keeps the first Authorization and Host. `name`: in lower case. */
export function isDoubled({ rawHeaders }: IncomingMessage, name: string): boolean {
  let isSeen = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] as string
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    if (isSeen) return true
    isSeen = true
  }
  return false
}

/**
 * The headers of every response, including refusals by Node's parser: a browser does not store, sniff, execute or frame a response,
 * sends no referrer, and does not give the response to other origins.
 */
export const securityHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** The same headers as lines, for responses that are written to a raw socket. */
export const securityLines = Object.entries(securityHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')

const notListed = 'no sponsorship lists this origin'
/** The path that the pages of sponsorships call from browsers. */
const path = '/api/v1/rpc'
const preflight = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'authorization, content-type, idempotency-key, x-api-key',
  'Access-Control-Max-Age': '600',
}

/**
 * Lets pages of other origins call `/api/v1/rpc` (Fetch standard, "HTTP CORS protocol"), and reads its API key from `X-API-Key` too.
 * `origins`: those that any sponsorship lists; which key may be used from which of them is checked with the key. A browser asks first,
 * without the key: an origin that is not listed gets 403.
 */
export function callsFromPages(origins: () => Promise<ReadonlySet<string>>): RequestHandler {
  return async function calls(request, response, next) {
    if (request.path !== path) return next()
    const { headers } = request
    const key = headers['x-api-key']
    if (headers.authorization === undefined && typeof key === 'string') headers.authorization = `Bearer ${key}`
    const { origin } = headers
    if (origin === undefined) return next()
    response.setHeader('Vary', 'Origin')
    const isListed = (await origins()).has(origin)
    if (isListed) {
      response.setHeader('Access-Control-Allow-Origin', origin)
      response.setHeader('Access-Control-Expose-Headers', 'retry-after, x-request-id')
      response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
    }
    if (request.method !== 'OPTIONS') return next()
    if (!isListed)
      throw new ApiError('forbidden', 'The origin is not allowed', [{ path: '/headers/origin', message: notListed }])
    response.writeHead(204, preflight).end()
  }
}
