import type { IncomingMessage } from 'node:http'

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
