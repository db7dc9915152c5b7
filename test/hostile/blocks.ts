import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the service with --import: tells its parent the longest turn of its event loop since it was asked last, in milliseconds:
// by the clock (`wall_ms`), without the time in which other programs had its core (`own_ms`: it computed, or waited for the disk), and
// in CPU time (`cpu_ms`). Of several processes it tells the worst.

export interface Longest {
  wall_ms: number
  own_ms: number
  cpu_ms: number
}

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

/** Of the main thread; `waited_ms`: its time ready to run without a core, the second figure of schedstat. */
function times() {
  const { user, system } = process.threadCpuUsage()
  const [, waited = 0] = readFileSync('/proc/self/schedstat', 'latin1').split(' ').map(Number)
  return { at_ms: performance.now(), ran_ms: (user + system) / 1_000, waited_ms: waited / 1_000_000 }
}

let before = times()
let longest = { own_ms: 0, cpu_ms: 0 }
const look = setInterval(() => {
  const now = times()
  const waited_ms = now.waited_ms - before.waited_ms
  longest.own_ms = Math.max(longest.own_ms, now.at_ms - before.at_ms - waited_ms)
  longest.cpu_ms = Math.max(longest.cpu_ms, now.ran_ms - before.ran_ms)
  before = now
}, 1)
look.unref()

const question = 'longest?'

async function ofWorker(worker: Worker): Promise<Longest> {
  worker.send(question)
  const [answer] = await once(worker, 'message')
  return answer
}

async function tell(): Promise<void> {
  const workers = await Promise.all(
    Object.values(cluster.workers ?? {}).flatMap((worker) => (worker ? ofWorker(worker) : [])),
  )
  const all: Longest[] = [{ wall_ms: delay.max / 1_000_000, ...longest }, ...workers]
  process.send?.({
    wall_ms: Math.max(...all.map((one) => one.wall_ms)),
    own_ms: Math.max(...all.map((one) => one.own_ms)),
    cpu_ms: Math.max(...all.map((one) => one.cpu_ms)),
  })
  delay.reset()
  longest = { own_ms: 0, cpu_ms: 0 }
}

process.on('message', (message) => {
  if (message === question) void tell()
})
// The service ends by itself, whether anybody asks or not.
if (cluster.isPrimary) process.channel?.unref()
