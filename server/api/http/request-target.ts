import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { distance } from 'fastest-levenshtein'

/** The scheme and host of a target in absolute form (RFC 9112, 3.2.2). */
const origin = /^https?:\/\/[^/?]*/i
/** Percent-encoded unreserved characters, which are equivalent to the characters (RFC 3986, 2.3). */
const unreserved = /%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/gi

/** The target in origin form, with unreserved characters decoded (RFC 3986, 6.2.2.2), as the routes expect it. */
export function normalizeTarget(target: string): string {
  const local = target.startsWith('/') ? target : target.replace(origin, '').replace(/^(?!\/)/, '/')
  if (!local.includes('%')) return local
  const end = local.indexOf('?')
  const path = end < 0 ? local : local.slice(0, end)
  return path.replaceAll(unreserved, (code) => decodeURIComponent(code)) + local.slice(path.length)
}

/** The query of a target, without its question mark. */
export function searchOf(target: string): string {
  const start = target.indexOf('?')
  return start < 0 ? '' : target.slice(start + 1)
}

/** Returns a check whether a text is an IP address that is listed, or is in a listed network (10.0.0.0/8, fd00::/8). */
export function networkCheck(networks: string[]): (text: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix] = network.split('/')
    if (prefix === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(prefix), familyOf(address))
  }
  return (text) => isIP(text) !== 0 && list.check(text, familyOf(text))
}

/**
 * The client address of a request: the peer of its connection or, while the address is a trusted proxy's, the last address of
 * X-Forwarded-For, which that proxy appended. Earlier addresses are not trusted: a client can send any.
 */
export function addressReader(trustedProxies: string[]): (request: IncomingMessage) => string {
  const isTrusted = networkCheck(trustedProxies)
  return ({ socket, headers }) => {
    // Node joins several such headers with commas.
    const forwarded = headers['x-forwarded-for'] as string | undefined
    const named = forwarded === undefined ? [] : forwarded.split(',')
    let address = socket.remoteAddress ?? ''
    while (named.length > 0 && isTrusted(address)) address = (named.pop() as string).trim()
    return address
  }
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Longer paths are not compared: the time grows with the square of the length. */
const maxLength = 200

/** The path of the contract that is most like a request's, with the values that it has for parameters; undefined: none is like it. */
export function nearestPath(paths: readonly string[], requested: string): string | undefined {
  if (requested.length > maxLength) return undefined
  const segments = requested.replace(/\/+$/, '').split('/')
  const [nearest] = paths
    .map((template) => {
      const path = filled(template, segments)
      return { path, far: distance(path, segments.join('/')), own: template.replaceAll(/\{\w+\}/g, '').length }
    })
    // Half of its own words are the same.
    .filter(({ far, own }) => 2 * far <= own)
    .sort((a, b) => a.far - b.far)
  return nearest?.path
}

/** A parameter takes the segment of the request that stands in its place, when its path begins alike. */
const filled = (path: string, segments: string[]): string => {
  const own = path.split('/')
  // A request without the version, or with another, has its segments elsewhere.
  const shift = segments.length < own.length && segments[1] !== own[1] ? own.length - segments.length : 0
  return own.map((part, index) => (part.startsWith('{') ? (segments[index - shift] ?? part) : part)).join('/')
}
