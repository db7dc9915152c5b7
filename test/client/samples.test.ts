import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Document, exampleCalls, type Sample } from '../../client/samples/operation.ts'
import { testChain } from '../support/chain.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '..', '..')
const document = JSON.parse(readFileSync(join(root, 'generated', 'openapi.json'), 'utf8')) as Document
const published = exampleCalls(document).map(({ operation, call }) => ({
  id: operation.operationId as string,
  success: Object.keys(operation.responses ?? {}).find((status) => status.startsWith('2')) as string,
  path: call.parameters.path,
  streams: call.answer === 'events',
  samples: operation['x-codeSamples'] ?? [],
}))

/** The examples create what the examples of other operations use. */
const first = ['createNetwork', 'createSigner', 'createRelayer', 'createPool', 'createNotification', 'createApiKey']
/** These end what others use. */
const last = [
  'deletePool',
  'updateRelayer',
  'deleteRelayer',
  'deleteSigner',
  'deleteNotification',
  'updateNetwork',
  'deleteNetwork',
  'deleteApiKey',
]
const place = ({ id }: { id: string }) => (first.includes(id) ? first.indexOf(id) - first.length : last.indexOf(id) + 1)
const inOrder = published.toSorted((a, b) => place(a) - place(b))

test('has a curl sample and a TypeScript sample for every operation', () => {
  const labels = published.map(({ id, samples }) => [id, ...samples.map(({ label }) => label)])
  expect(labels).toEqual(published.map(({ id }) => [id, 'curl', 'TypeScript']))
})

test('compiles the TypeScript samples under strict', async () => {
  const folder = project()
  const files = published.map(({ id, samples }) => {
    writeFileSync(join(folder, `${id}.ts`), sampleOf(samples, 'TypeScript'))
    return `${id}.ts`
  })
  const compilerOptions = {
    typeRoots: [join(root, 'node_modules', '@types')],
    paths: { '@evm-relayer-service/client': [join(root, 'client', 'index.ts')] },
  }
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions, include: [], exclude: [], files }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const { output, code } = await run(join(root, 'node_modules', '.bin', 'tsc'), ['--project', folder], {})
  expect(output).toBe('')
  expect(code).toBe(0)
})

test.each(['curl', 'TypeScript'])('runs every sample for %s', async (label) => {
  const { service, prepare, valuesOf } = await world()
  const folder = project()
  const failures: string[] = []
  for (const { id, success, path, streams, samples } of inOrder) {
    await prepare(id)
    let source = sampleOf(samples, label).replace('http://127.0.0.1:8080', service.url)
    for (const [name, value] of Object.entries(await valuesOf(path))) {
      source = source.replaceAll(path[name] as string, value)
    }
    const program = join(folder, `${id}.ts`)
    writeFileSync(program, source)
    const script = `curl() { command curl -sS -w '\\n%{http_code}' "$@"; }\n${source}`
    const [command, input] = label === 'curl' ? ['bash', ['-c', script]] : [process.execPath, [program]]
    const { output, code } = await run(command as string, input as string[], {
      env: { ...process.env, ...nodeEnvironment, RELAYER_API_KEY: service.api_key },
      until: streams ? 'event: ' : undefined,
    })
    const succeeded = streams
      ? output.includes('event: ')
      : code === 0 && (label !== 'curl' || output.endsWith(`\n${success}`))
    if (!succeeded) failures.push(`${id}: ${code} ${output}`)
  }
  expect(failures).toEqual([])
})

const sampleOf = (samples: Sample[], label: string) => samples.find((sample) => sample.label === label)?.source ?? ''

/** A folder in which the client is installed. */
function project(): string {
  const folder = temporaryFolder()
  const client = join(folder, 'node_modules', '@evm-relayer-service/client')
  mkdirSync(client, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeFileSync(join(client, 'package.json'), '{"type": "module", "exports": "./index.js"}')
  writeFileSync(join(client, 'index.js'), `export * from ${JSON.stringify(join(root, 'client', 'index.ts'))}\n`)
  return folder
}

/** A service on a chain without mining, and what the samples expect to exist. */
async function world() {
  const chain = await testChain({ noMining: true })
  const service = await startTestService()
  const { client } = service
  const demo = { path: { relayer_id: 'demo' } }
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url] },
  })
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 20n)

  const sendOne = async () => {
    const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
      ...demo,
      query: { wait: 'submitted' },
      body: { to: `0x${'5a'.repeat(20)}`, value: '1' },
    })
    return data.id
  }
  const isFinished = async () => {
    const { data } = await client.get('/api/v1/relayers/{relayer_id}/status', demo)
    return data.pending_transactions_count === 0
  }

  const before: Record<string, () => Promise<unknown>> = {
    createApiKey: async () => {
      await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'treasury-events' } })
      await sendOne()
    },
    signAuthorization: () =>
      client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { policies: { allow_authorizations: true } } }),
    // The relayer was drained before.
    sendPoolTransaction: () =>
      client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { policies: { allow_transactions: null } } }),
    deleteRelayer: () => until('nothing is unfinished', isFinished, () => chain.mine()),
    deleteSigner: () => client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'treasury' } }),
  }

  /** Ids that the service generates; all others are those of the examples. */
  const generated: Record<string, () => Promise<string>> = {
    transaction_id: sendOne,
    problem_id: async () => {
      // The node of the sample network does not answer.
      const { problems } = (await client.get('/api/v1/problems')).data
      return (problems.find(({ acknowledgement }) => acknowledgement) ?? problems[0])?.id as string
    },
    api_key_id: async () => (await client.get('/api/v1/api-keys')).data[0]?.id as string,
    delivery_id: async () => {
      const path = { notification_id: 'treasury-events' }
      const { data } = await client.get('/api/v1/notifications/{notification_id}/deliveries', { path })
      return data[0]?.id as string
    },
  }

  return {
    service,
    prepare: async (id: string) => before[id]?.(),
    async valuesOf(path: Record<string, string>) {
      const values: Record<string, string> = {}
      for (const name of Object.keys(path)) if (generated[name]) values[name] = await generated[name]()
      return values
    },
  }
}

interface RunOptions {
  env?: NodeJS.ProcessEnv
  /** The program is ended once its output contains this. */
  until?: string | undefined
}

function run(program: string, input: string[], { env, until: end }: RunOptions) {
  return new Promise<{ output: string; code: number | null }>((resolve, reject) => {
    const child = spawn(program, input, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    const keep = (text: Buffer) => {
      output += text
      if (end !== undefined && output.includes(end)) process.kill(-(child.pid as number))
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', reject).once('close', (code) => resolve({ output, code }))
  })
}
