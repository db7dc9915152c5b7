import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { parseYaml } from '@redocly/openapi-core'
import { expect, test } from 'vitest'
import { readConfig } from '../server/config.ts'
import { temporaryFolder } from './support/service.ts'

interface Service {
  build?: string
  environment: Record<string, string>
  secrets: string[]
  volumes?: string[]
  ports?: string[]
  configs?: { source: string; target: string }[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
}

interface Compose {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  configs: Record<string, { content: string }>
  volumes: Record<string, null>
  networks: { default: { ipam: { config: { subnet: string }[] } } }
}

const root = join(import.meta.dirname, '..')
const text = (file: string) => readFileSync(join(root, file), 'utf8')
const compose = parseYaml(text('compose.yaml')) as Compose
const { services, secrets, configs } = compose
const servers = Object.entries(services).filter(([, { build }]) => build !== undefined)
const commands = text('docs/operations.md').split('## PostgreSQL')[1]?.split('\n## ')[0] ?? ''

/** The content of each secret that the commands of docs/operations.md make, by an example. */
const examples: Record<string, string> = {
  'api-key': 'a1'.repeat(32),
  'master-key': 'b2'.repeat(32),
  'postgres-password': 'c3'.repeat(32),
  'database-url': `postgres://relayer:${'c3'.repeat(32)}@postgres/relayer`,
}

test('gives both servers every setting that they need, with values that the service accepts', () => {
  expect(servers).toHaveLength(2)
  const dockerfile = text('Dockerfile')
  const [, built = ''] = /^ENV (.*)$/m.exec(dockerfile) ?? []
  const image = Object.fromEntries(built.split(' ').map((pair) => pair.split('=') as [string, string]))
  expect(image).toMatchObject({ NODE_ENV: 'production', PORT: '8080' })
  const folder = temporaryFolder()
  for (const [name, its] of servers) {
    const environment = Object.fromEntries(
      Object.entries(its.environment).map(([setting, value]) => {
        const [, secret] = /^\/run\/secrets\/(.*)$/.exec(value) ?? []
        if (secret === undefined) return [setting, value]
        expect(its.secrets, `${name} may read ${secret}`).toContain(secret)
        writeFileSync(join(folder, secret), `${examples[secret]}\n`)
        return [setting, join(folder, secret)]
      }),
    )
    const config = readConfig({ ...image, ...environment, DATA_DIR: folder })
    expect(config).toMatchObject({ api_key: examples['api-key'], database: { type: 'postgres', allow_weak: [] } })
    // Names that the service does not know would be ignored.
    const known = text('server/config.ts')
    for (const setting of Object.keys(its.environment)) expect(known).toContain(setting.replace(/_FILE$/, ''))
    expect(its.depends_on?.postgres?.condition).toBe('service_healthy')
    expect(its.healthcheck?.test.join(' ')).toContain(`127.0.0.1:${image.PORT}/api/v1/ready`)
  }
})

test('keeps every secret in a file that docs/operations.md creates, and none in a value', () => {
  for (const [name, { file }] of Object.entries(secrets)) {
    expect(file).toBe(`secrets/${name}`)
    expect(commands, file).toContain(name)
  }
  const used = Object.values(services).flatMap((its) => its.secrets ?? [])
  expect([...new Set(used)].sort()).toEqual(Object.keys(secrets).sort())
  expect(text('compose.yaml')).not.toMatch(/PASSWORD:|postgres:\/\//)
  const { environment, volumes } = services.postgres as Service
  expect(environment).toMatchObject({ POSTGRES_USER: 'relayer', POSTGRES_DB: 'relayer' })
  expect(environment.POSTGRES_PASSWORD_FILE).toBe('/run/secrets/postgres-password')
  expect(volumes?.map((volume) => volume.split(':')[0])).toEqual(Object.keys(compose.volumes))
  expect(commands).toContain('postgres://relayer:')
})

test('creates the secrets so that the user of a container can read them, in a folder that nobody else can, whatever the umask', () => {
  const folder = temporaryFolder()
  const creation = /```sh\n([^`]*?)docker compose up/.exec(commands)?.[1] ?? 'false'
  execFileSync('bash', ['-c', `umask 077\n${creation}`], { cwd: folder })
  const modeOf = (name: string) => (statSync(join(folder, 'secrets', name)).mode & 0o777).toString(8)
  expect([modeOf('.'), ...Object.keys(secrets).map(modeOf)]).toEqual(['700', ...Object.keys(secrets).map(() => '644')])
})

test('balances one port over both servers, which trust only the address of the balancer', () => {
  const { ports, configs: used, depends_on } = services.port as Service
  expect(ports).toEqual(['127.0.0.1:8080:8080'])
  const content = configs[used?.[0]?.source ?? '']?.content ?? ''
  for (const [name] of servers) {
    expect(content).toContain(`server ${name}:8080`)
    expect(depends_on?.[name]?.condition).toBe('service_healthy')
  }
  const [{ subnet }] = compose.networks.default.ipam.config as [{ subnet: string }]
  expect(isIP(subnet.split('/')[0] ?? '')).toBe(4)
  for (const [, { environment }] of servers) expect(environment.TRUSTED_PROXIES).toBe(subnet)
  // A name of nginx keeps its $ only when it is doubled.
  expect(content.match(/(?<!\$)\$(?!\$)\w+/g)).toBeNull()
  for (const [name, { healthcheck }] of Object.entries(services)) expect(healthcheck?.test[0], name).toBe('CMD')
})

test('runs every container without privileges, on a read-only file system and with a limit of memory', () => {
  for (const [name, its] of Object.entries(services)) {
    expect(its, name).toMatchObject({
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      read_only: true,
      mem_limit: expect.any(String),
    })
  }
  // No command that README.md, the Dockerfile or docs/ show has a key as an argument.
  for (const file of ['README.md', 'Dockerfile', 'docs/keys.md', 'docs/operations.md']) {
    expect(text(file), file).not.toMatch(/(?:-e|--env)[ =](?:API_KEY|MASTER_KEY)=|\bkv put [^\n]*key=(?!-)/)
  }
})
