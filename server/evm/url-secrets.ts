import type { RpcErrorObject } from './rpc-error.ts'

/** Shorter parts are not secret, and occur in ordinary messages. */
const min_characters = 8
const mask = '***'
/** A longer text is cut: no error needs it, and every position of a text is compared. Revert data is hex and longer. */
const max_characters = 20_000
const hexData = /^0x[0-9a-f]*$/i

/**
 * Redacts a node's URL in its error messages: providers put API keys into the path and the query, some nodes and proxies repeat the
 * URL, and callers see the message. Eight consecutive characters of a part are redacted, in any case, and as base64 or hex.
 */
export function urlScrubber(url: string): (error: RpcErrorObject) => RpcErrorObject {
  const { pathname, search, searchParams } = new URL(url)
  const raw = [...pathname.split('/'), ...search.split(/[?&=]/)]
  const parts = new Set([...raw, ...raw.map(decoded), ...searchParams.values()])
  const secrets = [...parts].filter((part) => part.length >= min_characters)
  const pieces = new Set(secrets.flatMap(formsOf).flatMap(piecesOf))
  const scrub = (value: unknown): unknown => {
    if (typeof value === 'string') return redacted(value, pieces)
    if (Array.isArray(value)) return value.map(scrub)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [scrub(name), scrub(one)]))
  }
  return (error) => (pieces.size === 0 ? error : (scrub(error) as RpcErrorObject))
}

/** The spellings of a secret. Base64 has three, which depend on the bytes before it; characters that depend on others are left out. */
function formsOf(secret: string): string[] {
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.from('\0'.repeat(before) + secret).toString('base64url')
    return text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + secret.length) * 4) / 3))
  })
  return [secret, encodeURIComponent(secret), Buffer.from(secret).toString('hex'), ...base64]
}

const piecesOf = (form: string): string[] => {
  const text = folded(form)
  return Array.from({ length: Math.max(0, text.length - min_characters + 1) }, (_, at) =>
    text.slice(at, at + min_characters),
  )
}

/** The two alphabets of base64 are one here. */
const folded = (text: string): string => text.toLowerCase().replaceAll('+', '-').replaceAll('/', '_')

function redacted(given: string, pieces: ReadonlySet<string>): string {
  const isLong = given.length > max_characters
  if (isLong && hexData.test(given)) return given
  const text = isLong ? `${given.slice(0, max_characters)}…` : given
  const compared = folded(text)
  // Some characters are longer in lower case; positions would not match.
  if (compared.length !== text.length) return redacted(text.replace(/[^\p{ASCII}]/gu, '?'), pieces)
  let shown = ''
  let end = 0
  for (let at = 0; at + min_characters <= compared.length; at += 1) {
    if (!pieces.has(compared.slice(at, at + min_characters))) continue
    if (at > end || (at === 0 && shown === '')) shown += `${text.slice(end, at)}${mask}`
    else if (!shown.endsWith(mask)) shown += mask
    end = at + min_characters
  }
  return shown + text.slice(end)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
