import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { getAddress, verifyMessage } from 'ethers'
import { build } from 'vite'
import { expect } from 'vitest'
import { type Document, exampleCalls } from '../../client/samples/operation.ts'
import { testChain } from '../support/chain.ts'
import { startTestService } from '../support/service.ts'

const root = join(import.meta.dirname, '..', '..')
export const contract = join(root, 'generated', 'openapi.json')

interface Schema {
  type?: unknown
}

const document = JSON.parse(readFileSync(contract, 'utf8')) as Document & {
  tags: { name: string; description: string }[]
  components: {
    schemas: Record<string, Schema>
    responses: Record<
      string,
      { content?: Record<string, { schema: { $ref?: string }; examples?: Record<string, { value: unknown }> }> }
    >
  }
}

export const operationIds = exampleCalls(document).map(({ operation }) => operation.operationId as string)

const schemas = Object.entries(document.components.schemas)
export const schemaNames = schemas.map(([name]) => name)

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

/** What a generated client is called with, and how it prints what it gets, a line each. */
export interface Calls {
  url: string
  apiKey: string
  /**
   * Signs "Hello", sends 1 wei, calls `approve`, lists relayers, makes the signer `extra` and the relayer `extra` with 5 as `max_value` and changes
   * that to 7, makes the notification `ops`, changes its URL, deletes it and asks for it.
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
        'http://127.0.0.1:9/b',
        'deleted true',
        '404 not_found',
      ])
      expect(verifyMessage('Hello', signature)).toBe(getAddress(demo.address))
      const sent = await Array.fromAsync(client.transactions.list('demo'))
      expect(sent.map((each) => each.id)).toEqual([callId, id])
      expect(sent[0]).toMatchObject({ to: receiver, data: expect.stringMatching(/^0x095ea7b3/) })
      expect(await client.transactions.wait('demo', id)).toMatchObject({
        status: 'confirmed',
        to: receiver,
        value: '1',
      })
    },
  }
}

/** Prints the names that a generator made. Returns those that the contract does not give it. */
export function inventedNames(generator: string, kind: 'methods' | 'models', names: string[]): string[] {
  process.stdout.write(`${generator}, ${names.length} ${kind}: ${names.toSorted().join(' ')}\n`)
  return names.filter((name) => /inner|inline|anyof|oneof|allof|\d$/i.test(name)).toSorted()
}

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
