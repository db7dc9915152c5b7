import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

/** Whether a text is an address, and one of these or in one of these networks (10.0.0.0/8, fd00::/8). */
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
 * Where a request comes from: the other end of its connection or, while that is a trusted proxy, the one that it names (it adds
 * to the end of X-Forwarded-For). Whatever stands before is anybody's claim.
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
