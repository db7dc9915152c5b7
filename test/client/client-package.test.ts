import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { getAddress, verifyMessage } from 'ethers'
import { beforeAll, expect, test } from 'vitest'
import { startTestService } from '../support/service.ts'

const root = join(import.meta.dirname, '..', '..')
const types = join('node_modules', '@types')
const bin = (name: string) => join(root, 'node_modules', '.bin', name)
const manifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'))

const snippets = (file: string, language: string) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, code = '']) => code,
  )

/** What the README shows, as one program. */
const example = snippets('client/README.md', 'ts').join('\n')

/** The snippet of docs/clients.md that needs nothing but the client. */
const start = snippets('docs/clients.md', 'js').find((code) => code.includes("from '@evm-relayer-service/client'"))

const folder = mkdtempSync(join(tmpdir(), 'relayer-client-'))
const tarballOf = (name: 'client' | 'cli') =>
  join(folder, `evm-relayer-service-${name}-${manifest('client').version}.tgz`)
/** Projects of somebody else's, with nothing in them but the client, and but the command line. */
const project = join(folder, 'project')
const scripts = join(folder, 'scripts')

beforeAll(async () => {
  await run('npm', ['run', '--silent', 'build:client'], root)
  await run('npm', ['pack', './client', './client/cli', '--pack-destination', folder, '--silent'], root)
  for (const [place, name] of [[project, 'client'] as const, [scripts, 'cli'] as const]) {
    mkdirSync(place)
    writeFileSync(join(place, 'package.json'), '{"type": "module", "private": true}')
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarballOf(name)], place)
  }
  return () => rmSync(folder, { recursive: true, force: true })
})

test('passes publint and attw', async () => {
  for (const name of ['client', 'cli'] as const) await run(bin('publint'), [tarballOf(name), '--strict'], folder)
  await run(bin('attw'), [tarballOf('client'), '--profile', 'esm-only'], folder)
})

test.each(['client', 'cli'] as const)(
  '%s: has licence, README and build, and the dependencies of the tests',
  async (name) => {
    const { version, dependencies } = manifest(name === 'cli' ? 'client/cli' : 'client')
    const own = manifest('.')
    const installed = { ...own.devDependencies, ...own.dependencies }
    expect(version).toBe(own.version)
    for (const name in dependencies) expect(dependencies[name], name).toBe(installed[name])
    const files = (await run('tar', ['-tf', tarballOf(name)], folder)).trim().split('\n')
    expect(files).toEqual(expect.arrayContaining(['package/LICENSE', 'package/README.md', 'package/package.json']))
    expect(files.filter((file) => !/^package\/(?:dist\/(?:client|generated)\/|[^/]+$)/.test(file))).toEqual([])
  },
)

test('installs the typed client without anything of the command line', () => {
  const packages = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'))
  expect(packages.toSorted()).toEqual(['@evm-relayer-service', 'openapi-fetch', 'openapi-typescript-helpers'])
  expect(existsSync(join(project, 'node_modules', '@evm-relayer-service', 'client', 'dist', 'client', 'cli'))).toBe(
    false,
  )
})

test('runs the examples of its README in an empty project', async () => {
  const { url, api_key, client } = await startTestService()
  const program = example.replaceAll('http://127.0.0.1:8080', url).replaceAll('the API key', api_key)
  writeFileSync(join(project, 'example.mjs'), program)
  const lines = (await run(process.execPath, ['example.mjs'], project)).trim().split('\n')

  const { data: demo } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  expect(lines).toEqual([
    expect.stringMatching(/^0x[0-9a-f]{130}$/),
    'Demo 200 true',
    'demo',
    `demo ${demo.address}`,
    '404 not_found Relayer with ID nobody not found',
    'GET 200',
  ])
  expect(verifyMessage('Hello', `${lines[0]}`)).toBe(getAddress(demo.address))
})

test('installs the command alone', async () => {
  const { url, api_key } = await startTestService()
  const env = { ...process.env, RELAYER_URL: url, RELAYER_API_KEY: api_key }
  const relayer = join(scripts, 'node_modules', '.bin', 'relayer')
  const { stdout } = await promisify(execFile)(relayer, ['sign', 'Hello'], { env })
  expect(stdout).toMatch(/^0x[0-9a-f]{130}\n$/)
  const call = promisify(execFile)(relayer, ['send', '--to', '0x12', '--call', 'a()'], { env })
  await expect(call).rejects.toMatchObject({ code: 3, stderr: expect.stringContaining('body/to: must be an address') })
})

test('loads with require() in CommonJS', async () => {
  const program = "console.log(typeof require('@evm-relayer-service/client').createRelayerClient)"
  writeFileSync(join(project, 'required.cjs'), program)
  expect(await run(process.execPath, ['required.cjs'], project)).toBe('function\n')
})

test.each([
  { moduleResolution: 'nodenext', module: 'nodenext', lib: ['es2022'], types: ['node'] },
  { moduleResolution: 'bundler', module: 'esnext', lib: ['es2022', 'dom', 'dom.asynciterable'], types: [] },
])('has correct types under $moduleResolution', async (world) => {
  const name = world.moduleResolution
  const mistakes = `
// @ts-expect-error there is no such path
await client.get('/api/v1/relayer')
// @ts-expect-error a message is a string
await client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: 'demo' }, body: { message: 1 } })
// @ts-expect-error a signature has no hash
data.hash
`
  const compilerOptions = { ...world, strict: true, target: 'es2022', noEmit: true, typeRoots: [join(root, types)] }
  writeFileSync(join(project, `${name}.ts`), example + mistakes)
  writeFileSync(
    join(project, 'start.ts'),
    `declare const process: { env: Record<string, string | undefined> }\n${start}`,
  )
  writeFileSync(join(project, `${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.ts`, 'start.ts'] }))
  await run(bin('tsc'), ['--project', `${name}.json`], project)
})

/** What the program printed; a failure says all of it. */
async function run(program: string, input: string[], cwd: string): Promise<string> {
  try {
    return (await promisify(execFile)(program, input, { cwd })).stdout
  } catch (error) {
    const { message, stdout, stderr } = error as { message: string; stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'), { cause: error })
  }
}
