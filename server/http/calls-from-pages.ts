import type { RequestHandler } from 'express'
import { ApiError } from '../core/errors.ts'

/** The path that the pages of sponsorships call from browsers. */
const path = '/rpc'
const preflight = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'authorization, content-type, idempotency-key, x-api-key',
  'Access-Control-Max-Age': '600',
}

/**
 * Lets pages of other origins call `/rpc` (Fetch standard, "HTTP CORS protocol"), and reads its API key from `X-API-Key` too. `origins`: those
 * that any sponsorship lists; which key may be used from which of them is checked with the key. A browser asks before it
 * knows the key: an origin that is not listed gets 403.
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
    if (!(await origins()).has(origin)) {
      const details = [{ path: '/headers/origin', message: 'no sponsorship lists this origin' }]
      throw new ApiError('forbidden', 'Forbidden', details)
    }
    response.setHeader('Access-Control-Allow-Origin', origin)
    response.setHeader('Access-Control-Expose-Headers', 'retry-after, x-request-id')
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
    if (request.method !== 'OPTIONS') return next()
    response.writeHead(204, preflight).end()
  }
}
