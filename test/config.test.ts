import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../server/config.ts'
import { ConfigError } from '../server/domain/errors.ts'
import { keyBytes } from '../server/domain/settings.ts'
import { removeSecrets } from '../server/secret-files.ts'
import { production } from './support/resources.ts'
import { temporaryFolder } from './support/service.ts'

type Environment = Record<string, string | undefined>

/** What a wrong environment is told; fails when it is taken. */
function complaint(environment: Environment): string {
  try {
    readConfig(environment)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as Error).message
  }
  return expect.fail(`${Object.keys(environment)} is taken`)
}

const defaults = {
  host: '127.0.0.1',
  port: 8080,
  production: false,
  unknown_settings: [],
  data_dir: resolve('data'),
  database: { type: 'sqlite', file: resolve('data/relayer.sqlite') },
  api_key: undefined,
  master_key: undefined,
  key_encryption_key: undefined,
  vault: undefined,
  rate_limit_per_second: 1_000,
  rate_limit_burst: 3_000,
  trusted_proxies: [],
  metrics_host: '127.0.0.1',
  metrics_port: undefined,
  traces_url: undefined,
  traces_headers: {},
  otel_service_name: 'evm-relayer-service',
  log_level: 'info',
  allow_private_targets: true,
  secret_files: [],
  pkcs11: { modules: [], pin: undefined, environment: [], user: [65_534, 65_534] },
  remote_signer_headers: {},
  retention_days: { transactions: 0, idempotency: 0, deliveries: 30, events: 30, audit: 400 },
  webhook_time_scale: 1,
}

test('uses a default for every absent or empty setting, and ignores foreign variables', () => {
  expect(readConfig({})).toEqual(defaults)
  expect(readConfig({ PORT: '', API_KEY: '', MASTER_KEY: '', LOG_LEVEL: '', HOME: '/root' })).toEqual(defaults)
})

const ofPostgres = (url: string, more: object = {}) => {
  const weak = ['fsync', 'full_page_writes', 'synchronous_commit']
  return { database: { type: 'postgres', url, max_connections: 10, timeout_ms: 700, allow_weak: weak, ...more } }
}
const postgres = 'postgresql://user:pass%23word@db:5433/relayer?sslmode=require'

const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index))
const taken: [Environment, Partial<typeof defaults> | object][] = [
  [{ HOST: '0.0.0.0' }, { host: '0.0.0.0' }],
  [{ HOST: '::1' }, { host: '::1' }],
  [{ PORT: '0' }, { port: 0 }],
  [{ PORT: '65535' }, { port: 65_535 }],
  [{ DATA_DIR: '/tmp/x' }, { data_dir: '/tmp/x', database: { type: 'sqlite', file: '/tmp/x/relayer.sqlite' } }],
  [
    { DATABASE_URL: '/tmp/y.sqlite' },
    { database: { type: 'sqlite', file: '/tmp/y.sqlite' }, data_dir: resolve('data') },
  ],
  [{ DATABASE_URL: 'sqlite:///tmp/y.sqlite' }, { database: { type: 'sqlite', file: '/tmp/y.sqlite' } }],
  [{ DATABASE_URL: 'sqlite:/tmp/y.sqlite' }, { database: { type: 'sqlite', file: '/tmp/y.sqlite' } }],
  [{ DATABASE_URL: 'file:/tmp/y.sqlite' }, { database: { type: 'sqlite', file: '/tmp/y.sqlite' } }],
  [{ DATABASE_URL: 'sqlite:y.sqlite' }, { database: { type: 'sqlite', file: resolve('y.sqlite') } }],
  [{ DATABASE_URL: postgres }, ofPostgres(postgres)],
  [{ DATABASE_URL: 'postgres://me@/relayer?host=/run/db' }, ofPostgres('postgres://me@/relayer?host=/run/db')],
  [{ ...production, DATABASE_URL: postgres }, ofPostgres(postgres, { allow_weak: [] })],
  [
    { ...production, DATABASE_URL: postgres, DATABASE_ALLOW_WEAK: 'synchronous_commit, fsync' },
    ofPostgres(postgres, { allow_weak: ['synchronous_commit', 'fsync'] }),
  ],
  [
    { DATABASE_URL: postgres, DATABASE_CONNECTIONS: '500', DATABASE_TIMEOUT_MS: '100' },
    ofPostgres(postgres, { max_connections: 500, timeout_ms: 100 }),
  ],
  [{ API_KEY: 'a'.repeat(32) }, { api_key: 'a'.repeat(32) }],
  [{ API_KEY: 'b'.repeat(512) }, { api_key: 'b'.repeat(512) }],
  [{ MASTER_KEY: bytes.toString('hex') }, { master_key: bytes }],
  [{ MASTER_KEY: bytes.toString('hex').toUpperCase() }, { master_key: bytes }],
  [{ MASTER_KEY: `0x${bytes.toString('hex')}` }, { master_key: bytes }],
  [{ MASTER_KEY: bytes.toString('base64') }, { master_key: bytes }],
  [{ MASTER_KEY: bytes.toString('base64url') }, { master_key: bytes }],
  [{ RATE_LIMIT_PER_SECOND: '1' }, { rate_limit_per_second: 1 }],
  [{ RATE_LIMIT_PER_SECOND: '1000000' }, { rate_limit_per_second: 1_000_000 }],
  [{ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }, { trusted_proxies: ['10.0.0.0/8', '::1'] }],
  [{ RATE_LIMIT_BURST: '1' }, { rate_limit_burst: 1 }],
  [{ RATE_LIMIT_BURST: '10000000' }, { rate_limit_burst: 10_000_000 }],
  [{ METRICS_PORT: '9464' }, { metrics_port: 9_464 }],
  [{ METRICS_HOST: '0.0.0.0' }, { metrics_host: '0.0.0.0' }],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://o:4318/' }, { traces_url: 'http://o:4318/v1/traces' }],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://o/t' }, { traces_url: 'https://o/t' }],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=b%20c, d=Basic e==,' }, { traces_headers: { a: 'b c', d: 'Basic e==' } }],
  [
    { OTEL_EXPORTER_OTLP_HEADERS: 'a=1,b=1', OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'a=2' },
    { traces_headers: { a: '2', b: '1' } },
  ],
  [{ OTEL_SERVICE_NAME: 'mine' }, { otel_service_name: 'mine' }],
  ...(['transactions', 'idempotency', 'deliveries', 'events'] as const).map((kind): [Environment, object] => [
    { [`RETENTION_DAYS_${kind.toUpperCase()}`]: '7' },
    { retention_days: { ...defaults.retention_days, [kind]: 7 } },
  ]),
  [{ LOG_LEVEL: 'trace' }, { log_level: 'trace' }],
  [{ LOG_LEVEL: 'silent' }, { log_level: 'silent' }],
  [{ NODE_ENV: 'development' }, { production: false, allow_private_targets: true }],
  [{ ALLOW_PRIVATE_TARGETS: 'false' }, { allow_private_targets: false }],
  [{ WEBHOOK_TIME_SCALE: '0.001' }, { webhook_time_scale: 0.001 }],
  [production, { production: true, allow_private_targets: false }],
  [
    { ...production, ALLOW_PRIVATE_TARGETS: 'true' },
    { production: true, allow_private_targets: true },
  ],
]

test('accepts a setting within its limits, and changes no other', () => {
  for (const [environment, expected] of taken) {
    const own = environment === production || environment.NODE_ENV === 'production' ? productionKeys : {}
    expect.soft(readConfig(environment), JSON.stringify(environment)).toMatchObject({ ...own, ...expected })
  }
  expect(readConfig({ RATE_LIMIT_BURST: '7' })).toEqual({ ...defaults, rate_limit_burst: 7 })
})

const productionKeys = { api_key: production.API_KEY, master_key: Buffer.from(production.MASTER_KEY, 'hex') }

const wrong: Record<string, string[]> = {
  HOST: ['h'.repeat(256)],
  PORT: ['65536', '-1', '80a', '1e3', '0x50', '8080.0', ' 8080', '99999999999999999999'],
  DATA_DIR: [`/${'d'.repeat(4_096)}`],
  DATABASE_URL: [
    'mysql://hunter2',
    'file:',
    `/${'d'.repeat(4_096)}`,
    'postgres://user:hunter2@db',
    'postgres://user:hunter2@db:port/relayer',
    'postgres://user:hun#ter2@db/relayer',
    'postgres://user:hunter2@db/relayer?sslmode=prefer',
    'postgres://user:hunter2@db/relayer?sslmode=verify-ca',
    'postgres://user:hunter2@db/relayer?sslrootcert=/none/hunter2',
    'postgres://user:hunter2@db/relayer?pgbouncer=hunter2',
  ],
  DATABASE_CONNECTIONS: ['3', '501', 'many'],
  DATABASE_TIMEOUT_MS: ['99', '10001', '1s'],
  DATABASE_ALLOW_WEAK: ['hunter2', 'fsync,,', 'wal_level'],
  API_KEY: ['hunter2', 'hunter2'.repeat(4), `${'a'.repeat(32)} hunter2`, `${'a'.repeat(32)}é`, 'c'.repeat(513)],
  MASTER_KEY: ['hunter2', 'ab'.repeat(31), 'ab'.repeat(33), 'zz'.repeat(32), 'A'.repeat(42), 'A'.repeat(45)],
  RATE_LIMIT_PER_SECOND: ['0', '1000001', '-5', '1.5', 'fast'],
  RATE_LIMIT_BURST: ['0', '10000001', '-5', '1.5'],
  TRUSTED_PROXIES: ['hunter2', '10.0.0.0/33', '10.0.0/8', '::1/129', '10.0.0.1/8/8', '10.0.0.1,,::1', '1.1.1.1/-1'],
  METRICS_HOST: ['h'.repeat(256)],
  METRICS_PORT: ['65536', '-1', 'on'],
  OTEL_EXPORTER_OTLP_ENDPOINT: ['hunter2', 'ftp://hunter2'],
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ['http://', 'hunter2:4318'],
  OTEL_EXPORTER_OTLP_HEADERS: ['hunter2', 'a=b;hunter2', 'a=hunter2%', '=hunter2'],
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: ['a=1 hunter2,b'],
  OTEL_SERVICE_NAME: ['s'.repeat(256)],
  RETENTION_DAYS_TRANSACTIONS: ['36501', '-1', '1.5', '7d'],
  LOG_LEVEL: ['loud', 'INFO', 'info '],
  ALLOW_PRIVATE_TARGETS: ['yes', '1', 'TRUE', 'false '],
}

test('names an invalid setting with its limits and without its value', () => {
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const message = complaint({ [name]: value })
      expect.soft(message.startsWith(`${name} `), `${name}: ${message}`).toBe(true)
      expect.soft(message.split('\n').length, message).toBe(1)
      expect.soft(message.length > 5 && value.length > 3 && message.includes(value), message).toBe(false)
      expect.soft(message).not.toContain('hunter2')
    }
  }
})

test('reports all invalid settings at once, one per line', () => {
  const lines = complaint({ PORT: 'x', LOG_LEVEL: 'x', MASTER_KEY: 'x' }).split('\n')
  expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(['LOG_LEVEL', 'MASTER_KEY', 'PORT'])
})

test('does not start in production without both keys, and names the missing ones', () => {
  const { API_KEY, MASTER_KEY } = production
  const missing = (environment: Environment) => complaint({ NODE_ENV: 'production', ...environment })
  expect(missing({ API_KEY })).toBe(
    'MASTER_KEY must be set when NODE_ENV is production; openssl rand -hex 32 makes one',
  )
  expect(missing({ MASTER_KEY })).toBe(
    'API_KEY must be set when NODE_ENV is production; openssl rand -hex 32 makes one',
  )
  expect(missing({ API_KEY: '' }).split('\n')).toHaveLength(2)
})

test('counts the padding of a base64 API key in its length', () => {
  const key = `${'A'.repeat(30)}==`
  expect.soft(complaint({ API_KEY: `${'A'.repeat(512)}=` })).toContain('API_KEY')
  expect.soft(readConfig({ API_KEY: key }).api_key).toBe(key)
})

const secretValues: [string, string, Partial<typeof defaults> | object][] = [
  ['API_KEY', 'a'.repeat(32), { api_key: 'a'.repeat(32) }],
  ['MASTER_KEY', bytes.toString('hex'), { master_key: bytes }],
  ['DATABASE_URL', 'sqlite:/tmp/y.sqlite', { database: { type: 'sqlite', file: '/tmp/y.sqlite' } }],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b', { traces_headers: { a: 'b' } }],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=b', { traces_headers: { a: 'b' } }],
]

/** The path of a file with this content. */
function fileWith(content: string): string {
  const file = join(temporaryFolder(), 'secret')
  writeFileSync(file, content)
  return file
}

test.each(secretValues)(
  'reads %s from the file that %s_FILE names, without its last newline',
  (name, value, config) => {
    for (const end of ['', '\n', '\r\n']) {
      const file = fileWith(`${value}${end}`)
      const read = readConfig({ [`${name}_FILE`]: file })
      expect.soft(read).toEqual({ ...defaults, ...config, secret_files: [file] })
    }
    expect(readConfig({ [`${name}_FILE`]: '', [name]: value })).toEqual({ ...defaults, ...config })
  },
)

test('refuses PostgreSQL on another machine without TLS in production, unless a setting allows it', () => {
  const at = (host: string, more = '') => ({
    ...production,
    DATABASE_URL: `postgres://me:hunter2@${host}/relayer${more}`,
  })
  for (const host of ['db.example.com', '10.0.0.1', '[2001:db8::1]'])
    for (const more of ['', '?sslmode=disable']) {
      expect(() => readConfig(at(host, more))).toThrow(/^DATABASE_URL must have sslmode=verify-full(?!.*hunter2)/)
      readConfig({ ...at(host, more), DATABASE_ALLOW_PLAINTEXT: 'true' })
      readConfig({ ...at(host, more), NODE_ENV: '' })
    }
  for (const host of ['localhost', '127.0.0.1', '[::1]']) readConfig(at(host))
  for (const mode of ['require', 'verify-full']) readConfig(at('db.example.com', `?sslmode=${mode}`))
})

test('removes the secrets that it has read from the environment', () => {
  const environment: Record<string, string | undefined> = { API_KEY: 'a'.repeat(32), PORT: '1', PKCS11_PIN: '1234' }
  removeSecrets(environment)
  expect(environment).toEqual({ PORT: '1' })
})

test.each(secretValues)('rejects %s together with %s_FILE, and an unsuitable file', (name, value) => {
  const file = `${name}_FILE`
  const both = complaint({ [name]: value, [file]: fileWith(value) })
  expect(both).toBe(`${name} and ${file} are both set: set one of them`)
  for (const path of [
    join(temporaryFolder(), 'none'),
    temporaryFolder(),
    fileWith('\n'),
    fileWith('h'.repeat(16_385)),
  ]) {
    const message = complaint({ [file]: path })
    expect.soft(message).toContain(`${file} cannot be read: `)
    expect.soft(message).not.toContain('hhh')
  }
  const [wrongValue] = wrong[name] ?? []
  expect(complaint({ [file]: fileWith(wrongValue as string) })).toMatch(new RegExp(`^(?:${file}|DATABASE_URL) must be`))
})

test('reads both keys from files in production', () => {
  const { API_KEY, MASTER_KEY, ...rest } = production
  const files = { API_KEY_FILE: fileWith(`${API_KEY}\n`), MASTER_KEY_FILE: fileWith(`${MASTER_KEY}\n`) }
  expect(readConfig({ ...rest, ...files })).toMatchObject(productionKeys)
})

test('accepts a master key of exactly 32 bytes, in hex or base64', () => {
  const hex = bytes.toString('hex')
  expect(keyBytes(hex)).toEqual(bytes)
  for (const text of ['', '0x', `${hex}0`, `0x0x${hex.slice(4)}`, ` ${hex}`, `${bytes.toString('base64')}=`]) {
    expect.soft(keyBytes(text), text).toBeUndefined()
  }
})

test('names what is nearly a setting, and nothing that belongs to other programs', () => {
  const given = {
    DATABSE_URL: 'postgres://a',
    MASTERKEY: 'a',
    API_KEY_FIL: 'a',
    HOSTNAME: 'a',
    PATH: '/',
    LOGNAME: 'a',
  }
  expect(readConfig({ ...given, RATE_LIMIT: '5', HTTPS_PROXY: 'a' }).unknown_settings).toEqual([
    'DATABSE_URL is no setting; did you mean DATABASE_URL?',
    'MASTERKEY is no setting; did you mean MASTER_KEY?',
    'API_KEY_FIL is no setting; did you mean API_KEY_FILE?',
    'RATE_LIMIT is no setting; did you mean RATE_LIMIT_PER_SECOND?',
  ])
})
