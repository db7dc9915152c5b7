import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { keccak256, toUtf8Bytes, Wallet } from 'ethers'
import pino from 'pino'
import {
  createRelayerClient,
  type PoolPoliciesInput,
  type RelayerClient,
  type RelayerPoliciesInput,
  type ReplaceFundingRequest,
} from '../../client/index.ts'
import { startService } from '../../server/app.ts'
import { readConfig } from '../../server/config.ts'
import { compiledContract } from '../support/compiled-contract.ts'
import { dataRoot } from '../support/data-root.ts'
import { randomFrom } from '../support/random.ts'
import { type ChainModel, createChainModel, parse, type SignedTransaction } from './chain.ts'
import { installClock, type VirtualClock } from './clock.ts'
import { createNodes, type Nodes } from './nodes.ts'

export interface WorldOptions {
  nodes: number
  confirmations: number
  policies: RelayerPoliciesInput
  /** Of a pool with further relayers and a treasury; undefined: the relayer is alone. */
  pool?: { policies: PoolPoliciesInput; funding: Omit<ReplaceFundingRequest, 'treasury_id'> } | undefined
  /** Of what the service draws at random. */
  seed: number
}

/** Signed bytes as they were first given to a node. */
export interface Sent {
  transaction: SignedTransaction
  at_ms: number
}

/** Signed bytes as the database has them. */
export interface Attempt {
  transaction: SignedTransaction
  transaction_id: string
  number: number
  /** Whether a node said that it has them. */
  isTaken: boolean
}

export interface Account {
  relayer_id: string
  /** Lower case. */
  address: string
}

/** A service over a chain model, in virtual time. */
export interface World {
  chain: ChainModel
  nodes: Nodes
  clock: VirtualClock
  relayer_id: string
  /** Lower case. */
  address: string
  /** Of the pool, the main one first; without a pool it alone. */
  accounts: Account[]
  /** Funds the relayers of the pool. */
  treasury: Account | undefined
  /** The relayer's key, as somebody else uses it. */
  wallet: Wallet
  /** All that the service gave to any node, by hash. */
  sent: Map<string, Sent>
  /** The values of transactions that a public node was shown, asked for or estimated before a block had their nonce. */
  told_publicly: Set<bigint>
  /**
   * Makes a request. When the process dies meanwhile it is started again on the same data, and the request is made again:
   * `ask` must be idempotent or look first.
   */
  ask<T>(ask: (client: RelayerClient) => Promise<T>): Promise<T>
  /** Dies at once. `pass` and `ask` start it again. */
  crash(): void
  /** Dies when it gives the raw transaction of that number, counted from now, to a node: before or after the node has it. */
  crashAt(send: number, before: boolean): void
  /** Lets time pass. */
  pass(ms: number, steps: number): Promise<void>
  /** All bytes that the database has, sent or not. */
  attempts(): Attempt[]
  /** Bytes that a node was given before the database had them. */
  undurable: SignedTransaction[]
  /** How often the process died. */
  crashes(): number
  close(): Promise<void>
}

const startMs = Date.UTC(2026, 0, 1)
const apiKey = 'model'.repeat(8)
const balance = 10n ** 18n

class Died extends Error {}

export async function openWorld(options: WorldOptions): Promise<World> {
  const { nodes: nodeCount, confirmations, seed } = options
  const clock = installClock(startMs)
  const random = Math.random
  Math.random = randomFrom(seed)
  const chain = createChainModel()
  const wallet = new Wallet(
    `0x${(seed >>> 0).toString(16).padStart(8, '0').repeat(8)}`.replace(/^0x0+$/, `0x${'1'.repeat(64)}`),
  )
  const address = wallet.address.toLowerCase()
  const sent = new Map<string, Sent>()
  const undurable: SignedTransaction[] = []
  const toldPublicly = new Set<bigint>()
  /** By account: the most transactions that the only node has counted. Several must agree before one of them is given a private hash. */
  const counted = new Map<string, number>()
  let crashes = 0
  let countdown: { left: number; before: boolean } | undefined

  const nodes = createNodes(nodeCount, {
    chain,
    address: () => address,
    active: clock.active,
    asking({ method, params: [first] }) {
      const given = (first as { value?: string } | undefined)?.value
      if (method === 'eth_estimateGas' && given) toldPublicly.add(BigInt(given))
      const known = method.startsWith('eth_getTransaction') ? sent.get(`${first}`) : undefined
      if (known && !isCounted(known.transaction)) tell(known.transaction)
    },
    answered({ method, params: [account] }, answer) {
      if (nodeCount > 1 || method !== 'eth_getTransactionCount' || !('result' in answer)) return
      const count = Number(answer.result ?? 0)
      counted.set(`${account}`, Math.max(count, counted.get(`${account}`) ?? 0))
    },
    sending(raw, before, isPublic) {
      if (countdown?.before === before) {
        countdown.left -= 1
        if (countdown.left === 0) {
          crash()
          if (before) throw new Died('before the node has it')
        }
      }
      if (!before) return
      const transaction = parse(raw)
      if (isPublic) tell(transaction)
      if (!read(dataDir, (db) => hasRaw(db, raw))) undurable.push(transaction)
      if (!sent.has(transaction.hash)) sent.set(transaction.hash, { transaction, at_ms: clock.elapsed() })
    },
  })

  const isCounted = ({ from, nonce }: SignedTransaction) => nonce < (counted.get(from) ?? 0)

  /** Once a block had its nonce it is no secret. */
  function tell({ from, nonce, value }: SignedTransaction): void {
    if (!chain.everMined.has(`${from} ${nonce}`)) toldPublicly.add(value)
  }

  let dataDir = mkdtempSync(join(dataRoot, 'relayer-model-'))
  let running = await clock.during(launch(dataDir))

  async function launch(folder: string) {
    const life = { dead: false, left_behind: '' }
    const config = readConfig({
      PORT: '0',
      DATA_DIR: folder,
      API_KEY: apiKey,
      MASTER_KEY: '5a'.repeat(32),
      RATE_LIMIT_BURST: '1000000',
    })
    const service = await startService(config, {
      now: clock.now,
      elapsed: clock.elapsed,
      contract: await compiledContract(),
      logger: pino({ level: process.env.MODEL_LOG ?? 'silent' }),
      openPost: nodes.openPost(() => life.dead),
    })
    const client = createRelayerClient({
      baseUrl: service.url,
      token: apiKey,
      async fetch(request) {
        // The scenario is the only writer.
        if (request.method === 'PUT' || request.method === 'PATCH') request.headers.set('If-Match', '*')
        const response = await plainFetch(request)
        // A dead process answers nobody.
        if (life.dead) throw new Died('The process died')
        return response
      },
    })
    return { service, client, life }
  }

  /** Copies the files as a `kill -9` would leave them, in one turn of the event loop. */
  function crash(): void {
    countdown = undefined
    if (running.life.dead) return
    running.life.dead = true
    crashes += 1
    const folder = mkdtempSync(join(dataRoot, 'relayer-model-'))
    cpSync(dataDir, folder, { recursive: true, filter: (file) => !file.endsWith('-shm') })
    running.life.left_behind = folder
  }

  async function revive(): Promise<void> {
    const { service, life } = running
    if (!life.dead) return
    await clock.during(service.close())
    rmSync(dataDir, { recursive: true, force: true })
    dataDir = life.left_behind
    running = await clock.during(launch(dataDir))
  }

  async function ask<T>(question: (client: RelayerClient) => Promise<T>): Promise<T> {
    for (;;) {
      await revive()
      try {
        return await clock.during(question(running.client))
      } catch (error) {
        if (!running.life.dead) throw error
      }
    }
  }

  const relayerId = await ask((client) => prepare(client, wallet.privateKey, nodes, confirmations, options.policies))
  chain.setBalance(address, balance)
  chain.mine()
  const accounts = [{ relayer_id: relayerId, address }]
  let treasury: Account | undefined
  if (options.pool) {
    for (const name of ['b', 'c']) accounts.push(await addAccount(name))
    treasury = await addAccount('treasury')
    await ask((client) => addPool(client, accounts, (treasury as Account).relayer_id, options.pool as Pool))
  }

  async function addAccount(name: string): Promise<Account> {
    const key = keccak256(toUtf8Bytes(`${name} ${seed}`))
    const account = { relayer_id: name, address: new Wallet(key).address.toLowerCase() }
    await ask((client) => addRelayer(client, key, name, {}))
    chain.setBalance(account.address, name === 'treasury' ? balance * 100n : balance)
    return account
  }

  return {
    chain,
    nodes,
    clock,
    relayer_id: relayerId,
    address,
    accounts,
    treasury,
    wallet,
    sent,
    told_publicly: toldPublicly,
    undurable,
    ask,
    crash,
    crashes: () => crashes,
    crashAt(left, before) {
      countdown = { left, before }
    },
    async pass(ms, steps) {
      await revive()
      for (let step = 0; step < steps; step += 1) {
        await clock.advance(ms / steps, 1)
        await revive()
      }
    },
    attempts: () => read(dataDir, allAttempts),
    async close() {
      try {
        await clock.during(running.service.close())
      } finally {
        clock.restore()
        Math.random = random
        rmSync(dataDir, { recursive: true, force: true })
        if (running.life.left_behind !== '') rmSync(running.life.left_behind, { recursive: true, force: true })
      }
    },
  }
}

async function prepare(
  client: RelayerClient,
  key: string,
  { urls, relay_url }: Nodes,
  confirmations: number,
  policies: RelayerPoliciesInput,
): Promise<string> {
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: {
      ...{ rpc_urls: urls, private_rpc_urls: [relay_url] },
      ...{ required_confirmations: confirmations, average_blocktime_ms: 2_000 },
    },
  })
  return addRelayer(client, key, 'model', policies)
}

async function addRelayer(client: RelayerClient, key: string, id: string, policies: RelayerPoliciesInput) {
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'plain', config: { key } } })
  const network = { network: 'local', network_type: 'evm' } as const
  const body = { id, name: id, ...network, paused: false, signer_id: signer.id, policies }
  return (await client.post('/api/v1/relayers', { body })).data.id
}

type Pool = NonNullable<WorldOptions['pool']>

async function addPool(client: RelayerClient, accounts: Account[], treasuryId: string, { policies, funding }: Pool) {
  const relayerIds = accounts.map(({ relayer_id }) => relayer_id)
  await client.post('/api/v1/pools', { body: { id: 'pool', network: 'local', relayer_ids: relayerIds, policies } })
  await client.put('/api/v1/pools/{pool_id}/funding', {
    path: { pool_id: 'pool' },
    body: { treasury_id: treasuryId, ...funding },
  })
}

/** Reads the database through a separate connection. */
function read<T>(dataDir: string, question: (db: Database.Database) => T): T {
  const db = new Database(join(dataDir, 'relayer.sqlite'), { readonly: true })
  try {
    return question(db)
  } finally {
    db.close()
  }
}

const hasRaw = (db: Database.Database, raw: string): boolean =>
  db.prepare('SELECT 1 FROM attempts WHERE hash = ? AND raw = ?').get(parse(raw).hash, bytesOf(raw)) !== undefined

const allAttempts = (db: Database.Database): Attempt[] =>
  db
    .prepare<[], { raw: Buffer; transaction_id: string; number: number; taken_at: string | null }>(`
      SELECT raw, id AS transaction_id, number, taken_at FROM attempts
      JOIN transactions ON row_id = transaction_row_id ORDER BY transaction_row_id, number`)
    .all()
    .map(({ raw, taken_at, ...attempt }) => ({
      ...attempt,
      transaction: parse(`0x${raw.toString('hex')}`),
      isTaken: taken_at !== null,
    }))

const bytesOf = (raw: string) => Buffer.from(raw.slice(2), 'hex')

/** By Node's own client, whose timers are not the virtual ones; a connection for each request. */
function plainFetch(request: Request): Promise<Response> {
  return new Promise((resolve, reject) => {
    const headers = Object.fromEntries(request.headers)
    const outgoing = http.request(request.url, { method: request.method, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.once('error', reject)
      incoming.once('end', () => {
        const fields = Object.entries(incoming.headers).map(([name, value]) => [name, `${value}`] as [string, string])
        resolve(new Response(Buffer.concat(chunks), { status: incoming.statusCode ?? 500, headers: fields }))
      })
    })
    outgoing.once('error', reject)
    request.text().then((body) => outgoing.end(body), reject)
  })
}
