import type { RpcErrorObject } from './rpc-error.ts'

/** Shorter parts are not secret, and occur in ordinary messages. */
const min_characters = 8
const mask = '***'

/**
 * Redacts a node's URL in its error messages: providers put API keys into the path and the query, some nodes and proxies repeat the
 * URL, and callers see the message.
 */
export function urlScrubber(url: string): (error: RpcErrorObject) => RpcErrorObject {
  const { pathname, search, searchParams } = new URL(url)
  const raw = [...pathname.split('/'), ...search.split(/[?&=]/)]
  const parts = new Set([...raw, ...raw.map(decoded), ...searchParams.values()])
  const secrets = [...parts].filter((part) => part.length >= min_characters).sort((a, b) => b.length - a.length)
  const scrub = (value: unknown): unknown => {
    if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, mask), value)
    if (Array.isArray(value)) return value.map(scrub)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [scrub(name), scrub(one)]))
  }
  return (error) => (secrets.length === 0 ? error : (scrub(error) as RpcErrorObject))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
