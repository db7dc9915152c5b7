import type { IncomingMessage } from 'node:http'

/** A request's target may name the scheme and the host too (RFC 9112, 3.2.2). */
const origin = /^https?:\/\/[^/?]*/i

export function pathOf({ url = '' }: IncomingMessage): string {
  const question = url.indexOf('?')
  const path = question < 0 ? url : url.slice(0, question)
  return plainPath(path.startsWith('/') ? path : path.replace(origin, ''))
}

/** RFC 3986, 6.2.2.2: an unreserved character is the same whether it is percent-encoded or not. */
const plainPath = (path: string): string =>
  path.includes('%') ? path.replaceAll(unreserved, (encoded) => decodeURIComponent(encoded)) : path

const unreserved = /%(?:2[DE]|3\d|[46][1-9A-F]|[57][0-9A]|5F|7E)/gi

export function queryOf({ url = '' }: IncomingMessage): string {
  const question = url.indexOf('?')
  return question < 0 ? '' : url.slice(question + 1)
}
