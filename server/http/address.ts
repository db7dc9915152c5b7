import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

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
