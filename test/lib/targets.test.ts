import { expect, test } from 'vitest'
import { isPrivateAddress, targetFault } from '../../server/lib/ssrf-guard.ts'
import { hostileUrls, privateIpv4, privateIpv6 } from '../support/hostile-urls.ts'

const check = (url: URL) => targetFault(url, false)

/** Whether the service would call it: it is no URL at all, or the check says why not. */
const refused = (text: string): boolean => {
  const url = URL.parse(text)
  return url === null || check(url) !== undefined
}

// The addresses right beside those ranges, and public resolvers.
const publicIpv4 = `1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
  169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255
  198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 1.1.1.1 8.8.8.8 9.9.9.9`.split(/\s+/)

const publicIpv6 = `2001:4860:4860::8888 2606:4700:4700::1111 2620:fe::fe 2a00:1450:4001:800::200e 2400:cb00::1
  2001:200::1 2003::1 3ffe:ffff::1`.split(/\s+/)

test.each([
  ['private', [...privateIpv4, ...privateIpv6], true],
  ['public', [...publicIpv4, ...publicIpv6], false],
] as const)('classifies %s, alone and in a URL', (_, addresses, expected) => {
  for (const address of addresses) {
    expect.soft(isPrivateAddress(address), address).toBe(expected)
    const host = address.includes(':') ? `[${address}]` : address
    expect.soft(refused(`http://${host}/`), host).toBe(expected)
    expect.soft(refused(`https://${host}:8443/path?query`), host).toBe(expected)
  }
})

test('treats text that is not an address as private, so that a name passed by mistake is refused', () => {
  for (const text of ['', 'example.com', '1.2.3', '1.2.3.4.5', '[::1]', '256.1.1.1', '0x7f000001', '8.8.8.8 ']) {
    expect.soft(isPrivateAddress(text), text).toBe(true)
  }
})

test('rejects hostile URLs', () => {
  expect(hostileUrls.length).toBeGreaterThanOrEqual(120)
  for (const url of hostileUrls) expect.soft(refused(url), url).toBe(true)
  // A tab or a line break inside is dropped when a URL is parsed.
  for (const url of ['http://127.0.\t0.1', 'http://local\nhost', ' http://localhost '])
    expect.soft(refused(url)).toBe(true)
})

test('rejects the metadata services of clouds, also by public-looking addresses and names', () => {
  // Azure's wire server (168.63.129.16); GCP's metadata.goog; and a name without a dot is nothing on the internet.
  for (const host of ['168.63.129.16', 'metadata.goog', 'METADATA.goog.', 'metadata', 'instance-data', 'redis']) {
    expect.soft(refused(`http://${host}/`), host).toBe(true)
  }
})

const harmless =
  `https://example.com http://example.com:8080/path?a=b#c https://EXAMPLE.com. https://hooks.slack.com/services/x
  https://mylocalhost.com https://localhost.example.com https://local.example.com https://internal.example.com
  https://notlocal.com https://a.internals.com https://xn--bcher-kva.example https://bücher.example https://8.8.8.8
  https://134744072 https://0x08080808 https://[2606:4700:4700::1111]:8443 https://example.com/@user
  https://10.0.0.1.example.com https://127.0.0.1.example.com`.split(/\s+/)

test('accepts a public address, and resolves a name at the call', () => {
  for (const url of harmless) expect.soft(refused(url), url).toBe(false)
})

test('checks only scheme, name and password of URLs where private targets are allowed', () => {
  const lenient = (url: URL) => targetFault(url, true)
  for (const url of ['http://127.0.0.1:8545', 'http://localhost', 'http://[::1]', 'https://169.254.169.254']) {
    expect.soft(lenient(new URL(url)), url).toBeUndefined()
  }
  for (const url of ['ftp://127.0.0.1', 'http://user@localhost', 'http://:pass@localhost', 'file:///etc/passwd']) {
    expect.soft(lenient(new URL(url)), url).toBeTypeOf('string')
  }
})
