import type { RpcErrorObject } from './rpc-error.ts'

/** Shorter parts are no secret, and stand in many a message. */
const min_characters = 8
const mask = '***'

/**
 * Takes the parts of a node's URL in which providers put their keys (path and query) out of an error that the node answers: some
 * nodes, and what stands before them, say how they were called, and callers and transactions are told what nodes say.
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
