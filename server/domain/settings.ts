import * as v from 'valibot'

// The forms of settings. A message says what must be written, and never quotes a value.

/** Defaults have the form of what an operator writes. */
export const integer = (minimum: number, maximum: number, otherwise: number) =>
  v.optional(anInteger(minimum, maximum), String(otherwise))

export const anInteger = (minimum: number, maximum: number) => {
  const form = `must be an integer from ${minimum} to ${maximum}`
  return v.pipe(
    v.string(),
    v.regex(/^[0-9]{1,9}$/, form),
    v.transform(Number),
    v.check((value) => value >= minimum && value <= maximum, form),
  )
}

export const text = (maximum: number) =>
  v.pipe(v.string(), v.maxLength(maximum, `must have at most ${maximum} characters`))

export const webUrl = v.pipe(text(2_048), v.regex(/^https?:\/\/[^\s/]/, 'must be an http or https URL'))

export const boolean = v.pipe(
  v.picklist(['true', 'false'], 'must be true or false'),
  v.transform((value) => value === 'true'),
)

/** Texts with commas between them. */
export const list = v.pipe(
  text(4_096),
  v.transform((items) => (items === '' ? [] : items.split(',').map((one) => one.trim()))),
)

export const listOf = (isItem: (item: string) => boolean, form: string) =>
  v.optional(
    v.pipe(
      list,
      v.check((items) => items.every(isItem), form),
    ),
    '',
  )

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

const keyEncryptionKeyForms =
  'aws-kms:KEY-ID-OR-ARN, gcp-kms:projects/PROJECT/locations/LOCATION/keyRings/RING/cryptoKeys/KEY or vault:MOUNT/KEY'

const names = {
  'aws-kms': /^[A-Za-z0-9:/_-]{1,2048}$/,
  'gcp-kms': /^projects\/[^/?#\s]{1,63}\/locations\/[\w-]{1,63}\/keyRings\/[\w-]{1,63}\/cryptoKeys\/[\w-]{1,63}$/,
  vault: /^[\w.-]{1,128}(?:\/[\w.-]{1,128}){1,8}$/,
}
const parameters = { 'aws-kms': ['region', 'endpoint'], 'gcp-kms': ['endpoint'], vault: [] as string[] }

const isService = (text: string): text is keyof typeof names => Object.hasOwn(names, text)

/** Undefined when the text names no key in a key service. */
function readKeyEncryptionKey(text: string): KeyEncryptionKey | undefined {
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

export const masterKeyForms = `32 bytes, as 64 hex digits or as base64, or a key in a key service: ${keyEncryptionKeyForms}`

/** A master key, or the key in a key service that encrypts it. Undefined for any other text. */
export const readMasterKeySetting = (text: string): Buffer | KeyEncryptionKey | undefined =>
  keyBytes(text) ?? readKeyEncryptionKey(text)

/** The two members of the configuration, of which at most one is set. */
export const masterKeyOf = (given: Buffer | KeyEncryptionKey | undefined) =>
  given === undefined || given instanceof Uint8Array
    ? { master_key: given, key_encryption_key: undefined }
    : { master_key: undefined, key_encryption_key: given }

/** 32 bytes from 64 hex digits or from base64 (either alphabet); undefined for anything else. */
export function keyBytes(text: string): Buffer | undefined {
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text.slice(-64), 'hex')
  if (/^[A-Za-z0-9+/\-_]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}

/** OpenTelemetry's form: name=value with commas between them, percent-encoded. */
export const headers = v.pipe(
  v.string(),
  v.regex(/^\s*(?:[!#$%&'*+.^_`|~\w-]+\s*=[^,;]*(?:,\s*|$))*$/, 'must be name=value pairs with commas between them'),
  v.check(isPercentEncoded, 'must be percent-encoded'),
  v.transform(readHeaders),
)

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

function readHeaders(list: string): Record<string, string> {
  const pairs = list.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      return [decodeURIComponent(pair.slice(0, at).trim()), decodeURIComponent(pair.slice(at + 1).trim())]
    }),
  )
}

/**
 * By OpenTelemetry's OTLP exporter configuration: the traces endpoint is used unchanged; `/v1/traces` is appended to the endpoint
 * of all signals.
 */
export function tracesUrl(values: {
  OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string | undefined
}): string | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = values
  return own ?? (all && `${all.replace(/\/$/, '')}/v1/traces`)
}

/** Headers by the URL of the remote signer that they are for: its origin and path, as the operator gives them. */
export type HeadersByUrl = Record<string, Record<string, string>>

const baseOf = (url: string) => `${new URL(url).origin}${new URL(url).pathname.replace(/\/$/, '')}`

/** Without a query, so that the URL of a signer can be equal to it. */
const isBase = (text: string) => URL.canParse(text) && baseOf(text) === text.replace(/\/$/, '')

const headersByUrl = v.record(v.pipe(v.string(), v.check(isBase)), v.record(v.string(), v.string()))

/** The setting REMOTE_SIGNER_HEADERS; undefined when it has another form. */
export function readHeadersByUrl(text: string): HeadersByUrl | undefined {
  try {
    return v.parse(headersByUrl, JSON.parse(text))
  } catch {
    return undefined
  }
}

/** A caller who names another path of the same host gets none of them. */
export const headersOf = (url: string, byUrl: HeadersByUrl): Record<string, string> =>
  Object.entries(byUrl).find(([one]) => baseOf(one) === baseOf(url))?.[1] ?? {}

/** A server of HashiCorp Vault or OpenBao, and the credentials: a token, or an AppRole. */
export type VaultAccess = { url: string; namespace?: string } & (
  | { token: string }
  | { role_id: string; secret_id: string }
)

const word = v.optional(text(4_096))

/** Settings of the service, with the names that Vault's own programs use. */
export const vaultSettings = {
  VAULT_ADDR: v.optional(webUrl),
  VAULT_NAMESPACE: word,
  VAULT_TOKEN: word,
  VAULT_ROLE_ID: word,
  VAULT_SECRET_ID: word,
}

type VaultSettings = { [Name in keyof typeof vaultSettings]?: string | undefined }

/** Undefined when the settings are not complete. */
export function readVaultAccess(settings: VaultSettings): VaultAccess | undefined {
  const { VAULT_ADDR: url, VAULT_NAMESPACE, VAULT_TOKEN: token, VAULT_ROLE_ID, VAULT_SECRET_ID } = settings
  if (url === undefined) return undefined
  const server = { url, ...(VAULT_NAMESPACE !== undefined && { namespace: VAULT_NAMESPACE }) }
  if (VAULT_ROLE_ID !== undefined && VAULT_SECRET_ID !== undefined) {
    return { ...server, role_id: VAULT_ROLE_ID, secret_id: VAULT_SECRET_ID }
  }
  return token === undefined ? undefined : { ...server, token }
}

/** The name that `move-database` gives to a SQLite file whose rows are in PostgreSQL now. */
export const movedFile = (file: string): string => `${file}.moved`
