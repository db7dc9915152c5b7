import type { RequestHandler } from 'express'
import { ApiError } from './errors.ts'

const notListed = 'no sponsorship lists this origin'
/** The path that the pages of sponsorships call from browsers. */
const path = '/rpc'
const preflight = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'authorization, content-type, idempotency-key, x-api-key',
  'Access-Control-Max-Age': '600',
}

/**
 * Lets pages of other origins call `/rpc` (Fetch standard, "HTTP CORS protocol"), and reads its API key from `X-API-Key` too. `origins`: those
 * that any sponsorship lists; which key may be used from which of them is checked with the key. A browser asks first, without the key:
 * an origin that is not listed gets 403.
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
    if (!isListed) throw new ApiError('forbidden', 'Forbidden', [{ path: '/headers/origin', message: notListed }])
    response.writeHead(204, preflight).end()
  }
}
