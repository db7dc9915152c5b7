import { accessSync, constants } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute, resolve } from 'node:path'
import * as v from 'valibot'
import { ConfigError } from './domain/errors.ts'
import {
  anInteger,
  boolean,
  headers,
  integer,
  list,
  listOf,
  masterKeyForms,
  masterKeyOf,
  readHeadersByUrl,
  readMasterKeySetting,
  readVaultAccess,
  text,
  tracesUrl,
  vaultSettings,
  webUrl,
} from './domain/settings.ts'
import { nearestOf } from './lib/nearest.ts'
import { readSecretFiles, secretSettings } from './secret-files.ts'

/** The database of the service. */
type DatabaseSetting =
  | { type: 'sqlite'; file: string }
  | {
      type: 'postgres'
      /** Holds the password: it must never be shown. */
      url: string
      max_connections: number
      /** After this long without an answer, the database counts as down. */
      timeout_ms: number
      /** The settings of PostgreSQL that may weaken durability. */
      allow_weak: Weak[]
    }

type Weak = (typeof weakSettings)[number]

const weakSettings = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full']
const fileParameters = ['sslrootcert', 'sslcert', 'sslkey']
const parameters = ['host', 'application_name', 'sslmode', ...fileParameters]
const postgres = /^postgres(?:ql)?:\/\//i

export const isPostgresUrl = (url: string) => postgres.test(url)

/** The file that a path, or `sqlite:` and a path, names; undefined for anything else. */
function sqliteFile(url: string): string | undefined {
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(url)
  const path = isUrl ? /^(?:sqlite|file):(?:\/\/)?([^/].*|\/[^/].*)$/.exec(url)?.[1] : url
  return path === undefined ? undefined : resolve(path)
}

/** The reason why a URL of PostgreSQL cannot be used, which quotes nothing of it; undefined when it can. */
export function postgresUrlFault(url: string): string | undefined {
  // The host may be empty when `host` names the folder of a socket.
  const full = url.replace(/@\//, '@localhost/')
  if (!URL.canParse(full))
    return 'must be a URL such as postgres://user:password@host:5432/database?sslmode=verify-full'
  const { pathname, searchParams, hash } = new URL(full)
  if (!/^\/[^/]+$/.test(pathname)) return 'must name the database: postgres://user:password@host:5432/database'
  if (hash !== '') return 'must not contain #: write %23 in a password'
  if ([...searchParams.keys()].some((name) => !parameters.includes(name))) {
    return `must have no other parameters than ${parameters.join(', ')}`
  }
  const mode = searchParams.get('sslmode') ?? 'disable'
  if (!sslModes.includes(mode)) return `must have an sslmode of ${sslModes.join(', ')}`
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert')) return 'must have sslrootcert with sslmode=verify-ca'
  return fileParameters.find((name) => searchParams.has(name) && !isReadable(searchParams.get(name) as string))
    ? `must name readable files in ${fileParameters.join(', ')}`
    : undefined
}

/** Whether the password and all rows cross a network without TLS: not to a socket, and not to this machine. */
function isPlaintext(url: string): boolean {
  const { hostname, searchParams } = new URL(url.replace(/@\//, '@localhost/'))
  const host = searchParams.get('host') ?? hostname
  const isLocal = host.startsWith('/') || /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host)
  return !isLocal && (searchParams.get('sslmode') ?? 'disable') === 'disable'
}

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Of Linux and most other systems: a user without files. */
const nobody = 65_534

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

const databaseFault = (url: string) => {
  if (isPostgresUrl(url)) return postgresUrlFault(url)
  return sqliteFile(url) === undefined
    ? 'must be a file path, sqlite: followed by a file path, or a postgres:// URL'
    : undefined
}

const settings = v.object({
  HOST: v.optional(text(255), '127.0.0.1'),
  PORT: integer(0, 65_535, 8080),
  NODE_ENV: v.optional(v.string()),
  DATA_DIR: v.optional(text(4_096), './data'),
  DATABASE_URL: v.optional(
    v.pipe(
      text(4_096),
      v.check(
        (url) => !databaseFault(url),
        ({ input }) => databaseFault(input) ?? '',
      ),
    ),
  ),
  DATABASE_CONNECTIONS: integer(4, 500, 10),
  DATABASE_TIMEOUT_MS: integer(100, 10_000, 700),
  DATABASE_ALLOW_WEAK: v.optional(
    v.pipe(list, v.array(v.picklist(weakSettings, `must be a comma-separated list of ${weakSettings.join(', ')}`))),
    '',
  ),
  DATABASE_ALLOW_PLAINTEXT: v.optional(boolean, 'false'),
  API_KEY: v.optional(
    v.pipe(v.string(), v.regex(/^(?=.{32,512}$)[A-Za-z0-9\-._~+/]+=*$/, 'must be 32 to 512 letters, digits or -._~+/')),
  ),
  MASTER_KEY: v.optional(
    v.pipe(
      v.string(),
      v.transform(readMasterKeySetting),
      v.check((key) => key !== undefined, `must be ${masterKeyForms}`),
    ),
  ),
  ...vaultSettings,
  RATE_LIMIT_PER_SECOND: integer(1, 1_000_000, 1_000),
  RATE_LIMIT_BURST: integer(1, 10_000_000, 3_000),
  METRICS_HOST: v.optional(text(255), '127.0.0.1'),
  METRICS_PORT: v.optional(anInteger(0, 65_535)),
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(webUrl),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v.optional(webUrl),
  OTEL_EXPORTER_OTLP_HEADERS: v.optional(headers),
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: v.optional(headers),
  OTEL_SERVICE_NAME: v.optional(text(255), 'evm-relayer-service'),
  LOG_LEVEL: v.optional(v.picklist(logLevels, `must be one of ${logLevels.join(', ')}`), 'info'),
  ALLOW_PRIVATE_TARGETS: v.optional(boolean),
  TRUSTED_PROXIES: listOf(isNetwork, 'must be a comma-separated list of addresses or networks, for example 10.0.0.0/8'),
  PKCS11_MODULES: listOf(isAbsolute, 'must be a list of absolute paths, separated by commas'),
  PKCS11_PIN: v.optional(v.string()),
  PKCS11_USER: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[0-9]{1,9}:[0-9]{1,9}$/, 'must be the ids of a user and a group, for example 65534:65534'),
      v.transform((ids) => ids.split(':').map(Number) as [number, number]),
    ),
    `${nobody}:${nobody}`,
  ),
  PKCS11_ENVIRONMENT: listOf((name) => /^\w+$/.test(name), 'must be a list of names of variables, separated by commas'),
  REMOTE_SIGNER_HEADERS: v.optional(
    v.pipe(
      v.string(),
      v.transform(readHeadersByUrl),
      v.check(
        (read) => read !== undefined,
        'must be JSON: {"https://signer.example.com": {"Authorization": "Bearer ..."}}',
      ),
      v.transform((read) => read ?? {}),
    ),
    '{}',
  ),
  RETENTION_DAYS_TRANSACTIONS: integer(0, 36_500, 0),
  RETENTION_DAYS_IDEMPOTENCY: integer(0, 36_500, 0),
  RETENTION_DAYS_DELIVERIES: integer(0, 36_500, 30),
  RETENTION_DAYS_EVENTS: integer(0, 36_500, 30),
  RETENTION_DAYS_AUDIT: integer(0, 36_500, 400),
  WEBHOOK_TIME_SCALE: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[0-9]{1,3}(?:\.[0-9]{1,9})?$/, 'must be a number above 0'),
      v.transform(Number),
      v.check((value) => value > 0, 'must be a number above 0'),
    ),
    '1',
  ),
})

const known = [...Object.keys(settings.entries), ...secretSettings.map((name) => `${name}_FILE`)]

/** Variables that are no settings and nearly have the name of one: the others belong to other programs. */
const misspelled = (names: string[]): string[] =>
  names
    .filter((name) => name.length > 5 && !known.includes(name))
    .flatMap((name) => {
      const near = nearestOf(name, known, 2) ?? known.find((other) => other.startsWith(`${name}_`))
      return near === undefined ? [] : [`${name} is no setting; did you mean ${near}?`]
    })

type Environment = Record<string, string | undefined>

/** Every setting of the service, as it is read. See the table in docs/settings.md. */
export type Config = ReturnType<typeof readConfig>

/** Reads the environment. Throws ConfigError, which names every invalid setting and never quotes a value. */
export function readConfig(environment: Environment) {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const { values: fromFiles, faults, files: secretFiles } = readSecretFiles(given)
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  const read = v.safeParse(settings, { ...given, ...fromFiles })
  if (!read.success) {
    const shown = (name: string) => (name in fromFiles ? `${name}_FILE` : name)
    const faults = new Set(read.issues.map(({ path, message }) => `${shown(String(path?.[0].key))} ${message}`))
    throw new ConfigError([...faults].join('\n'))
  }
  const values = read.output
  const production = values.NODE_ENV === 'production'
  if (production) {
    const missing = (['API_KEY', 'MASTER_KEY'] as const).filter((name) => values[name] === undefined)
    if (missing.length > 0) {
      throw new ConfigError(
        missing
          .map((name) => `${name} must be set when NODE_ENV is production; openssl rand -hex 32 makes one`)
          .join('\n'),
      )
    }
  }
  const dataDir = resolve(values.DATA_DIR)

  return {
    unknown_settings: misspelled(Object.keys(given)),
    host: values.HOST,
    port: values.PORT,
    production,
    data_dir: dataDir,
    /** The files that settings NAME_FILE name. */
    secret_files: secretFiles,
    database: databaseOf(values, dataDir, production),
    /** Absent: generated on the first start, outside production only; so is `master_key`, unless there is a `key_encryption_key`. */
    api_key: values.API_KEY,
    ...masterKeyOf(values.MASTER_KEY),
    /** The server of a key-encryption key in Vault. */
    vault: readVaultAccess(values),
    rate_limit_per_second: values.RATE_LIMIT_PER_SECOND,
    rate_limit_burst: values.RATE_LIMIT_BURST,
    /** The address of this process's metrics server; without a port there is none. */
    metrics_host: values.METRICS_HOST,
    metrics_port: values.METRICS_PORT,
    /** The URL that spans are sent to, as OTLP over HTTP; undefined: tracing is off. */
    traces_url: tracesUrl(values),
    /** Sent with every export of spans; they may hold a token. */
    traces_headers: { ...values.OTEL_EXPORTER_OTLP_HEADERS, ...values.OTEL_EXPORTER_OTLP_TRACES_HEADERS },
    otel_service_name: values.OTEL_SERVICE_NAME,
    log_level: values.LOG_LEVEL,
    allow_private_targets: values.ALLOW_PRIVATE_TARGETS ?? !production,
    /** How many days rows of each kind are kept; 0: forever. */
    retention_days: {
      transactions: values.RETENTION_DAYS_TRANSACTIONS,
      idempotency: values.RETENTION_DAYS_IDEMPOTENCY,
      deliveries: values.RETENTION_DAYS_DELIVERIES,
      events: values.RETENTION_DAYS_EVENTS,
      audit: values.RETENTION_DAYS_AUDIT,
    },
    /** Multiplies every delay of the webhook retry schedule: 1, and less in tests. */
    webhook_time_scale: values.WEBHOOK_TIME_SCALE,
    /** Addresses, or networks in CIDR notation, of proxies whose X-Forwarded-For header is trusted. */
    trusted_proxies: values.TRUSTED_PROXIES,
    /** PKCS #11 modules that may be loaded, and the PIN of signers without one. */
    pkcs11: {
      modules: values.PKCS11_MODULES,
      pin: values.PKCS11_PIN,
      environment: values.PKCS11_ENVIRONMENT,
      /** Of the modules' processes, when the service runs as root. */
      user: values.PKCS11_USER,
    },
    /** Headers for remote signers, by the URL of the signer. */
    remote_signer_headers: values.REMOTE_SIGNER_HEADERS,
  }
}

function isNetwork(text: string): boolean {
  const [address = '', prefix = '0', ...more] = text.split('/')
  const bits = { 4: 32, 6: 128 }[isIP(address)] ?? -1
  return more.length === 0 && /^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bits
}

function databaseOf(values: v.InferOutput<typeof settings>, dataDir: string, production: boolean): DatabaseSetting {
  const url = values.DATABASE_URL ?? resolve(dataDir, 'relayer.sqlite')
  if (!isPostgresUrl(url)) return { type: 'sqlite', file: sqliteFile(url) as string }
  if (production && !values.DATABASE_ALLOW_PLAINTEXT && isPlaintext(url)) {
    throw new ConfigError(
      'DATABASE_URL must have sslmode=verify-full, verify-ca or require when NODE_ENV is production and the host is another ' +
        'machine; DATABASE_ALLOW_PLAINTEXT=true allows a connection without TLS',
    )
  }
  return {
    type: 'postgres',
    url,
    max_connections: values.DATABASE_CONNECTIONS,
    timeout_ms: values.DATABASE_TIMEOUT_MS,
    allow_weak: production ? values.DATABASE_ALLOW_WEAK : [...weakSettings],
  }
}
