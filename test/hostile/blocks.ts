import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the service with --import. Reports to its parent the longest turn of the event loop since the last report, in milliseconds:
// by the clock (`wall_ms`), without the time in which other programs had its core (`own_ms`: computing, or waiting for the disk), and in
// CPU time (`cpu_ms`); and the 99th percentile of the time that a request waits for the event loop, also without the time of other
// programs (`wait_p99_ms`). A turn serves all requests that have arrived since the previous
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
const shortMs = 2
let before = times()
let longest = nothing
let longTurnsMs: number[] = []
let cpuBefore = process.cpuUsage()
let lookMs = 0

/** CPU time of this thread. */
function ranMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

const look = setInterval(() => {
  const now = times()
  const waitedMs = now.waited_ms - before.waited_ms
  // The two clocks differ by a little, and a period of a few milliseconds must not become negative: waitP99 would not end.
  const ownMs = Math.max(0, now.at_ms - before.at_ms - waitedMs)
  longest = {
    own_ms: Math.max(longest.own_ms, ownMs),
    cpu_ms: Math.max(longest.cpu_ms, now.ran_ms - before.ran_ms),
    passed_ms: longest.passed_ms + ownMs,
  }
  if (ownMs > shortMs) longTurnsMs.push(ownMs)
  before = now
  lookMs += ranMs() - now.ran_ms
}, 1)
look.unref()

/** A request that comes during a turn waits for the rest of it. */
function waitP99(): number {
  const waitsLonger = (thanMs: number) =>
    longTurnsMs.reduce((sum, turnMs) => sum + Math.max(0, turnMs - thanMs), 0) > longest.passed_ms / 100
  let waitMs = shortMs
  while (waitsLonger(waitMs)) waitMs += 0.5
  return waitMs
}

const question = 'longest?'

function tell(): void {
  const { own_ms, cpu_ms } = longest
  const { user, system } = process.cpuUsage(cpuBefore)
  const totalCpuMs = Math.max(0, (user + system) / 1_000 - lookMs)
  const waitMs = waitP99()
  const told: Longest = {
    wall_ms: delay.max / 1_000_000,
    own_ms,
    cpu_ms,
    wait_p99_ms: waitMs,
    total_cpu_ms: totalCpuMs,
  }
  process.send?.(told)
  delay.reset()
  longest = nothing
  longTurnsMs = []
  cpuBefore = process.cpuUsage()
  lookMs = 0
  before = times()
}

process.on('message', (message) => {
  if (message === question) tell()
})
// The channel to the parent must not keep the service running.
process.channel?.unref()
