import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Wallet } from 'ethers'
import { onTestFinished } from 'vitest'
import { type Document, exampleCalls, type Sample } from '../../client/samples/operation.ts'
import { testChain } from './chain.ts'
import { testLiar } from './liar.ts'
import { nodeEnvironment } from './node-environment.ts'
import { anyToken, signPayment } from './payments.ts'
import { startTestService, temporaryFolder } from './service.ts'
import { until } from './until.ts'

const root = join(import.meta.dirname, '..', '..')
const document = JSON.parse(readFileSync(join(root, 'generated', 'openapi.json'), 'utf8')) as Document
export const published = exampleCalls(document).map(({ operation, call }) => ({
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
  'updateSponsorship',
  'deleteSponsorship',
  'deleteFacilitator',
  'sweepRelayer',
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

/** Runs a sample's program. Resolves to why it failed. */
export type RunSample = (id: string, source: string, success: string) => Promise<string | undefined>

/** Runs every sample of a language against a service. Resolves to what failed. */
export async function runSamples(
  label: string,
  open: (folder: string, env: NodeJS.ProcessEnv) => RunSample | Promise<RunSample>,
) {
  const { service, prepare, valuesOf, sponsorshipKey } = await world()
  const folder = project()
  const runSample = await open(folder, { ...process.env, ...nodeEnvironment, RELAYER_API_KEY: service.api_key })
  const failures: string[] = []
  for (const { id, success, path, streams, samples } of inOrder) {
    await prepare(id)
    let source = sampleOf(samples, label).replace('http://127.0.0.1:8080', service.url)
    if (id === 'callSponsoredJsonRpc') source = withKey(source, await sponsorshipKey())
    for (const [name, value] of Object.entries(await valuesOf(path))) {
      source = source.replaceAll(path[name] as string, value)
    }
    const failure = await runSample(id, source, streams ? 'event: ' : success)
    if (failure !== undefined) failures.push(`${id}: ${failure}`)
  }
  return failures
}

/** A sample with another key in the place of the variable of the environment. */
function withKey(source: string, key: string): string {
  return source
    .replace(/process\.env\.RELAYER_API_KEY|os\.Getenv\("RELAYER_API_KEY"\)/, `"${key}"`)
    .replace(/\$RELAYER_API_KEY|\{os\.environ\['RELAYER_API_KEY'\]\}/, key)
}

/** A process that runs programs one after the other: each in a process of its own would take a minute. Resolves to why one failed. */
export function startImports(folder: string, env: NodeJS.ProcessEnv): (program: string) => Promise<string | undefined> {
  const runner = join(folder, 'runner.js')
  writeFileSync(
    runner,
    `process.on('message', async (file) => process.send(await import(file).then(() => null, (error) => \`\${error.stack}\`)))`,
  )
  const child = fork(runner, { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] })
  onTestFinished(() => void child.kill())
  return async (program) => {
    const answered = once(child, 'message')
    child.send(program)
    const [failure] = await answered
    return failure ?? undefined
  }
}

export const sampleOf = (samples: Sample[], label: string) =>
  samples.find((sample) => sample.label === label)?.source ?? ''

/** A folder in which the client is installed. */
export function project(): string {
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
  const node = await testLiar(chain)
  // While it is full, only the first transaction is signed.
  let isFull = false
  let isPrivate = false
  node.lie = (method) => (isFull && method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  const service = await startTestService()
  const { client } = service
  const demo = { path: { relayer_id: 'demo' } }
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [node.url] },
  })
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 20n)

  const sendOne = async () => {
    const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
      ...demo,
      query: { wait: isFull ? 'none' : 'submitted' },
      body: { to: `0x${'5a'.repeat(20)}`, value: '1', ...(isPrivate && { submission: { mode: 'private' } }) },
    })
    return data.id
  }
  /** By the relayer demo; the pool gets another one afterwards, to which it can be moved. */
  const sendPooled = async () => {
    const path = { pool_id: 'payouts' }
    const query = { wait: isFull ? ('none' as const) : ('submitted' as const) }
    const body = { to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000 }
    await client.patch('/api/v1/pools/{pool_id}', { path, body: { relayer_ids: ['demo'] } })
    const { data } = await client.post('/api/v1/pools/{pool_id}/transactions', { path, query, body })
    if (isFull) await client.patch('/api/v1/pools/{pool_id}', { path, body: { relayer_ids: ['demo', 'spare'] } })
    return data.id
  }
  const isFinished = async () =>
    (await client.get('/api/v1/queues', { query: { per_page: 100 } })).data.every(
      ({ unfinished_count }) => unfinished_count === 0,
    )

  const before: Record<string, () => Promise<unknown>> = {
    createApiKey: async () => {
      await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'treasury-events' } })
      await sendOne()
    },
    signAuthorization: () =>
      client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { policies: { allow_authorizations: true } } }),
    getRelayerFunding: async () => {
      const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
      const body = { id: 'reserve', name: 'Reserve', network: 'local', network_type: 'evm', paused: false } as const
      await client.post('/api/v1/relayers', { body: { ...body, signer_id: signer.id } })
      const amounts = { min_balance: '1', target_balance: '2', max_amount_per_day: '9', max_fee_per_gas: '9' }
      await client.put('/api/v1/relayers/{relayer_id}/funding', {
        ...demo,
        body: { treasury_id: 'reserve', ...amounts },
      })
    },
    movePoolTransaction: async () => {
      const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
      const body = { id: 'spare', name: 'Spare', network: 'local', network_type: 'evm', paused: false } as const
      const { data: spare } = await client.post('/api/v1/relayers', { body: { ...body, signer_id: signer.id } })
      await chain.setBalance(spare.address, 10n ** 20n)
      isFull = true
      const first = { ...demo.path, transaction_id: await sendOne() }
      await until('it waits', async () => {
        const { data } = await client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
          path: first,
        })
        return data.status_reason !== null
      })
    },
    publishTransaction: async () => {
      isPrivate = true
      await client.patch('/api/v1/networks/{network_id}', {
        path: { network_id: 'evm:local' },
        body: { private_rpc_urls: [node.url] },
      })
    },
    verifyPayment: () => chain.rpc('anvil_setCode', ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8', anyToken]),
    settlePayment: () => chain.rpc('evm_setIntervalMining', [1]),
    getPayment: () => chain.rpc('evm_setIntervalMining', [0]),
    getPoolFunding: () => {
      const amounts = { min_balance: '1', target_balance: '2', max_amount_per_day: '9', max_fee_per_gas: '9' }
      const body = { treasury_id: 'reserve', ...amounts }
      return client.put('/api/v1/pools/{pool_id}/funding', { path: { pool_id: 'payouts' }, body })
    },
    // It pauses the relayer, which then sends nothing that was not sent before.
    updateRelayer: () => until('nothing is unfinished', isFinished, () => chain.mine()),
    deleteRelayer: async () => {
      for await (const { id } of client.sponsorships.list()) await client.sponsorships.delete(id)
    },
    deleteNetwork: async () => {
      for (const relayerId of ['reserve', 'spare']) {
        await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } })
      }
    },
    deleteSigner: () => client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'treasury' } }),
  }

  /** Ids that the service generates; all others are those of the examples. */
  const generated: Record<string, () => Promise<string>> = {
    transaction_id: sendOne,
    problem_id: async () => {
      // The node of the sample network does not answer.
      const { data: problems } = await client.get('/api/v1/problems')
      return (problems.find(({ acknowledgement }) => acknowledgement) ?? problems[0])?.id as string
    },
    api_key_id: async () => (await client.get('/api/v1/api-keys')).data[0]?.id as string,
    call_id: async () => {
      const call = { to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', data: '0xa9059cbb' }
      const user = `0x${'1'.repeat(40)}`
      return (await client.sponsorships.sendSponsoredCall('game', { ...call, user })).id
    },
    payment_id: async () => {
      const { assets, pay_to: payee } = await client.facilitators.update('shop', { wait_seconds: 0 })
      const token = assets[0]?.asset ?? ''
      const its = { chain_id: chain.chain_id, token, payee, valid_before: 4_102_444_800 }
      const request = await signPayment(Wallet.createRandom() as unknown as Wallet, its)
      return (await client.facilitators.settlePayment('shop', request)).extra?.payment as string
    },
    delivery_id: async () => {
      const path = { notification_id: 'treasury-events' }
      const { data } = await client.get('/api/v1/notifications/{notification_id}/deliveries', { path })
      return data[0]?.id as string
    },
  }

  return {
    service,
    async prepare(id: string) {
      isFull = false
      isPrivate = false
      await before[id]?.()
    },
    /** A key of a sponsorship. */
    async sponsorshipKey() {
      const rules = { relayer_id: 'demo', max_gas_per_call: 100_000, max_fee_per_call: '1', max_fee_per_day: '1' }
      const { token } = await client.sponsorships.create(rules)
      return token
    },
    async valuesOf(path: Record<string, string>) {
      const values: Record<string, string> = {}
      const made = 'pool_id' in path ? { ...generated, transaction_id: sendPooled } : generated
      for (const [name, make] of Object.entries(made)) if (name in path) values[name] = await make()
      return values
    },
  }
}

interface RunOptions {
  env?: NodeJS.ProcessEnv
  /** The program is ended once its output contains this. */
  until?: string | undefined
}

export function run(program: string, input: string[], { env, until: end }: RunOptions) {
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
