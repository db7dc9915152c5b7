import { setTimeout as pause } from 'node:timers/promises'
import { assertSame, type Case, compare, get } from '../case.ts'
import { cpuOf_ms, type Figures, rssOf_mb } from '../measure.ts'
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

/** From the start of the process to its first signature; and whether a first request waits for what a second need not. */
export const start: Case = (bench) =>
  inFolder(async (folder) => {
    await withServers([() => startOurs(folder)], (ours) => createBenchRelayer((ours as Server).url))
    const rounds: Figures[] = []
    for (let round = 0; round < bench.rounds; round += 1) {
      const started_at = performance.now()
      await withServers([() => startOurs(folder)], async (ours) => {
        const { url, pid } = ours as Server
        await timed(url, message)
        const first_answer_ms = performance.now() - started_at
        const cpu_ms = cpuOf_ms(pid)
        rounds.push({ first_answer_ms, cpu_ms, ...(await firstAgainstSecond(url)) })
      })
    }
    return {
      rounds: { ours: rounds },
      ratios: [],
      limits: [
        { contender: 'ours', figure: 'first_answer_ms', wanted: '<= 1500' },
        { contender: 'ours', figure: 'first_to_second', wanted: '<= 2' },
      ],
    }
  })

/** Operations that no request before them has touched. One request alone is at the mercy of the machine: their sum is taken. */
async function firstAgainstSecond(url: string): Promise<Figures> {
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
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  return {
    first_ms: sum(first) / first.length,
    second_ms: sum(second) / second.length,
    slowest_first_ms: Math.max(...first),
    first_to_second: sum(first) / sum(second),
  }
}

async function timed(url: string, { method, path, headers, body }: typeof message): Promise<number> {
  const started_at = performance.now()
  const response = await fetch(`${url}${path}`, { method, headers, ...(body && { body }) })
  await response.text()
  if (!response.ok) throw new Error(`${path} answers ${response.status}`)
  return performance.now() - started_at
}

const idle_ms = 3_000

/** After boot, and while a million signatures are made (a hundred thousand with --quick). */
export const memory: Case = (bench) =>
  inFolder((folder) =>
    withServers([() => startOurs(folder)], async (ours) => {
      const { url, pid } = ours as Server
      await pause(idle_ms)
      const boot_mb = rssOf_mb(pid)
      await createBenchRelayer(url)
      const share = (bench.quick ? 100_000 : 1_000_000) / 4
      const quarters: number[] = []
      for (let quarter = 0; quarter < 4; quarter += 1) {
        await putLoad({ url, pid, requests: [message], connections: 10, seconds: 0, amount: share })
        await pause(idle_ms)
        quarters.push(rssOf_mb(pid))
      }
      const [quarter_mb = Number.NaN] = quarters
      const all_mb = quarters.at(-1) ?? Number.NaN
      return {
        rounds: { ours: [{ boot_mb, quarter_mb, all_mb, growth_mb: all_mb - quarter_mb }] },
        ratios: [],
        limits: [
          { contender: 'ours', figure: 'boot_mb', wanted: '<= 130' },
          { contender: 'ours', figure: 'all_mb', wanted: '<= 130' },
          { contender: 'ours', figure: 'growth_mb', wanted: '<= 5' },
        ],
      }
    }),
  )

/** One process and two, on the same two cores as the generator. */
export const twoProcesses: Case = (bench) =>
  inFolder(async (folder) => {
    const names = ['one', 'two'] as const
    const starts = names.map(
      (name) => () =>
        startOurs(`${folder}/${name}`, {
          core: 'any',
          env: { RELAYER_PROCESSES: name === 'two' ? '2' : '1' },
        }),
    )
    return withServers(starts, async (...servers) => {
      for (const { url } of servers) await createBenchRelayer(url)
      const contenders = names.map((name, index) => ({ name, server: servers[index] as Server, requests: [message] }))
      return {
        rounds: await compare(bench, contenders, { connections: 50, core: 'any' }),
        ratios: [{ figure: 'requests_per_s', over: 'two', under: 'one', wanted: '>= 1.6' }],
      }
    })
  })
