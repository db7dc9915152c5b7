import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { say } from './report.ts'
import { allConfirmed, postAll } from './sending/load.ts'
import { setStage } from './sending/stage.ts'

// `node test/bench/hour.ts [--minutes 60] [--signatures 100] [--transactions 10] [--root DIR]`: signs and sends so often a second, and prints
// the resident set of the service at rest before, every five minutes, and at rest after. `--root`: the service of another working copy, for
// example an installation with `npm ci --omit=dev`. On Linux.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    signatures: { type: 'string', default: '100' },
    transactions: { type: 'string', default: '10' },
    root: { type: 'string' },
  },
})
const [minutes, signatures, transactions] = [values.minutes, values.signatures, values.transactions].map(Number) as [
  number,
  number,
  number,
]
/** The service collects its garbage when it has rested for a minute. */
const restMs = 150_000
const reportS = 300

const stage = await setStage({
  relayers: 10,
  // As in the Dockerfile.
  env: { MALLOC_ARENA_MAX: '2' },
  ...(values.root && { root: values.root }),
})
const { client, relayers, service } = stage
const residentMb = () =>
  Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) / 1_024)

try {
  await pause(restMs)
  say(`at rest: ${residentMb()} MB`)
  const beganAt = performance.now()
  for (let second = 0; second < minutes * 60; second += 1) {
    const messages = Array.from({ length: signatures }, (_, index) => `${second} ${index}`)
    await Promise.all([
      postAll(stage, transactions, second % 2 === 0 ? { gas_limit: 21_000 } : {}),
      ...messages.map((message, index) =>
        client.post('/api/v1/relayers/{relayer_id}/sign', {
          path: { relayer_id: relayers[index % relayers.length]?.id as string },
          body: { message },
        }),
      ),
    ])
    if ((second + 1) % reportS === 0) say(`after ${(second + 1) / 60} minutes: ${residentMb()} MB`)
    await pause(Math.max(0, beganAt + (second + 1) * 1_000 - performance.now()))
  }
  await allConfirmed(stage, stage.posted)
  await pause(restMs)
  say(`${minutes} minutes, ${minutes * 60 * signatures} signatures, ${stage.posted} transactions confirmed`)
  say(
    `at rest: ${residentMb()} MB; peak ${Math.round(service.rss_peak_mb())} MB; CPU ${Math.round(service.cpu_ms() / 1_000)} s`,
  )
} finally {
  await stage.end()
}
