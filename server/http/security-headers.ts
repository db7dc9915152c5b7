/**
 * What every answer carries, Node's own refusals too: a browser that is led to an answer keeps nothing of it, takes it for nothing
 * but what it says it is, runs nothing in it, frames it nowhere, and gives it to no other origin's page.
 */
export const securityHeaders = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/** The same as lines, for an answer that is written by hand. */
export const securityLines = Object.entries(securityHeaders)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('')
