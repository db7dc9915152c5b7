import type {
  CreateSignerRequest,
  GeneratedSignerRequest,
  KeystoreSignerRequest,
  PlainSignerRequest,
} from '../../generated/openapi.ts'
import type { TargetCheck } from '../outbound/address-guard.ts'
import { azure_domains } from './azure-identity.ts'
import { google_domains, google_endpoint } from './google-cloud-kms.ts'
import { vendorFault } from './vendor-host.ts'

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
  const [field, message] = fieldAndFault(reference, checkTarget)
  return message === undefined ? undefined : { field, message }
}

function fieldAndFault({ type, config }: KeyReference, checkTarget: TargetCheck): [string, string | undefined] {
  switch (type) {
    case 'aws_kms':
      return ['endpoint', config.endpoint === undefined ? undefined : checkTarget(new URL(config.endpoint))]
    case 'google_cloud_kms':
      return ['endpoint', vendorFault(config.endpoint ?? google_endpoint, google_domains, checkTarget)]
    case 'azure_key_vault':
      return ['vault_url', vendorFault(config.vault_url, azure_domains, checkTarget)]
    case 'pkcs11':
      return [
        'key_label',
        (config.key_label ?? config.key_id) ? undefined : 'must be given, or key_id; or both of them',
      ]
    case 'remote':
    case 'vault':
      return ['url', checkTarget(new URL(config.url))]
  }
}
