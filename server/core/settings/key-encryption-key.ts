/** A key-encryption key: a key in a key service that encrypts the master key, as the setting MASTER_KEY names it. */
export type KeyEncryptionKey = { name: string } & (AwsKey | GoogleKey | VaultKey)

export interface AwsKey {
  service: 'aws-kms'
  key_id: string
  region?: string
  endpoint?: string
}

export interface GoogleKey {
  service: 'gcp-kms'
  /** projects/.../cryptoKeys/NAME */
  key: string
  endpoint?: string
}

/** A key of the Transit engine. The server and the credentials are settings of their own. */
export interface VaultKey {
  service: 'vault'
  mount: string
  key: string
}

export const key_encryption_key_forms =
  'aws-kms:KEY-ID-OR-ARN, gcp-kms:projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY or vault:MOUNT/KEY'

const names = {
  'aws-kms': /^[A-Za-z0-9:/_-]{1,2048}$/,
  'gcp-kms': /^projects\/[^/?#\s]{1,63}\/locations\/[\w-]{1,63}\/keyRings\/[\w-]{1,63}\/cryptoKeys\/[\w-]{1,63}$/,
  vault: /^[\w.-]{1,128}(?:\/[\w.-]{1,128}){1,8}$/,
}
const parameters = { 'aws-kms': ['region', 'endpoint'], 'gcp-kms': ['endpoint'], vault: [] as string[] }

const isService = (text: string): text is keyof typeof names => Object.hasOwn(names, text)

/** Undefined when the text names no key in a key service. */
export function readKeyEncryptionKey(text: string): KeyEncryptionKey | undefined {
  const [, name = '', service = '', key = '', query = ''] = /^(([a-z-]+):([^?]+))(?:\?(.*))?$/.exec(text) ?? []
  if (!isService(service) || !names[service].test(key) || /(?:^|\/)\.{1,2}(?:\/|$)/.test(key)) return undefined
  const given = Object.fromEntries(new URLSearchParams(query))
  if (Object.keys(given).some((parameter) => !parameters[service].includes(parameter))) return undefined
  const { region = regionOf(key), endpoint } = given
  if (region !== undefined && !/^[a-z0-9-]{1,64}$/.test(region)) return undefined
  if (endpoint !== undefined && !/^https?:\/\/[^\s/]/.test(endpoint)) return undefined
  const at = endpoint === undefined ? {} : { endpoint }
  if (service === 'aws-kms') return { name, service, key_id: key, ...(region !== undefined && { region }), ...at }
  if (service === 'gcp-kms') return { name, service, key, ...at }
  const slash = key.lastIndexOf('/')
  return { name, service, mount: key.slice(0, slash), key: key.slice(slash + 1) }
}

/** The region in an Amazon Resource Name; undefined in any other text. */
const regionOf = (key: string): string | undefined => /^arn:aws[a-z-]*:kms:([a-z0-9-]+):/.exec(key)?.[1]
