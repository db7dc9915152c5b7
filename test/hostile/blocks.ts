import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the service with --import. Reports to its parent the longest turn of the event loop since the last report, in milliseconds:
// by the clock (`wall_ms`), without the time in which other programs had its core (`own_ms`: computing, or waiting for the disk), and in
// CPU time (`cpu_ms`); and the 99th percentile of the time that a request waits for the event loop, also without the time of other
// programs (`wait_p99_ms`). Of several processes, it reports the worst. A turn serves all requests that have arrived since the previous
// turn: when other programs have the core for hundreds of milliseconds, the next turn takes the CPU time of all these requests.

export interface Longest {
  wall_ms: number
  own_ms: number
  cpu_ms: number
  wait_p99_ms: number
  /** CPU time of the process since the last report, all its threads, apart from this measurement. */
  total_cpu_ms: number
}

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

/** Times of the main thread. `waited_ms`: the time that it was runnable without a core, the second figure of schedstat. */
function times() {
  const { user, system } = process.threadCpuUsage()
  const [, waited = 0] = readFileSync('/proc/self/schedstat', 'latin1').split(' ').map(Number)
  return { at_ms: performance.now(), ran_ms: (user + system) / 1_000, waited_ms: waited / 1_000_000 }
}

const nothing = { own_ms: 0, cpu_ms: 0, passed_ms: 0 }
/** Shorter turns cannot be told from the pause between two timers. */
const short_ms = 2
let before = times()
let longest = nothing
let long_turns_ms: number[] = []
let cpu_before = process.cpuUsage()
let look_ms = 0

/** CPU time of this thread. */
function ranMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const look = setInterval(() => {
  const now = times()
  const waited_ms = now.waited_ms - before.waited_ms
  // The two clocks differ by a little, and a period of a few milliseconds must not become negative: waitP99 would not end.
  const own_ms = Math.max(0, now.at_ms - before.at_ms - waited_ms)
  longest = {
    own_ms: Math.max(longest.own_ms, own_ms),
    cpu_ms: Math.max(longest.cpu_ms, now.ran_ms - before.ran_ms),
    passed_ms: longest.passed_ms + own_ms,
  }
  if (own_ms > short_ms) long_turns_ms.push(own_ms)
  before = now
  look_ms += ranMs() - now.ran_ms
}, 1)
look.unref()

/** A request that comes during a turn waits for the rest of it. */
function waitP99(): number {
  const waitsLonger = (than_ms: number) =>
    long_turns_ms.reduce((sum, turn_ms) => sum + Math.max(0, turn_ms - than_ms), 0) > longest.passed_ms / 100
  let wait_ms = short_ms
  while (waitsLonger(wait_ms)) wait_ms += 0.5
  return wait_ms
}

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
  const { own_ms, cpu_ms } = longest
  const { user, system } = process.cpuUsage(cpu_before)
  const total_cpu_ms = Math.max(0, (user + system) / 1_000 - look_ms)
  const all: Longest[] = [
    { wall_ms: delay.max / 1_000_000, own_ms, cpu_ms, wait_p99_ms: waitP99(), total_cpu_ms },
    ...workers,
  ]
  process.send?.({
    wall_ms: Math.max(...all.map((one) => one.wall_ms)),
    own_ms: Math.max(...all.map((one) => one.own_ms)),
    cpu_ms: Math.max(...all.map((one) => one.cpu_ms)),
    wait_p99_ms: Math.max(...all.map((one) => one.wait_p99_ms)),
    total_cpu_ms: all.reduce((sum, one) => sum + one.total_cpu_ms, 0),
  })
  delay.reset()
  longest = nothing
  long_turns_ms = []
  cpu_before = process.cpuUsage()
  look_ms = 0
  before = times()
}

process.on('message', (message) => {
  if (message === question) void tell()
})
// The channel to the parent must not keep the service running.
if (cluster.isPrimary) process.channel?.unref()
