import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createRelayerClient, type FundingState, type RelayerClient } from '../../client/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { dataRoot } from '../support/data-root.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { until } from '../support/until.ts'

/** Where the process is killed: at a commit (kill-at-commit.ts), or when it calls its node for the n-th time. */
export type Place = 'commit' | 'call'

export interface Outcome {
  place: Place
  step: number
  /** False: the refill had ended before. */
  killed: boolean
  /** Empty: exactly one refill, to the target. */
  faults: string[]
}

export interface Scene {
  /** How many steps a refill has, from the start of the process on. */
  stepsOf(place: Place): Promise<number>
  run(place: Place, step: number): Promise<Outcome>
  stop(): Promise<void>
}

const root = join(import.meta.dirname, '..', '..')
const token = 'funding-trials-use-this-key'.padEnd(33, '.')
const ether = 10n ** 18n
const low = ether / 10n
const target = 5n * ether
const treasury = 'treasury'
const path = { relayer_id: 'demo' }
const funding = '/api/v1/relayers/{relayer_id}/funding'

interface Victim {
  client: RelayerClient
  /** Resolves when it has ended by itself or was killed. */
  ended: Promise<unknown>
  isRunning(): boolean
  stop(signal: NodeJS.Signals): Promise<void>
}

/** Prepares a treasury and a relayer that has enough, on a chain that each run begins anew. */
export async function openScene(): Promise<Scene> {
  const folder = mkdtempSync(join(dataRoot, 'relayer-funding-'))
  const [template, data] = [join(folder, 'template'), join(folder, 'data')]
  const stepsFile = join(folder, 'steps')
  const chain = await startAnvil()
  const proxy = await startFaultProxy(chain.url)
  const addresses = await prepare(template, chain, proxy)
  let snapshot = await chain.rpc<string>('evm_snapshot')

  async function begin(): Promise<void> {
    await chain.rpc('evm_revert', [snapshot])
    snapshot = await chain.rpc<string>('evm_snapshot')
    await chain.setBalance(addresses.relayer, low)
    rmSync(data, { recursive: true, force: true })
    rmSync(stepsFile, { force: true })
    cpSync(template, data, { recursive: true })
  }

  /** Counts calls, and kills the process before the node gets call number `at`; afterwards for one that sends a transaction. */
  function watchCalls(victim: () => Victim | undefined, at: number) {
    let calls = 0
    proxy.setLiar(async ({ method }, honest) => {
      calls += 1
      if (calls !== at) return undefined
      const answer = method === 'eth_sendRawTransaction' ? await honest() : undefined
      await victim()?.stop('SIGKILL')
      return answer
    })
    return () => calls
  }

  async function judge(victim: Victim): Promise<string[]> {
    const its = await refilled(victim)
    const count = Number(await chain.rpc<string>('eth_getTransactionCount', [addresses.treasury, 'latest']))
    const balance = BigInt(await chain.rpc<string>('eth_getBalance', [addresses.relayer, 'latest']))
    const { data: sent } = await victim.client.get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: treasury },
    })
    return [
      ...(count === 1 ? [] : [`${count} transactions of the treasury on chain`]),
      ...(balance === target ? [] : [`a balance of ${balance}`]),
      ...(sent.length === 1 ? [] : [`${sent.length} transactions accepted`]),
      ...(its.refills.length === 1 ? [] : [`${its.refills.length} refills`]),
      ...(its.refills[0]?.transaction_id === sent[0]?.id ? [] : ['a refill without its transaction']),
    ]
  }

  return {
    async stepsOf(place) {
      await begin()
      const calls = watchCalls(() => undefined, Number.POSITIVE_INFINITY)
      const victim = await start(data, { STEPS_FILE: stepsFile })
      await refilled(victim)
      await victim.stop('SIGKILL')
      proxy.setLiar(undefined)
      return place === 'call' ? calls() : Number(readFileSync(stepsFile, 'utf8'))
    },
    async run(place, step) {
      await begin()
      let victim: Victim | undefined
      watchCalls(() => victim, place === 'call' ? step : Number.POSITIVE_INFINITY)
      victim = await start(data, place === 'commit' ? { KILL_AT: `${step}` } : {}).catch(() => undefined)
      if (victim) await Promise.race([victim.ended, refilled(victim).catch(() => victim?.ended)])
      const killed = !victim?.isRunning()
      await victim?.stop('SIGKILL')
      proxy.setLiar(undefined)
      const again = await start(data)
      const faults = await judge(again)
      await again.stop('SIGKILL')
      return { place, step, killed, faults }
    },
    async stop() {
      await Promise.all([chain.stop(), proxy.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function prepare(dataDir: string, chain: Anvil, proxy: FaultProxy) {
  const victim = await start(dataDir)
  const { client } = victim
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [proxy.url] },
  })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const { data: created } = await client.post('/api/v1/relayers', {
    body: { id: treasury, name: treasury, network: 'local', network_type: 'evm', paused: false, signer_id: signer.id },
  })
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  await chain.setBalance(created.address, 100n * ether)
  await chain.setBalance(relayer.address, target)
  const amounts = { min_balance: `${ether}`, target_balance: `${target}`, max_amount_per_day: `${20n * ether}` }
  await client.put(funding, { path, body: { treasury_id: treasury, ...amounts, max_fee_per_gas: '100000000000' } })
  await until('enough', async () => (await client.get(funding, { path })).data.status === 'sufficient')
  await victim.stop('SIGTERM')
  return { treasury: created.address, relayer: relayer.address }
}

/** Waits until one refill has ended and nothing else is to be done. */
async function refilled({ client }: Victim): Promise<FundingState> {
  let its: FundingState | undefined
  await until('the relayer is refilled', async () => {
    its = (await client.get(funding, { path })).data
    return its.status === 'sufficient' && its.refills.length > 0 && its.refills.every(({ is_open }) => !is_open)
  })
  return its as FundingState
}

async function start(dataDir: string, settings: Record<string, string> = {}): Promise<Victim> {
  const env = { ...nodeEnvironment, PORT: '0', DATA_DIR: dataDir, API_KEY: token, LOG_LEVEL: 'warn', ...settings }
  const preload = Object.keys(settings).length > 0 ? ['--import', './test/funding/kill-at-commit.ts'] : []
  const child: ChildProcess = spawn(process.execPath, [...preload, 'server/main.ts'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let out = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (text: Buffer) => {
      out += text
      const found = /API\s+(http:\/\/[^\s/]+)\/api\/v1\n/.exec(out)?.[1]
      if (found) resolve(found)
    })
    child.once('exit', () => reject(new Error(`The service ended: ${out}`)))
  })
  return {
    client: createRelayerClient({ baseUrl: url, token, fetch: asOnlyWriter }),
    ended,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await ended
    },
  }
}
