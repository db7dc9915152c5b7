import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Request, Response } from 'express'
import { securityHeaders } from './headers.ts'
import { document, plainText, type Reference, redirectToConsole } from './reference.ts'

const folder = join(import.meta.dirname, '..', '..', '..', 'generated', 'console')

/** The console runs its own scripts and asks its own service; nothing else. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/**
 * The console as `npm run build:console` built it. Its pages are in the fragment of one address. A file is read at its first request,
 * and served from memory, compressed; a browser stores none. `isBuilt` is false when the installation skipped the build; the service works
 * without.
 */
export function readConsole(): { pages: Reference; isBuilt: boolean } {
  const files = filesIn(folder)
  const page = files.find(({ name }) => name === 'index.html')
  if (!page) {
    const text = 'The console is not built. Run `npm run build:console`, then start the service again.\n'
    return { pages: [document('/console', plainText, () => Buffer.from(text))], isBuilt: false }
  }
  const assets = files.filter((file) => file !== page).map(({ name, file }) => asset(`/console/${name}`, file))
  const own = [asset('/console', page.file), asset('/console/', page.file), ...assets]
  return { pages: [...own, { path: '/console/*page', serve: redirectToConsole }], isBuilt: true }
}

function asset(path: string, file: string): Reference[number] {
  const type = types[extname(path) || '.html']
  if (type === undefined) throw new Error(`The console has a file of an unknown type: ${path}`)
  // Compressed for the first request, because it takes some milliseconds.
  let compressed: Buffer | undefined
  let content: Buffer | undefined
  // As for the reference: no token is needed, so a connection carries one file only.
  const headers = { ...securityHeaders, 'Content-Type': type, 'Content-Security-Policy': policy, Connection: 'close' }
  return {
    path,
    serve({ headers: { 'accept-encoding': accepted = '' } }: Request, response: Response) {
      const isCompressed = /\bgzip\b/.test(String(accepted))
      content ??= readFileSync(file)
      if (isCompressed) compressed ??= gzipSync(content)
      const body = (isCompressed && compressed) || content
      response.writeHead(200, {
        ...headers,
        Vary: 'Accept-Encoding',
        'Content-Length': body.length,
        ...(isCompressed && { 'Content-Encoding': 'gzip' }),
        'X-Request-Id': response.locals.request_id,
      })
      response.end(body)
    },
  }
}

function filesIn(root: string): { name: string; file: string }[] {
  try {
    return readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name, parentPath }) => {
        const file = join(parentPath, name)
        return { name: file.slice(root.length + 1).replaceAll('\\', '/'), file }
      })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
