import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the service with --import: tells its parent, for the time since it was asked last and in milliseconds, how long its
// event loop stood still at most (`longest_ms`), and the most CPU time that one turn of it took (`longest_cpu_ms`: less on a machine
// that others use too).

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

const cpu_ms = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
let longest_cpu_ms = 0
let before_ms = cpu_ms()
const look = setInterval(() => {
  const now_ms = cpu_ms()
  longest_cpu_ms = Math.max(longest_cpu_ms, now_ms - before_ms)
  before_ms = now_ms
}, 1)
look.unref()

process.on('message', () => {
  process.send?.({ longest_ms: delay.max / 1_000_000, longest_cpu_ms })
  delay.reset()
  longest_cpu_ms = 0
})
// The service ends by itself, whether anybody asks or not.
process.channel?.unref()
