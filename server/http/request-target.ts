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
