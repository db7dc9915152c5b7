import type { EndpointFault, Observer } from '../domain/observer.ts'
import type { TargetCheck } from '../lib/ssrf-guard.ts'
import type { Audience } from './answer-limits.ts'
import { Endpoint, TargetRefused } from './endpoint.ts'
import type { Post } from './post.ts'
import type { RpcErrorObject } from './rpc-error.ts'

/** The log names an endpoint with answers that are too large, or cannot be read, once in this time. */
const quietMs = 60_000

export interface EndpointContext {
  openPost(url: string): Post
  /** Why a URL may not be called. It is asked at each call, because a stored URL may be older than the setting. */
  checkTarget: TargetCheck
  /** Monotonic milliseconds. */
  now(): number
  observer: Observer
}

interface Node {
  chain_id: number
  url: string
  weight: number
  /** Whether it is a relayer's own, and not one of the network: whoever manages the relayer has named it. */
  isCustom: boolean
}

/** Opens an endpoint that calls only what may be called, and reports its state and its calls. */
export function openEndpoint(context: EndpointContext, node: Node, audience: Audience): Endpoint {
  const { chain_id, url, weight } = node
  const post = permitted(context.openPost(url), url, context.checkTarget)
  const endpoint = new Endpoint({ post, weight, chain_id, audience, now: context.now, scrub: urlScrubber(url) })
  watch(endpoint, { ...node, audience }, context)
  return endpoint
}

/** Calls nothing while the URL may not be called. */
function permitted(post: Post, url: string, checkTarget: TargetCheck): Post {
  const checked: Post = async (...request) => {
    const reason = checkTarget(new URL(url))
    if (reason !== undefined) throw new TargetRefused(`Its URL ${reason}`)
    return post(...request)
  }
  return Object.assign(checked, { close: () => post.close?.() })
}

/** Reports the host only, because the path and the user may be secrets. */
function watch(
  endpoint: Endpoint,
  { url, chain_id, isCustom, audience }: Node & { audience: Audience },
  { now, observer }: EndpointContext,
): void {
  const { host } = new URL(url)
  // The sender's endpoint reports the node's state. A caller's calls may fail because of what they ask for.
  if (audience === 'service') {
    endpoint.onChange = (reason) => {
      if (reason !== undefined) observer.endpointDown?.({ host, chain_id, reason })
      else observer.endpointUp?.({ host, chain_id, reason: 'It answers again' })
    }
  }
  const seldom = (report: ((fault: EndpointFault) => void) | undefined) => {
    let quietUntil = 0
    return (reason: string) => {
      if (now() < quietUntil) return
      quietUntil = now() + quietMs
      report?.({ host, chain_id, audience, reason })
    }
  }
  endpoint.onTooLarge = seldom(observer.endpointAnsweredTooMuch)
  endpoint.onMalformed = seldom(observer.endpointAnswerMalformed)
  const { rpc } = observer
  if (!rpc) return
  const ask = endpoint.ask.bind(endpoint)
  endpoint.ask = (calls) => rpc({ host, isCustom, methods: calls.map(({ method }) => method) }, () => ask(calls))
}

/** Shorter parts are not secret, and occur in ordinary messages. */
const minCharacters = 8
const mask = '***'
/** A longer text is cut: no error needs it, and every position of a text is compared. Revert data is hex and longer. */
const maxCharacters = 20_000
const hexData = /^0x[0-9a-f]*$/i

/**
 * Redacts a node's URL in its error messages: providers put API keys into the path and the query, some nodes and proxies repeat the
 * URL, and callers see the message. Eight consecutive characters of a part are redacted, in any case, and as base64 or hex.
 */
export function urlScrubber(url: string): (error: RpcErrorObject) => RpcErrorObject {
  const { pathname, search, searchParams } = new URL(url)
  const raw = [...pathname.split('/'), ...search.split(/[?&=]/)]
  const parts = new Set([...raw, ...raw.map(decoded), ...searchParams.values()])
  const secrets = [...parts].filter((part) => part.length >= minCharacters)
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
  return Array.from({ length: Math.max(0, text.length - minCharacters + 1) }, (_, at) =>
    text.slice(at, at + minCharacters),
  )
}

/** The two alphabets of base64 are one here. */
const folded = (text: string): string => text.toLowerCase().replaceAll('+', '-').replaceAll('/', '_')

function redacted(given: string, pieces: ReadonlySet<string>): string {
  const isLong = given.length > maxCharacters
  if (isLong && hexData.test(given)) return given
  const text = isLong ? `${given.slice(0, maxCharacters)}…` : given
  const compared = folded(text)
  // Some characters are longer in lower case; positions would not match.
  if (compared.length !== text.length) return redacted(text.replace(/[^\p{ASCII}]/gu, '?'), pieces)
  let shown = ''
  let end = 0
  for (let at = 0; at + minCharacters <= compared.length; at += 1) {
    if (!pieces.has(compared.slice(at, at + minCharacters))) continue
    if (at > end || (at === 0 && shown === '')) shown += `${text.slice(end, at)}${mask}`
    else if (!shown.endsWith(mask)) shown += mask
    end = at + minCharacters
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
