import { readFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import autocannon from 'autocannon'
import type { Load, LoadRequest, Taken } from './load-types.ts'
import { busyMs, clockTickMs, cpuOfMs, type Figures, percentile, rssOfMb } from './measure.ts'
import { hasWrk, wrk } from './wrk.ts'

// The load generator, a process of its own: takes a Load as its one argument and prints Figures.

interface Answers {
  durations_ms: number[]
  failed: string[]
}

async function main(load: Load): Promise<Figures> {
  const before = { cpu_ms: cpuOfMs(load.pid), busy_ms: busyMs(), own_ms: ownMs() }
  const startedAt = performance.now()
  const { count, p50_ms, p99_ms, failed } = await put(load)
  const elapsedMs = performance.now() - startedAt
  const cpuMs = cpuOfMs(load.pid) - before.cpu_ms
  if (failed.length > 0) throw new Error(`${failed.length} requests failed: ${[...new Set(failed)].slice(0, 5)}`)
  const elsewhereMs = busyMs() - before.busy_ms - cpuMs - (ownMs() - before.own_ms)
  return {
    cpu_us: (cpuMs * 1_000) / count,
    requests_per_s: (count * 1_000) / elapsedMs,
    p50_ms,
    p99_ms,
    rss_mb: rssOfMb(load.pid),
    // The CPU time of other programs, in percent of one core. It distorts all figures except `cpu_us`.
    others_percent: (elsewhereMs * 100) / elapsedMs,
  }
}

/** With what it has started and waited for. */
const ownMs = () => {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ').map(Number) ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * clockTickMs
}

/** wrk costs a fifth of what autocannon does, so that the servers are what is measured; it knows no rate and no number. */
export async function put(load: Load): Promise<Taken> {
  if (!load.rate && !load.amount && hasWrk()) return wrk(load)
  const { durations_ms, failed } = load.rate ? await paced(load, load.rate) : await asFastAsAnswered(load)
  const at = (percent: number) => percentile(durations_ms, percent)
  return { count: durations_ms.length, p50_ms: at(50), p99_ms: at(99), failed }
}

function asFastAsAnswered({ url, requests, connections, seconds, amount }: Load): Promise<Answers> {
  return new Promise((resolve, reject) => {
    const answers: Answers = { durations_ms: [], failed: [] }
    const options = { url, requests, connections, timeout: 30, ...(amount ? { amount } : { duration: seconds }) }
    // Its own histogram counts whole milliseconds.
    const run = autocannon(options, (error, result) => {
      if (error) return reject(error)
      const lost = result.errors + result.timeouts
      resolve({ ...answers, failed: lost > 0 ? [...answers.failed, `${lost} without an answer`] : answers.failed })
    })
    run.on('response', (_client, status, _bytes, durationMs) => {
      if (status >= 200 && status < 300) answers.durations_ms.push(durationMs)
      else answers.failed.push(`status ${status}`)
    })
  })
}

/** Timed from when a request was due. (autocannon's own rate is a quota a second, spent at full speed.) */
async function paced({ url, requests, connections, seconds, beside }: Load, rate: number): Promise<Answers> {
  const agents = [
    new Agent({ keepAlive: true, maxSockets: connections }),
    new Agent({ keepAlive: true, maxSockets: 200 }),
  ]
  const [measured, others] = agents as [Agent, Agent]
  const answers: Answers = { durations_ms: [], failed: [] }
  const unmeasured: Answers = { durations_ms: [], failed: answers.failed }
  const streams = [
    { requests, rate, sent: 0, agent: measured, into: answers },
    ...(beside ? [{ ...beside, sent: 0, agent: others, into: unmeasured }] : []),
  ]
  const startedAt = performance.now()
  const underWay: Promise<void>[] = []
  for (;;) {
    // The stream whose next request is due first.
    const next = streams
      .filter((stream) => stream.sent < Math.round(seconds * stream.rate))
      .map((stream) => ({ stream, due_at: startedAt + (stream.sent * 1_000) / stream.rate }))
      .sort((a, b) => a.due_at - b.due_at)[0]
    if (!next) break
    const { stream, due_at } = next
    while (performance.now() < due_at) await new Promise((resolve) => setImmediate(resolve))
    underWay.push(
      one(stream.requests[stream.sent % stream.requests.length] as LoadRequest, due_at, stream.agent, stream.into),
    )
    stream.sent += 1
  }
  await Promise.all(underWay)
  for (const agent of agents) agent.destroy()
  return answers

  function one(
    { method, path, headers, body }: LoadRequest,
    dueAt: number,
    agent: Agent,
    into: Answers,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(`${url}${path}`, { method, headers, agent }, async (response) => {
        await text(response)
        const { statusCode: status = 0 } = response
        if (status >= 200 && status < 300) into.durations_ms.push(performance.now() - dueAt)
        else into.failed.push(`status ${status}`)
        resolve()
      })
      outgoing.once('error', reject)
      outgoing.end(body)
    })
  }
}

if (import.meta.main) process.stdout.write(JSON.stringify(await main(JSON.parse(process.argv[2] ?? ''))))
