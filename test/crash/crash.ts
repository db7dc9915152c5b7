import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import type { KeyServers, KeyStage } from '../key-services/stage.ts'
import { type StageName, stages } from '../key-services/stages.ts'
import { startAnvil } from '../support/anvil.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { isSignedBy } from '../support/signed-by.ts'
import { createClients, type Tally } from './clients.ts'
import { readChain, readList, readStore } from './evidence.ts'
import { judge, type Verdict } from './judge.ts'
import { createPlan, type Life, type PlanOptions, type Release } from './plan.ts'
import { type FaultName, seededFaults } from './seeded-faults.ts'
import { createVictim } from './victim.ts'

export interface CrashOptions extends PlanOptions {
  /** A mistake to make the service with; absent: the service as it is. */
  fault?: FaultName | undefined
  /** Where the key is. A key service never gives the same signature twice. Default local. */
  signer?: 'local' | StageName
  /** Servers in place of the stand-ins of the tests. */
  servers?: KeyServers
  /** The run ends when the counts have not changed for this time. */
  patience_ms: number
  /** Called after each kill with the number of kills so far. */
  killed?: (kills: number) => void
}

export interface CrashResult {
  options: CrashOptions
  kills: { start: number; work: number }
  tally: Tally
  /** The distinct errors that the service logged. */
  logged: string[]
  verdict: Verdict
  duration_ms: number
}

const blockTimeS = 0.5
/** More than one, so that kills come between `mined` and `confirmed` too. */
const confirmations = 2
const balance = 10n ** 24n
const lookMs = 100
const relayerId = 'victim'

/**
 * Submits through HTTP to a service that is killed repeatedly, lets its last process finish, and compares its responses with the
 * chain and its database.
 */
export async function runCrash(options: CrashOptions): Promise<CrashResult> {
  const began = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'relayer-crash-'))
  const chain = await startAnvil({ blockTime_s: blockTimeS })
  const proxy = await startFaultProxy(chain.url)
  const { signer = 'local', servers = {} } = options
  const keys = signer === 'local' ? undefined : await stages[signer](servers)
  await keys?.set('varied')
  const victim = await createVictim(folder, options.fault && seededFaults[options.fault], keys?.environment)
  const client = createRelayerClient({ baseUrl: victim.url, token: victim.token, fetch: asOnlyWriter })
  const { lives, afterwards, impatient } = createPlan(options)
  const clients = createClients(client, () => relayerId, impatient)

  try {
    await victim.start()
    await victim.ready()
    const address = await makeRelayer(client, proxy.url, keys)
    await chain.setBalance(address, balance)

    for (const [index, life] of lives.entries()) {
      const { answer_delay_ms: durationMs } = life
      const methods = ['eth_sendRawTransaction']
      await proxy.setFault({
        kind: 'slow',
        duration_ms: durationMs,
        methods,
        probability: 0.5,
        seed: options.seed + index,
      })
      if (life.during === 'work') await victim.ready()
      release(life.releases, clients.submit)
      await pause(life.kill_after_ms)
      await victim.kill()
      options.killed?.(index + 1)
      await victim.start()
    }
    await victim.ready()
    await proxy.setFault(undefined)
    release(afterwards, clients.submit)

    await settled(() => clients.accepted.size, options)
    await clients.stop()
    await settled(() => countConfirmed(client), options)
    const listed = await readList(client, relayerId)
    const hashes = listed.flatMap(({ hash }) => hash ?? [])
    const onChain = await readChain(chain, address, hashes)
    // The last process is killed too: only the data on the disk counts.
    await victim.kill()
    const store = readStore(victim.database_file, address)

    const { tally, accepted } = clients
    const logged = victim.errors()
    const indexes = Array.from({ length: options.submissions }, (_, index) => index)
    return {
      options,
      kills: { start: countOf(lives, 'start'), work: countOf(lives, 'work') },
      tally,
      logged: [...new Set(logged)],
      verdict: judge({
        ...{ indexes, accepted, tally, logged, listed, chain: onChain, store },
        broadcast: proxy.broadcast(),
        wrong_signatures: proxy.broadcastBytes().filter((raw) => !isSignedBy(raw, address)).length,
      }),
      duration_ms: performance.now() - began,
    }
  } finally {
    void clients.stop()
    await victim.kill().catch(() => {})
    await proxy.stop()
    await chain.stop()
    await keys?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Creates a relayer with a new key, whose nonces begin at 0. */
async function makeRelayer(client: RelayerClient, rpcUrl: string, keys: KeyStage | undefined): Promise<string> {
  const network = { name: 'crash', network_type: 'evm' } as const
  await client.post('/api/v1/networks', {
    body: {
      ...network,
      chain_id: 31_337,
      rpc_urls: [rpcUrl],
      required_confirmations: confirmations,
      average_blocktime_ms: blockTimeS * 1_000,
    },
  })
  const { data: signer } = await client.post('/api/v1/signers', {
    body: (await keys?.signer()) ?? { type: 'generated' },
  })
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: {
      id: relayerId,
      name: 'Victim',
      network: network.name,
      network_type: network.network_type,
      paused: false,
      signer_id: signer.id,
    },
  })
  return relayer.address
}

function release(releases: Release[], submit: (index: number) => void): void {
  for (const { index, after_ms } of releases) setTimeout(submit, after_ms, index)
}

/** Until the number has come to that of all submissions, or has stood still for too long. */
async function settled(
  read: () => number | Promise<number>,
  { submissions, patience_ms }: Pick<CrashOptions, 'submissions' | 'patience_ms'>,
): Promise<void> {
  let [last, since] = [-1, performance.now()]
  for (;;) {
    const count = await read()
    if (count === submissions) return
    if (count !== last) [last, since] = [count, performance.now()]
    if (performance.now() - since > patience_ms) return
    await pause(lookMs)
  }
}

async function countConfirmed(client: RelayerClient): Promise<number> {
  const { pagination } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', {
    path: { relayer_id: relayerId },
    query: { status: ['confirmed'], per_page: 0 },
  })
  return pagination.total_items
}

const countOf = (lives: Life[], wanted: Life['during']): number =>
  lives.filter(({ during }) => during === wanted).length
