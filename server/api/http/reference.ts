import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { securityHeaders } from './headers.ts'

/**
 * The published documents: the API reference and the contract. They need no token, and are served from memory after their first request.
 */
export type Reference = { path: string; serve: RequestHandler }[]

const root = join(import.meta.dirname, '..', '..', '..')
const referenceFile = 'generated/reference.html'
export const plainText = 'text/plain; charset=utf-8'

export function readReference(): Reference {
  const page = existsSync(join(root, referenceFile))
  return [
    { path: '/', serve: redirectToConsole },
    document('/openapi.json', 'application/json; charset=utf-8', () => read('generated/openapi.json')),
    document('/openapi.yaml', 'application/yaml; charset=utf-8', () => read('openapi.yaml')),
    page
      ? document('/docs', 'text/html; charset=utf-8', () => read(referenceFile), pagePolicy)
      : document('/docs', plainText, () => Buffer.from('Run `npm run docs` to build the API reference.\n')),
  ]
}

/**
 * Sends a browser that opens the service's address, or a page of the console by a path, to the console: its pages are in the fragment
 * of one address. Any other client gets the usual failure.
 */
export function redirectToConsole(request: Request, response: Response, next: NextFunction): void {
  if (!asksForHtml(request)) {
    next()
    return
  }
  const [, page] = request.path.split(/^\/console(?=\/)/)
  const Location = page === undefined ? '/console' : `/console#${page}`
  response.writeHead(302, { ...securityHeaders, Location, Vary: 'Accept', 'Content-Length': 0 }).end()
}

/** `Accept` names text/html itself: the wildcard that curl and fetch send does not count. */
const asksForHtml = ({ headers }: Request): boolean => /\btext\/html\b/i.test(headers.accept ?? '')

const read = (file: string): Buffer => readFileSync(join(root, file))

/**
 * The page may run only its own scripts, listed by hash, and may load nothing. Redoc's search works without the worker that this
 * policy forbids.
 */
function pagePolicy(page: Buffer): string {
  const hashes = [...page.toString('utf8').matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)]
    .map(
      ([, script]) =>
        `'sha256-${createHash('sha256')
          .update(script as string)
          .digest('base64')}'`,
    )
    .join(' ')
  return [
    "default-src 'none'",
    `script-src ${hashes}`,
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The address of a service with the first settings. The samples of the documents name it. */
const firstAddress = '127.0.0.1:8080'

/** The document with the port that serves it. */
function withPort(content: Buffer, port: number | undefined): Buffer {
  const own = `127.0.0.1:${port}`
  return own === firstAddress ? content : Buffer.from(content.toString('utf8').replaceAll(firstAddress, own))
}

/** A public document, which its first request reads: together they are 5 MB. */
export function document(path: string, type: string, read: () => Buffer, policyOf?: (content: Buffer) => string) {
  const headers = {
    'Content-Type': type,
    ...securityHeaders,
    // The document is public, and a browser may keep it if it revalidates.
    'Cache-Control': 'no-cache',
    // No token is needed: one document per connection, so that pipelined requests cannot fill the system's send buffers.
    Connection: 'close',
  }
  // Hashing the scripts of the page takes 10 ms, so its first request does it.
  let made: { body: Buffer; policy: Record<string, string> | undefined } | undefined
  let packed: Promise<Buffer> | undefined
  function make(port: number | undefined) {
    const body = withPort(read(), port)
    const policy = policyOf && { 'Content-Security-Policy': policyOf(body) }
    return { body, policy }
  }
  return {
    path,
    async serve({ socket, headers: { 'accept-encoding': accepted = '' } }: Request, response: Response) {
      made ??= make(socket.localPort)
      const isPacked = /\bgzip\b(?!;q=0)/i.test(accepted)
      if (isPacked) packed ??= promisify(gzip)(made.body)
      const body = isPacked && packed ? await packed : made.body
      response.writeHead(200, {
        ...{ ...headers, ...made.policy, 'X-Request-Id': response.locals.request_id },
        ...(isPacked && { 'Content-Encoding': 'gzip' }),
        ...{ Vary: 'Accept-Encoding', 'Content-Length': body.length },
      })
      response.end(body)
    },
  }
}
