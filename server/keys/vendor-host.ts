const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * The reason why a URL may not be called with an access token of the service; undefined: it may. A token goes only to hosts of the
 * vendor: a caller who creates signers must not be able to send it elsewhere. A loopback address is for an emulator.
 */
export function vendorFault(
  url: string,
  domains: string[],
  checkUrl: (url: string) => string | undefined,
): string | undefined {
  if (!URL.canParse(url)) return checkUrl(url)
  const { protocol, hostname } = new URL(url)
  const isVendor = protocol === 'https:' && domains.some((domain) => hostname.endsWith(`.${domain}`))
  if (isVendor || loopback.test(hostname)) return checkUrl(url)
  return `must be an https URL of a host in ${domains.join(', ')}`
}
