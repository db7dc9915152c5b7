import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { apiKey } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { blockFinding, longest, maxBlockMs, noBlock, withService, worse } from './blocking.ts'
import type { Finding } from './finding.ts'
import { memoryOf } from './memory-of.ts'
import type { RandomAttack } from './random-attack.ts'

/** The time before the first measurement of memory. */
const firstMs = 10_000
/** Windows without and with the attacker alternate, so that both have the same load of the machine. */
const restMs = 5_000
const idleMs = 15_000
const longestWindowMs = 120_000
const leastWindows = 4
const rate = { per_second: 10, burst: 20 }
/** Between two signatures of another caller. */
const signMs = 25
/** Between two transactions of another caller. */
const sendMs = 500
const maxFactor = 2
/** Latencies below this are not compared. */
const leastMs = 5
const maxGrowthMb = 150
const memoryMs = 1_000
const endMs = 60_000

/**
 * Measures the latencies of other callers while a key that is limited to one relayer sends random requests, for `minutes` minutes in at
 * least four windows.
 */
export async function random(minutes: number): Promise<Finding[]> {
  const chain = await startAnvil({ blockTime_s: 1 })
  try {
    return await withService((child, url) => attackFor(minutes * 60_000, url, child, chain.setBalance), chain.url)
  } finally {
    await chain.stop()
  }
}

async function attackFor(
  durationMs: number,
  url: string,
  child: ChildProcess,
  setBalance: (address: string, balance: bigint) => Promise<void>,
): Promise<Finding[]> {
  const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
  for (const id of ['demo', 'attacked']) {
    if (id !== 'demo') await addRelayer(client, id)
    const { address } = (await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id } })).data
    await setBalance(address, 10n ** 24n)
  }
  const key = {
    name: randomUUID(),
    scopes: ['sign' as const, 'send' as const, 'read' as const],
    relayer_ids: ['attacked'],
  }
  const { token } = (await client.post('/api/v1/api-keys', { body: { ...key, rate_limit: rate } })).data

  const others = watch(client)
  await pause(firstMs)
  const firstMb = memoryOf(child.pid as number)
  const order: RandomAttack = { url, token }
  // In a separate thread, so that this thread measures latencies without delay.
  const attacker = new Worker(join(import.meta.dirname, 'random-attack.ts'), { workerData: order })
  const [idle, attacked, factors]: [number[], number[], number[]] = [[], [], []]
  let [calm, worst, sent, mostMb] = [noBlock, noBlock, 0, firstMb]
  const memory = setInterval(() => {
    mostMb = Math.max(mostMb, memoryOf(child.pid as number))
  }, memoryMs)
  const windowMs = Math.min(longestWindowMs, durationMs / leastWindows)
  for (let passedMs = 0; passedMs < durationMs; passedMs += windowMs) {
    await pause(restMs)
    others.taken()
    await longest(child)
    await pause(idleMs)
    const quiet = others.taken()
    calm = worse(calm, await longest(child))
    attacker.postMessage(windowMs)
    sent += (await once(attacker, 'message'))[0]
    const noisy = others.taken()
    worst = worse(worst, await longest(child))
    idle.push(...quiet)
    attacked.push(...noisy)
    factors.push(p99(noisy) / Math.max(p99(quiet), leastMs))
    const window = `window ${factors.length}: p99 ${p99(quiet).toFixed(1)} ms idle, ${p99(noisy).toFixed(1)} ms attacked`
    process.stderr.write(`${window}; +${(mostMb - firstMb).toFixed(0)} MB; load ${loadavg()[0]?.toFixed(1)}\n`)
  }
  clearInterval(memory)
  await attacker.terminate()
  const growthMb = mostMb - firstMb
  const { failures, lost, accepted } = await others.end()
  const limitMs = maxFactor * Math.max(p99(idle), leastMs)
  const waitLimitMs = Math.min(maxBlockMs, maxFactor * Math.max(calm.wait_p99_ms, leastMs))
  const line = (what: string, found: string, wanted: string, holds: boolean): Finding => ({
    what,
    found,
    wanted,
    holds,
  })
  return [
    line(
      `p99 of other callers' signatures (idle ${p99(idle).toFixed(1)} ms), ${sent} hostile requests`,
      `${p99(attacked).toFixed(1)} ms`,
      `at most ${limitMs.toFixed(1)} ms`,
      p99(attacked) <= limitMs,
    ),
    line(
      `the same as a factor, side by side: the median of ${factors.length} windows`,
      median(factors).toFixed(2),
      `at most ${maxFactor}`,
      median(factors) <= maxFactor,
    ),
    line(
      `p99 of the wait for the event loop, without the time of other programs, at its worst (idle ${calm.wait_p99_ms} ms)`,
      `${worst.wait_p99_ms} ms`,
      `at most ${waitLimitMs} ms`,
      worst.wait_p99_ms <= waitLimitMs,
    ),
    blockFinding('the longest turn of the event loop', worst),
    line('memory at its most', `+${growthMb.toFixed(0)} MB`, `at most ${maxGrowthMb} MB`, growthMb <= maxGrowthMb),
    line(`failures of other callers ${failures.slice(0, 3)}`, `${failures.length}`, '0', failures.length === 0),
    line(`of ${accepted} transactions of others, not confirmed`, `${lost}`, '0', lost === 0 && accepted > 0),
  ]
}

const median = (factors: number[]): number => factors.sort((a, b) => a - b)[factors.length >> 1] ?? Infinity

const p99 = (durationsMs: number[]): number =>
  durationsMs.sort((a, b) => a - b)[Math.floor(durationsMs.length * 0.99)] ?? Number.POSITIVE_INFINITY

async function addRelayer(client: RelayerClient, id: string): Promise<void> {
  await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
  const relayer = { id, name: id, network: 'local', network_type: 'evm' as const, paused: false, signer_id: id }
  await client.post('/api/v1/relayers', { body: relayer })
}

/** Other callers: signatures and transactions at a steady rate, all of which have to succeed. */
function watch(client: RelayerClient) {
  const path = { relayer_id: 'demo' }
  const failures: string[] = []
  const ids: string[] = []
  const running: Promise<void>[] = []
  let durations: number[] = []
  let value = 0
  const noted = (what: string, work: Promise<unknown>, beganMs = performance.now()) =>
    running.push(
      work.then(
        () => undefined,
        (error) =>
          void failures.push(
            `${what} after ${(performance.now() - beganMs).toFixed(0)} ms: ${error} ${error.cause ?? ''}`,
          ),
      ),
    )
  const sign = async () => {
    const began = performance.now()
    await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
    durations.push(performance.now() - began)
  }
  const send = async () => {
    value += 1
    const body = { to: `0x${'5a'.repeat(20)}`, value: `${value}`, gas_limit: 21_000 }
    ids.push((await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, body })).data.id)
  }
  const timers = [setInterval(() => noted('sign', sign()), signMs), setInterval(() => noted('send', send()), sendMs)]
  return {
    /** The durations of the signatures since the last call, in milliseconds. */
    taken(): number[] {
      const taken = durations
      durations = []
      return taken
    },
    async end() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
      const unfinished = new Set(ids)
      const end = performance.now() + endMs
      while (unfinished.size > 0 && performance.now() < end) {
        for (const transactionId of unfinished) {
          const route = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
          const { data } = await client.get(route, { path: { ...path, transaction_id: transactionId } })
          if (data.status === 'confirmed') unfinished.delete(transactionId)
        }
        await pause(500)
      }
      return { failures, lost: unfinished.size, accepted: ids.length }
    },
  }
}
