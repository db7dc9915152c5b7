import { execFileSync } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import fc from 'fast-check'
import { operations } from '../support/contract.ts'
import { bodiesOf } from './shapes.ts'
import { nothingStored, table } from './table.ts'
import type { Wide } from './wide.ts'

// The attacker of random.ts, a separate thread: takes a RandomAttack as workerData. Each message is a duration in milliseconds, for which
// it attacks. Then it posts the number of its requests.

export interface RandomAttack {
  url: string
  /** Of a key that is limited to the relayer `attacked`. */
  token: string
}

const atOnce = 16
const seed = 13
const lowest = 19

/** Weights of the operations that a limited key sends in the worst form that is known. */
const weights: Record<string, number> = {
  sendTransaction: 8,
  replaceTransaction: 2,
  speedUpTransaction: 2,
  cancelPendingTransactions: 1,
  dryRunTransaction: 4,
  callRelayerJsonRpc: 2,
  listTransactions: 2,
  signMessage: 4,
  signTypedData: 4,
  signTransaction: 4,
  listRelayerTransactions: 4,
  streamRelayerEvents: 2,
  getRelayerNonce: 1,
}

/** The worst requests that are known, and bodies of any shape. */
function requestArbitrary(): fc.Arbitrary<Wide> {
  const ours = (path: string) => path.replace(/\/relayers\/(?:demo|full|\{relayer_id\})/, '/relayers/attacked')
  const worst = Object.entries(weights).flatMap(([id, weight]) =>
    (table[id]?.(nothingStored, 0) ?? []).map((request) => ({
      weight,
      arbitrary: fc.constant({ ...request, path: ours(request.path) }),
    })),
  )
  const shaped = operations
    .filter(({ id, bodies }) => id in weights && Object.keys(bodies).length > 0)
    .map((operation) => {
      const type = Object.keys(operation.bodies)[0] as string
      const bodies = [...bodiesOf(operation)]
      const { method, path } = operation
      const arbitrary = fc.nat(bodies.length - 1).map((index): Wide => {
        const { name, text } = bodies[index] as { name: string; text: string }
        return { name, method, type, path: ours(path).replaceAll(/\{\w+\}/g, 'none'), body: text }
      })
      return { weight: 1, arbitrary }
    })
  return fc.oneof(...worst, ...shaped)
}

/**
 * The other callers of this process share the core, and an attacker elsewhere would not: this thread runs while nothing else wants to
 * (SCHED_IDLE, as `chrt` sets it on Linux).
 */
function runWhenIdle(): void {
  setPriority(lowest)
  if (process.platform !== 'linux') return
  const thread = readlinkSync('/proc/thread-self').split('/').at(-1) as string
  execFileSync('chrt', ['--idle', '--pid', '0', thread])
}

async function attackOnce(url: string, token: string, { method, path, type, body, stream }: Wide): Promise<void> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}`, 'If-Match': '*' }
  if (body !== undefined && type !== undefined) headers['Content-Type'] = type
  if (stream) headers['Last-Event-ID'] = '0'
  const init = {
    method,
    headers,
    signal: AbortSignal.timeout(stream ? 1_000 : 30_000),
    ...(body !== undefined && { body }),
  }
  const answer = await fetch(`${url}${path}`, init).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  if (answer?.status === 429) await pause(Math.random() * 200)
}

if (parentPort) {
  runWhenIdle()
  const { url, token }: RandomAttack = workerData
  const requests = fc.sample(requestArbitrary(), { seed, numRuns: 5_000 })
  let next = 0
  parentPort.on('message', async (durationMs: number) => {
    const end = performance.now() + durationMs
    const first = next
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        while (performance.now() < end) {
          const request = requests[next % requests.length] as Wide
          next += 1
          await attackOnce(url, token, request)
        }
      }),
    )
    parentPort?.postMessage(next - first)
  })
}
