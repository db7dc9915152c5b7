import { setTimeout as pause } from 'node:timers/promises'
import { assertSame, type Case, compare, get } from '../case.ts'
import { clockTickMs, cpuOfMs, type Figures, rssOfMb } from '../measure.ts'
import { inFolder, putLoad, type Server, startBare, startOurs, withServers } from '../processes.ts'
import { createBenchRelayer, databaseOf, historyFolder } from '../stage.ts'
import { notifications } from './lists.ts'
import { message, typedData } from './signing.ts'

/** As a busy service might see it: mostly signatures, now and then a list. */
export const mixed: Case = async (bench) => {
  const folder = await historyFolder(bench)
  return withServers([() => startBare(databaseOf(folder)), () => startOurs(folder)], async (bare, ours) => {
    const list = get('/api/v1/relayers/medium/transactions/?page=3&per_page=10')
    const requests = [message, message, typedData, message, list, message, typedData, notifications(2, 10)]
    const contenders = [
      { name: 'bare', server: bare as Server, requests },
      { name: 'ours', server: ours as Server, requests },
    ]
    await assertSame(contenders)
    return {
      rounds: await compare(bench, contenders),
      ratios: [{ figure: 'cpu_us', over: 'bare', under: 'ours' }],
    }
  })
}

/**
 * From the start of the process to its first signature. Then operations that no request has touched, each twice: right after the
 * start, while the checks of the contract are being compiled, and, in another process, when they are compiled.
 */
export const start: Case = (bench) =>
  inFolder(async (folder) => {
    await withServers([() => startOurs(folder)], (ours) => createBenchRelayer((ours as Server).url))
    const rounds: Figures[] = []
    for (let round = 0; round < bench.rounds; round += 1) {
      const atStart = await afterStart(folder, async () => {})
      const later = await afterStart(folder, untilIdle)
      rounds.push({
        first_answer_ms: atStart.first_answer_ms,
        cpu_ms: atStart.cpu_ms,
        first_at_start_ms: atStart.first_ms,
        second_at_start_ms: atStart.second_ms,
        slowest_at_start_ms: atStart.slowest_ms,
        first_ms: later.first_ms,
        second_ms: later.second_ms,
        first_to_second: later.first_ms / later.second_ms,
      })
    }
    return {
      rounds: { ours: rounds },
      ratios: [],
      limits: [
        { contender: 'ours', figure: 'first_answer_ms', wanted: '<= 1500' },
        { contender: 'ours', figure: 'slowest_at_start_ms', wanted: '<= 100' },
        { contender: 'ours', figure: 'first_to_second', wanted: '<= 2' },
      ],
    }
  })

async function afterStart(folder: string, ready: (pid: number) => Promise<void>) {
  const startedAt = performance.now()
  return withServers([() => startOurs(folder)], async (ours) => {
    const { url, pid } = ours as Server
    await timed(url, message)
    const firstAnswerMs = performance.now() - startedAt
    const cpuMs = cpuOfMs(pid)
    await ready(pid)
    return { first_answer_ms: firstAnswerMs, cpu_ms: cpuMs, ...(await firstAndSecond(url)) }
  })
}

/** Resolves when the process uses hardly any CPU time. */
async function untilIdle(pid: number): Promise<void> {
  for (let beforeMs = Number.NEGATIVE_INFINITY; cpuOfMs(pid) - beforeMs > clockTickMs; await pause(500)) {
    beforeMs = cpuOfMs(pid)
  }
}

/** The means of several operations, because one request alone depends on what else the machine does. */
async function firstAndSecond(url: string) {
  const requests = [
    typedData,
    ...['health', 'ready', 'notifications', 'relayers', 'relayers/bench', 'signers', 'signers/bench', 'networks'].map(
      (path) => get(`/api/v1/${path}`),
    ),
    ...['networks/evm:bench', 'relayers/bench/transactions/'].map((path) => get(`/api/v1/${path}`)),
  ]
  const first: number[] = []
  const second: number[] = []
  for (const request of requests) {
    first.push(await timed(url, request))
    second.push(await timed(url, request))
  }
  const mean = (values: number[]) => values.reduce((total, value) => total + value, 0) / values.length
  return { first_ms: mean(first), second_ms: mean(second), slowest_ms: Math.max(...first) }
}

async function timed(url: string, { method, path, headers, body }: typeof message): Promise<number> {
  const startedAt = performance.now()
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body }) })
  await response.text()
  if (!response.ok) throw new Error(`${path} answers ${response.status}`)
  return performance.now() - startedAt
}

const idleMs = 3_000

/** After boot, and while a million signatures are made (a hundred thousand with --quick). */
export const memory: Case = (bench) =>
  inFolder((folder) =>
    withServers([() => startOurs(folder)], async (ours) => {
      const { url, pid } = ours as Server
      await pause(idleMs)
      const bootMb = rssOfMb(pid)
      await createBenchRelayer(url)
      const share = (bench.quick ? 100_000 : 1_000_000) / 4
      const quarters: number[] = []
      for (let quarter = 0; quarter < 4; quarter += 1) {
        await putLoad({ url, pid, requests: [message], connections: 10, seconds: 0, amount: share })
        await pause(idleMs)
        quarters.push(rssOfMb(pid))
      }
      const [quarterMb = Number.NaN] = quarters
      const allMb = quarters.at(-1) ?? Number.NaN
      return {
        rounds: { ours: [{ boot_mb: bootMb, quarter_mb: quarterMb, all_mb: allMb, growth_mb: allMb - quarterMb }] },
        ratios: [],
        limits: [
          { contender: 'ours', figure: 'boot_mb', wanted: '<= 130' },
          { contender: 'ours', figure: 'all_mb', wanted: '<= 130' },
          { contender: 'ours', figure: 'growth_mb', wanted: '<= 5' },
        ],
      }
    }),
  )
