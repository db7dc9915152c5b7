import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'

// Loaded into the service with --import: tells its parent, for the time since it was asked last and in milliseconds, how long its
// event loop stood still at most (`longest_ms`), and the most CPU time that one turn of it took (`longest_cpu_ms`: less on a machine
// that others use too). Of several processes it tells the worst.

interface Longest {
  longest_ms: number
  longest_cpu_ms: number
}

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
  const all = [{ longest_ms: delay.max / 1_000_000, longest_cpu_ms }, ...workers]
  process.send?.({
    longest_ms: Math.max(...all.map((one) => one.longest_ms)),
    longest_cpu_ms: Math.max(...all.map((one) => one.longest_cpu_ms)),
  })
  delay.reset()
  longest_cpu_ms = 0
}

process.on('message', (message) => {
  if (message === question) void tell()
})
// The service ends by itself, whether anybody asks or not.
if (cluster.isPrimary) process.channel?.unref()
