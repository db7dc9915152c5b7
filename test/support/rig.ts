import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import {
  type CreateSignerRequest,
  createRelayerClient,
  type RelayerClient,
  RelayerError,
  type RelayerPoliciesInput,
  type RpcUrlInput,
  type SendTransactionRequest,
  type Transaction,
} from '../../client/index.ts'
import { startService } from '../../server/app.ts'
import { type Config, readConfig } from '../../server/config.ts'
import { type Anvil, type AnvilOptions, startAnvil } from './anvil.ts'
import { compiledContract } from './compiled-contract.ts'
import { dataRoot } from './data-root.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { minedBy, type Score, scoreOf } from './ledger.ts'
import { type Money, moneyOf } from './money.ts'
import { asOnlyWriter } from './only-writer.ts'
import { databaseSettings, dropDatabase } from './service-database.ts'
import { until } from './until.ts'

export interface RigOptions {
  chain?: AnvilOptions
  /** Required by the network. Default 1. */
  confirmations?: number
  /** How many proxies the network's relayers reach the chain through. Default 1. */
  proxies?: number
  /** More settings of the service. */
  settings?: Record<string, string>
  /** For requests and signatures in progress when the service stops. */
  grace_ms?: number
}

/** A chain, a fault proxy in front of it, and a service that reaches it through the proxy; outside of vitest too. */
export interface Rig {
  chain: Anvil
  /** The first of `proxies`. */
  proxy: FaultProxy
  proxies: FaultProxy[]
  /** `ahead_ms`: added to the wall clock of the service; `passed_ms`: to its wall clock and its monotonic one. */
  clock: { ahead_ms: number; passed_ms: number }
  /** Of the service that runs now. */
  client(): RelayerClient
  /** Of the service that runs now. */
  url(): string
  /** Of the service that runs now, with the setting METRICS_PORT. */
  metrics_url(): string
  api_key: string
  /** The newest lines of the service's log, from level warn. */
  logged(): string[]
  database_file: string
  data_dir: string
  /** Adds a relayer with funds. `key`: its private key; absent: a new one. `rpc_urls`: nodes for this relayer only. */
  addAccount(options?: {
    key?: string
    /** A signer of another type, in place of a key. */
    signer?: CreateSignerRequest
    policies?: RelayerPoliciesInput
    rpc_urls?: RpcUrlInput[]
  }): Promise<Account>
  /** Stops the service, calls `meanwhile`, and starts it on the same data. `keepsPort`: at the same address. */
  restart(meanwhile?: () => unknown, options?: { keepsPort?: boolean }): Promise<void>
  stop(): Promise<void>
}

/** One relayer and its accepted transactions. */
export interface Account {
  relayer_id: string
  address: string
  /** Sends transactions concurrently, each with a unique value, and retries until they are accepted. Resolves in nonce order. */
  send(count: number, body?: Partial<SendTransactionRequest>): Promise<Transaction[]>
  /** The newest first. */
  transactions(): Promise<Transaction[]>
  /** How many transactions of the account are in the chain. */
  latest(): Promise<number>
  /** Waits until no transaction is unfinished. `between` is called after each poll, for example to mine a block. */
  finished(between?: () => unknown): Promise<void>
  /** Like `finished`, but resolves to false after `patience_ms` instead of throwing. */
  finishedWithin(patienceMs: number, between?: () => unknown): Promise<boolean>
  /** Asks to cancel it. */
  cancel(transactionId: string): Promise<void>
  /** Records transactions that the test withdrew in another way. */
  noteWithdrawn(transactionIds: string[]): void
  /** Counts, for `money`, transactions that wait without a `status_reason` for longer than one check of the chain takes. */
  noteSilence(): Promise<void>
  /** Call it when all transactions have ended. `foreign`: hashes of transactions that the test sent with the key. */
  score(foreign?: ReadonlySet<string>): Promise<Score>
  money(foreign?: ReadonlySet<string>): Promise<Money>
}

const apiKey = 'rig'.repeat(11)
const receiver = `0x${'5a'.repeat(20)}`
const balance = 10n ** 24n
const againMs = 50
const maxAtOnce = 500
const maxShown = 5
const maxLines = 1_000
/** Longer than one check of the chain takes. */
const silenceMs = 5_000
const waiting: ReadonlySet<string> = new Set(['pending', 'sent', 'submitted'])

export async function startRig({
  chain: options = {},
  confirmations = 1,
  proxies: proxyCount = 1,
  settings = {},
  grace_ms,
}: RigOptions = {}): Promise<Rig> {
  const chain = await startAnvil(options)
  const proxies = await Promise.all(Array.from({ length: proxyCount }, () => startFaultProxy(chain.url)))
  const [proxy] = proxies as [FaultProxy]
  const dataDir = mkdtempSync(join(dataRoot, 'relayer-rig-'))
  const clock = { ahead_ms: 0, passed_ms: 0 }
  const lines: string[] = []
  let values = 0
  let service = await start(await readSettings('0'))
  let client = connect()

  async function readSettings(port: string) {
    const basic = { PORT: port, DATA_DIR: dataDir, API_KEY: apiKey, RATE_LIMIT_BURST: '100000' }
    return readConfig({ ...basic, ...(await databaseSettings(dataDir)), ...settings })
  }

  async function start(config: Config) {
    return startService(config, {
      now: () => Date.now() + clock.ahead_ms + clock.passed_ms,
      elapsed: () => performance.now() + clock.passed_ms,
      logger: pino({ level: 'warn' }, { write: (line) => void (lines.push(line) > maxLines && lines.shift()) }),
      contract: await compiledContract(),
      ...(grace_ms !== undefined && { http_times: { grace: grace_ms } }),
    })
  }

  function connect() {
    return createRelayerClient({ baseUrl: service.url, token: apiKey, fetch: asOnlyWriter })
  }

  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: proxies.map(({ url }) => url), required_confirmations: confirmations, average_blocktime_ms: 500 },
  })

  /** Retries with the same Idempotency-Key while the response is that the chain cannot be reached. */
  async function sendOne(
    relayerId: string,
    body: Partial<SendTransactionRequest>,
    value: string,
  ): Promise<Transaction> {
    const input = {
      path: { relayer_id: relayerId },
      header: { 'Idempotency-Key': `rig-${value}` },
      body: { to: receiver, ...body, value },
    }
    let accepted: Transaction | undefined
    await until(`transaction ${value} is accepted`, async () => {
      try {
        accepted = (await client.post('/api/v1/relayers/{relayer_id}/transactions', input)).data
        return true
      } catch (error) {
        if (!(error instanceof RelayerError) || error.status !== 503) throw error
        await pause(againMs)
        return false
      }
    })
    return accepted as Transaction
  }

  return {
    chain,
    proxy,
    proxies,
    clock,
    client: () => client,
    url: () => service.url,
    metrics_url: () => service.metrics_url ?? '',
    api_key: apiKey,
    logged: () => [...lines],
    database_file: join(dataDir, 'relayer.sqlite'),
    data_dir: dataDir,

    async addAccount({ key, signer: given, policies = {}, rpc_urls = [] } = {}) {
      const config =
        given ?? (key === undefined ? ({ type: 'generated' } as const) : ({ type: 'plain', config: { key } } as const))
      const { data: signer } = await client.post('/api/v1/signers', { body: config })
      const network = { network: 'local', network_type: 'evm' } as const
      const { data: relayer } = await client.post('/api/v1/relayers', {
        body: { name: 'rig', ...network, paused: false, signer_id: signer.id, policies, custom_rpc_urls: rpc_urls },
      })
      await chain.setBalance(relayer.address, balance)
      return account(relayer.id, relayer.address)
    },

    async restart(meanwhile, { keepsPort = false } = {}) {
      await service.close()
      await meanwhile?.()
      service = await start(await readSettings(keepsPort ? new URL(service.url).port : '0'))
      client = connect()
    },

    async stop() {
      await service.close()
      await Promise.all(proxies.map((one) => one.stop()))
      await chain.stop()
      await dropDatabase(dataDir)
      rmSync(dataDir, { recursive: true, force: true })
    },
  }

  function account(relayerId: string, address: string): Account {
    const path = { relayer_id: relayerId }
    const accepted: string[] = []
    const withdrawn = new Set<string>()
    let silentWaits = 0

    const isFinished = async () => {
      const { data } = await client.get('/api/v1/relayers/{relayer_id}/status', { path })
      return data.pending_transactions_count === 0
    }
    /** Describes the transactions that did not end. */
    const unfinished = async () => {
      const rows = (await transactions()).filter(({ status }) => waiting.has(status) || status === 'mined')
      const shown = rows.slice(-maxShown).reverse()
      const { data: nonce } = await client.get('/api/v1/relayers/{relayer_id}/nonce', { path })
      return `${rows.length} are unfinished, the first: ${JSON.stringify(
        shown.map(({ nonce, status, status_reason, hash }) => ({ nonce, status, status_reason, hash })),
      )}; nonce: ${JSON.stringify(nonce)}`
    }
    const transactions = () =>
      Array.fromAsync(client.all('/api/v1/relayers/{relayer_id}/transactions/', { path, query: { per_page: 1_000 } }))

    return {
      relayer_id: relayerId,
      address,
      transactions,
      async send(count, body = {}) {
        const sent: Transaction[] = []
        while (sent.length < count) {
          const batch = Array.from({ length: Math.min(maxAtOnce, count - sent.length) }, () => `${++values}`)
          sent.push(...(await Promise.all(batch.map((value) => sendOne(relayerId, body, value)))))
        }
        accepted.push(...sent.map(({ value }) => value))
        return sent.sort((a, b) => Number(a.nonce) - Number(b.nonce))
      },
      latest: async () => Number(await chain.rpc<string>('eth_getTransactionCount', [address, 'latest'])),
      finished: (between) =>
        until('nothing is unfinished', isFinished, between).catch(async (error: Error) => {
          throw new Error(`${error.message}. ${await unfinished()}`, { cause: error })
        }),
      async finishedWithin(patienceMs, between) {
        const end = performance.now() + patienceMs
        while (!(await isFinished())) {
          if (performance.now() > end) return false
          await between?.()
          await pause(againMs)
        }
        return true
      },
      async cancel(transactionId) {
        withdrawn.add(transactionId)
        const input = { path: { relayer_id: relayerId, transaction_id: transactionId } }
        await client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', input)
      },
      noteWithdrawn(transactionIds) {
        for (const id of transactionIds) withdrawn.add(id)
      },
      async noteSilence() {
        const end = performance.now() + silenceMs
        const silent = async () =>
          (await transactions()).filter(({ status, status_reason }) => waiting.has(status) && status_reason === null)
        while ((await silent()).length > 0 && performance.now() < end) await pause(againMs)
        silentWaits += (await silent()).length
      },
      async money(foreign = new Set()) {
        const rows = await transactions()
        return moneyOf(chain, { address, rows, withdrawn, foreign, silent_waits: silentWaits })
      },
      async score(foreign) {
        const { data: nonce } = await client.get('/api/v1/relayers/{relayer_id}/nonce', { path })
        return scoreOf(await minedBy(chain, address), accepted, await transactions(), nonce.next_nonce, foreign)
      },
    }
  }
}
