import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Returns the reason why the service may not call a URL, for webhooks and RPC URLs. Private addresses are those of IANA's
 * special-purpose registries (RFC 6890), which include the metadata services of clouds (link-local).
 */
export type TargetCheck = (url: URL) => string | undefined

const privateRanges = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Link-local, with the metadata services of most clouds; the next address is Azure's.
  ['169.254.0.0', 16],
  ['168.63.129.16', 32],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  privateRanges.addSubnet(network, prefix, 'ipv4')
}

// Only 2000::/3 is public in IPv6, except ranges that embed an IPv4 address (6to4, Teredo) or are for documentation.
const publicIpv6 = new BlockList()
publicIpv6.addSubnet('2000::', 3, 'ipv6')
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  privateRanges.addSubnet(network, prefix, 'ipv6')
}

/** `address`: an IP address as text, without brackets. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return true
  if (family === 4) return privateRanges.check(address, 'ipv4')
  return !publicIpv6.check(address, 'ipv6') || privateRanges.check(address, 'ipv6')
}

/** Names that resolve only inside a network, including those without a dot. */
const privateNames = /^[^.]*\.?$|(?:^|\.)(?:localhost|local|internal|home\.arpa|metadata\.goog)\.?$/i

/** Checks the text of a URL. Undefined: the URL may be called. Names are resolved and checked at each call. */
export function targetFault(url: URL, allowPrivateTargets: boolean): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must be an http or https URL'
  if (url.username || url.password) return 'must not contain a user name or password'
  if (allowPrivateTargets) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const forbidden = isIP(host) ? isPrivateAddress(host) : privateNames.test(host)
  return forbidden ? 'must have a public address (ALLOW_PRIVATE_TARGETS=true allows private ones)' : undefined
}

/**
 * Resolves names for outgoing connections, and returns only public addresses, so that the connection goes to the checked address. (A
 * literal IP address is not resolved; the check of the text covers it.)
 */
export function lookupPublic(
  ...[hostname, options, callback, resolve = lookup]: [...Parameters<LookupFunction>, resolve?: Resolve]
): void {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    const refused = error ?? forbiddenAmong(addresses)
    if (refused) callback(refused, [])
    else if (options.all) callback(null, addresses)
    else callback(null, (addresses[0] as LookupAddress).address, (addresses[0] as LookupAddress).family)
  })
}

/** The signature of `lookup` in node:dns. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** One private address among several refuses the name, because a retry could reach it. */
function forbiddenAmong(addresses: LookupAddress[]): Error | null {
  if (addresses.length === 0) return new Error('The host name has no address')
  return addresses.some(({ address }) => isPrivateAddress(address))
    ? new Error('The host name resolves to a private address')
    : null
}
