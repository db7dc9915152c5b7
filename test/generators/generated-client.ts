import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { getAddress, verifyMessage } from 'ethers'
import { build } from 'vite'
import { expect } from 'vitest'
import { type Document, exampleCalls } from '../../client/samples/operation.ts'
import { testChain } from '../support/chain.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const root = join(import.meta.dirname, '..', '..')
const contract = join(root, 'generated', 'openapi.json')

interface Schema {
  type?: unknown
  properties?: object
  required?: string[]
  oneOf?: { $ref: string }[]
}

interface Body {
  content: Record<string, { schema: { $ref: string } }>
}

const document = JSON.parse(readFileSync(contract, 'utf8')) as Document & {
  tags: { name: string; description: string }[]
  components: {
    schemas: Record<string, Schema>
    parameters: object
    responses: Record<
      string,
      { content?: Record<string, { schema: { $ref?: string }; examples?: Record<string, { value: unknown }> }> }
    >
  }
}

const calls = exampleCalls(document)
export const operationIds = calls.map(({ operation }) => operation.operationId as string)

const schemas = Object.entries(document.components.schemas)
export const schemaNames = schemas.map(([name]) => name)

const nameIn = ({ $ref }: { $ref: string }) => $ref.split('/').at(-1) as string

/** The schemas of the bodies of all PATCH operations, but those that require a member. */
export const patchSchemas = Object.values(document.paths ?? {}).flatMap(({ patch }) => {
  const schema = (patch?.requestBody as Body | undefined)?.content['application/json']?.schema
  if (schema === undefined) return []
  const union = document.components.schemas[nameIn(schema)]?.oneOf
  const names = union ? union.map(nameIn) : [nameIn(schema)]
  return names.filter((name) => document.components.schemas[name]?.required === undefined)
})

/** Those for which a generator makes a class. */
export const objectSchemas = schemas.filter(([, { type }]) => type === 'object').map(([name]) => name)

/** The examples of all answers, successes and failures, with the names of their schemas. */
export const answerExamples = Object.values(document.components.responses).flatMap(({ content }) => {
  const { schema, examples = {} } = content?.['application/json'] ?? {}
  const name = schema?.$ref?.split('/').at(-1) ?? ''
  return Object.values(examples).map(({ value }) => ({ schema: name, value }))
})

/** Their schemas, but those of JSON-RPC: a result is any JSON, and an id is a number, which Rust writes as 1.0. */
export const answerSchemas = [...new Set(answerExamples.map(({ schema }) => schema))].filter(
  (name) => !name.startsWith('JsonRpc'),
)

/** A transaction as a later minor version may answer it: with members that this contract does not have, and a status that it does not know. */
export function laterTransaction(status: string): string {
  const { value } = answerExamples.find(({ schema }) => schema === 'TransactionResponse') as { value: { data: object } }
  const data = { ...value.data, later_member: { is: 'unknown' }, status }
  return JSON.stringify({ ...value, data, later_member: true })
}

/** An event as a later minor version may send it: of a type, with a payload and a member that this contract does not have. */
export function laterEvent(): string {
  const payload = { payload_type: 'relayer_renamed', relayer_id: 'demo', names: ['demo', 'Demo'] }
  return JSON.stringify({ ...JSON.parse(block('json')), event: 'relayer_renamed', payload, later_member: true })
}

/** The first code block of the language in the webhook guide. Without a language: the whole guide. */
export function block(language?: string): string {
  const guide = document.tags.find(({ name }) => name === 'Notifications')?.description ?? ''
  if (language === undefined) return guide
  return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(guide)?.[1] ?? ''
}

/** The output of the program, trimmed. A failure has all of it. */
export async function run(program: string, input: string[], cwd: string, env: Record<string, string> = {}) {
  try {
    const options = { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
    const { stdout, stderr } = await promisify(execFile)(program, input, options)
    return (stdout + stderr).trim()
  } catch (error) {
    const { message, stdout, stderr } = error as { message: string; stdout?: string; stderr?: string }
    throw new Error([message, stdout, stderr].join('\n'), { cause: error })
  }
}

/** The client of a generator, made with the configuration that docs/clients.md names, and what the generator said. */
export async function generate(
  name: string,
  env: Record<string, string> = {},
): Promise<{ output: string; said: string }> {
  const output = join(temporaryFolder(), 'relayer')
  const said = await run('sh', [join(root, 'client', 'generators', 'generate.sh'), name, contract, output], root, env)
  return { output, said }
}

/** The delivery of the webhook guide, and what a later version may answer and deliver. */
export function writeLater(folder: string): void {
  writeFileSync(join(folder, 'delivery.json'), block('json'))
  writeFileSync(join(folder, 'later.json'), laterTransaction('resting'))
  writeFileSync(join(folder, 'later-event.json'), laterEvent())
}

/** What a generated client is called with, and how it prints what it gets, a line each. */
export interface Calls {
  url: string
  apiKey: string
  /**
   * Signs "Hello", sends 1 wei, calls `approve`, lists relayers, makes the signer `extra` and the relayer `extra` with 5 as `max_value`, changes
   * that to 7 and removes it, makes the notification `ops` for `confirmed`, changes its URL, removes its filter, deletes it and asks for it.
   */
  expect(printed: string): Promise<void>
}

export const receiver = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

export async function startCalls(): Promise<Calls> {
  const chain = await testChain({ blockTime_s: 0.3 })
  const { client, url, api_key } = await startTestService()
  await client.networks.update('evm:local', { rpc_urls: [chain.url] })
  const demo = await client.relayers.get('demo')
  await chain.setBalance(demo.address, 10n ** 20n)
  return {
    url,
    apiKey: api_key,
    async expect(printed) {
      const [signature = '', id = '', callId, ...others] = printed.split('\n')
      expect(others).toEqual([
        'demo',
        'local',
        'extra 5',
        'extra 7',
        'extra none',
        'confirmed',
        'http://127.0.0.1:9/b',
        'filter none',
        'deleted true',
        '404 not_found',
      ])
      expect(verifyMessage('Hello', signature)).toBe(getAddress(demo.address))
      const sent = await Array.fromAsync(client.transactions.listRelayerTransactions('demo'))
      expect(sent.map((each) => each.id)).toEqual([callId, id])
      expect(sent[0]).toMatchObject({ to: receiver, data: expect.stringMatching(/^0x095ea7b3/) })
      expect((await client.relayers.get('extra')).policies).not.toHaveProperty('max_value')
      expect(await client.transactions.wait('demo', id)).toMatchObject({
        status: 'confirmed',
        to: receiver,
        value: '1',
      })
    },
  }
}

const plain = (name: string) => name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()

/** The parameters that only one operation has, named after both. */
const ownParameters = calls.flatMap(({ operation: { operationId, parameters = [] } }) =>
  (parameters as { name?: string }[]).flatMap(({ name }) => [`${operationId}${name}`, `${operationId}Params${name}`]),
)

/** The names of schemas, of schemas with one of their members, of parameters and answers. */
const givenNames = new Set(
  [
    ...schemas.flatMap(([name, { properties = {} }]) => [name, ...Object.keys(properties).map((key) => name + key)]),
    ...Object.keys(document.components.parameters),
    ...Object.keys(document.components.responses),
    ...ownParameters,
  ].map(plain),
)

const operations = `receiveEvent|${operationIds.join('|')}`

/**
 * Prints the names of the models that a generator made. Returns those that neither the contract gives, with one of the generator's `endings`
 * or without, nor `own` has: what the generator always makes, and what it names itself.
 */
export function unknownModels(
  generator: string,
  names: string[],
  { endings = '', own = [] as string[] } = {},
): string[] {
  process.stdout.write(`${generator}, ${names.length} models: ${names.toSorted().join(' ')}\n`)
  const [ending, ofOperation] = [new RegExp(`(?:${endings})$`), new RegExp(`^(?:${operations})(?:${endings})$`, 'i')]
  const isGiven = (name: string) => givenNames.has(plain(name)) || givenNames.has(plain(name.replace(ending, '')))
  return names.filter((name) => !isGiven(name) && !ofOperation.test(name) && !own.includes(name)).toSorted()
}

/** Prints the names of the methods that a generator made. Returns those that are no operation or `own`, and the operations that have none. */
export function unknownMethods(generator: string, names: string[], own: string[] = []): string[] {
  process.stdout.write(`${generator}, ${names.length} methods: ${names.toSorted().join(' ')}\n`)
  const [made, wanted] = [names, [...operationIds, ...own]].map((ids) => new Set(ids.map(plain))) as [
    Set<string>,
    Set<string>,
  ]
  return [...made.symmetricDifference(wanted)].toSorted()
}

/** What the first group of a pattern finds, each once. */
export const found = (source: string, pattern: RegExp): string[] => [
  ...new Set([...source.matchAll(pattern)].map(([, name = '']) => name)),
]

/** Checks the types of a program beside a generated client, and runs it as one file: generated imports have no extensions. */
export async function runTypeScript(folder: string, program: string, { url, apiKey }: Calls): Promise<string> {
  writeFileSync(join(folder, 'program.ts'), program)
  const types = [
    '--typeRoots',
    join(root, 'node_modules', '@types'),
    '--types',
    'node',
    '--lib',
    'es2022,dom,dom.iterable',
  ]
  const modules = ['--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck']
  const compiler = join(root, 'node_modules', '.bin', 'tsc')
  await run(compiler, ['--noEmit', '--strict', ...modules, ...types, 'program.ts'], folder)
  await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    build: { ssr: 'program.ts', outDir: 'built', rolldownOptions: { output: { entryFileNames: 'program.mjs' } } },
  })
  return run('node', [join('built', 'program.mjs'), url, apiKey], folder)
}
