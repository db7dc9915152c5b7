import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRelayerClient, type RelayerClient } from '../../../client/index.ts'
import { type Anvil, startAnvil } from '../../support/anvil.ts'
import { awsCredentials } from '../../support/fake-kms.ts'
import { asOnlyWriter } from '../../support/only-writer.ts'
import { policies } from '../stage.ts'
import { startKeyService } from './key-service.ts'
import { apiKey, type ServiceProcess, startProcess } from './service-process.ts'
import { startTap, type Tap } from './tap.ts'

export const connections = 50
const balance = 10n ** 24n
/** The database must not count as down because the machine is busy. */
const patienceMs = '10000'

export interface Stage {
  chain: Anvil
  tap: Tap
  service: ServiceProcess
  /** More servers on the same database. */
  others: ServiceProcess[]
  client: RelayerClient
  agent: Agent
  /** The relayers, in whose turn transactions are posted; the first is `bench`. */
  relayers: { id: string; address: string }[]
  /** What transactions are sent through, in the place of each relayer; undefined: no pool. */
  pool: string | undefined
  /** The first relayer's. */
  address: string
  receiver: string
  /** How many were posted so far: what makes the next ones distinct. */
  posted: number
  /** The same database, the same port, another process. */
  restart(): Promise<void>
  end(): Promise<void>
}

export interface StageOptions {
  /** Blocks by time; false: by request. Default true. */
  mining?: boolean
  /** Default: a second. */
  block_ms?: number
  node_args?: string[]
  anvil_args?: string[]
  /** How many relayers. Default 1. */
  relayers?: number
  /** All in one pool. */
  pool?: boolean
  /** The folder of the service's code. Default: this project. */
  root?: string
  /** Signers with keys in a key service of their own; `delay_ms`: the duration of its calls. Absent: local keys. */
  key_service?: { delay_ms: number }
  /** A database in PostgreSQL. Absent: SQLite. */
  database_url?: string
  /** On that database. Default 1. */
  servers?: number
  /** More settings of the service. */
  env?: Record<string, string>
  /** Another node in front of the chain's. */
  through?: (url: string) => Promise<{ url: string; stop(): Promise<void> }>
  /** Told to the network; absent: unknown. */
  average_blocktime_ms?: number
}

/** A chain, a proxy that counts, a service in production's settings, and funded relayers. */
export async function setStage(options: StageOptions): Promise<Stage> {
  const {
    mining = true,
    block_ms = 1_000,
    node_args = [],
    anvil_args = [],
    relayers: count = 1,
    pool = false,
    root,
    average_blocktime_ms,
    key_service,
    database_url,
    servers = 1,
  } = options
  const blocks = mining ? { blockTime_s: block_ms / 1_000 } : { noMining: true }
  const chain = await startAnvil({ ...blocks, accounts: count + 1, args: anvil_args })
  const between = await options.through?.(chain.url)
  const tap = await startTap(between?.url ?? chain.url)
  const dataDir = mkdtempSync(join(tmpdir(), 'relayer-bench-'))
  const kms = key_service && (await startKeyService(key_service.delay_ms))
  const env = {
    ...options.env,
    ...(kms && awsCredentials),
    ...(database_url && { DATABASE_URL: database_url, DATABASE_TIMEOUT_MS: patienceMs }),
  }
  const service = await startProcess(dataDir, { node_args, root, env })
  const others: ServiceProcess[] = []
  for (let index = 1; index < servers; index += 1) {
    others.push(await startProcess(join(dataDir, `${index}`), { node_args, root, env }))
  }
  const client = createRelayerClient({ baseUrl: service.url, token: apiKey, fetch: asOnlyWriter })
  const [receiver, ...senders] = chain.accounts
  if (!receiver || senders.length < count) throw new Error('The chain has too few accounts')
  await client.post('/api/v1/networks', {
    body: {
      name: 'bench',
      network_type: 'evm',
      chain_id: chain.chain_id,
      rpc_urls: [tap.url],
      required_confirmations: 1,
      ...(average_blocktime_ms && { average_blocktime_ms }),
    },
  })
  const relayers: Stage['relayers'] = []
  for (const { key } of senders) {
    const id = relayers.length === 0 ? 'bench' : `bench-${relayers.length}`
    const { data: signer } = await client.post('/api/v1/signers', {
      body: kms
        ? { id, type: 'aws_kms', config: { region: 'eu-central-1', key_id: 'bench', endpoint: kms.url } }
        : { id, type: 'plain', config: { key } },
    })
    const { address } = signer
    await chain.setBalance(address, balance)
    await client.post('/api/v1/relayers', {
      body: { id, name: id, network: 'bench', network_type: 'evm', paused: false, signer_id: id, policies },
    })
    relayers.push({ id, address })
  }

  if (pool) {
    const relayerIds = relayers.map(({ id }) => id)
    await client.post('/api/v1/pools', { body: { id: 'bench', network: 'bench', relayer_ids: relayerIds } })
  }

  const stage: Stage = {
    pool: pool ? 'bench' : undefined,
    chain,
    tap,
    service,
    others,
    client,
    relayers,
    agent: new Agent({ keepAlive: true, maxSockets: connections }),
    address: relayers[0]?.address ?? '',
    receiver: receiver.address,
    posted: 0,
    async restart() {
      stage.service = await startProcess(dataDir, { node_args, root, env, port: new URL(service.url).port })
    },
    async end() {
      stage.agent.destroy()
      await Promise.all([stage.service, ...others].map((one) => one.stop('SIGTERM')))
      await chain.stop()
      await tap.stop()
      await between?.stop()
      await kms?.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return stage
}
