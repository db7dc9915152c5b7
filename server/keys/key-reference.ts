import type {
  CreateSignerRequest,
  GeneratedSignerRequest,
  KeystoreSignerRequest,
  PlainSignerRequest,
} from '../../generated/openapi.ts'
import type { TargetCheck } from '../lib/ssrf-guard.ts'
import { azureDomains } from './providers/azure-key-vault.ts'
import { googleDomains, googleEndpoint } from './providers/google-cloud-kms.ts'

/** A reference to a key in a key service: the type of the signer and its configuration. */
export type KeyReference = WithoutId<
  Exclude<CreateSignerRequest, PlainSignerRequest | KeystoreSignerRequest | GeneratedSignerRequest>
>
type WithoutId<Request> = Request extends unknown ? Omit<Request, 'id'> : never

/** The field of the configuration with a URL that may not be called, and the reason; undefined: all may be. */
export function urlFault(
  reference: KeyReference,
  checkTarget: TargetCheck,
): { field: string; message: string } | undefined {
  const [field, message] = fieldAndFault(reference, checked(checkTarget))
  return message === undefined ? undefined : { field, message }
}

/** The contract's pattern accepts some URLs that URL does not, for example with %2f in the host. */
const checked = (checkTarget: TargetCheck) => (url: string) =>
  URL.canParse(url) ? checkTarget(new URL(url)) : 'must be a valid URL'

function fieldAndFault(
  { type, config }: KeyReference,
  checkUrl: (url: string) => string | undefined,
): [string, string | undefined] {
  switch (type) {
    case 'aws_kms':
      return ['endpoint', config.endpoint === undefined ? undefined : checkUrl(config.endpoint)]
    case 'google_cloud_kms':
      return ['endpoint', vendorFault(config.endpoint ?? googleEndpoint, googleDomains, checkUrl)]
    case 'azure_key_vault':
      return ['vault_url', vendorFault(config.vault_url, azureDomains, checkUrl)]
    case 'pkcs11':
      return [
        'key_label',
        (config.key_label ?? config.key_id) ? undefined : 'must be given, or key_id; or both of them',
      ]
    case 'remote':
    case 'vault':
      return ['url', checkUrl(config.url)]
  }
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

/**
 * The reason why a URL may not be called with an access token of the service; undefined: it may. A token goes only to hosts of the
 * vendor: a caller who creates signers must not be able to send it elsewhere. A loopback address is for an emulator.
 */
function vendorFault(
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
