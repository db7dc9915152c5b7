import { assertSame, type Bench, type Case, type Contender, compare, get } from '../case.ts'
import { type Server, startBare, startOurs, withServers } from '../processes.ts'
import { databaseOf, histories, historyFolder } from '../stage.ts'

const transactions = (relayerId: string, page: number, perPage: number) =>
  get(`/api/v1/relayers/${relayerId}/transactions/?page=${page}&per_page=${perPage}`)

export const notifications = (page: number, perPage: number) =>
  get(`/api/v1/notifications?page=${page}&per_page=${perPage}`)

/** Ours and bare read the same file. */
async function onHistory<T>(bench: Bench, work: (bare: Server, ours: Server) => Promise<T>): Promise<T> {
  const folder = await historyFolder(bench)
  return withServers([() => startBare(databaseOf(folder)), () => startOurs(folder)], (bare, ours) =>
    work(bare as Server, ours as Server),
  )
}

/** The first page, one in the middle and the last, of a long history; the first of shorter ones. */
export const listTen: Case = (bench) =>
  onHistory(bench, async (bare, ours) => {
    const { large = 0 } = histories(bench)
    const last = large / 10
    const contenders: Contender[] = [
      { name: 'bare', server: bare, requests: [transactions('large', 1, 10)] },
      { name: 'ours', server: ours, requests: [transactions('large', 1, 10)] },
      { name: 'ours, middle', server: ours, requests: [transactions('large', last / 2, 10)] },
      { name: 'ours, last', server: ours, requests: [transactions('large', last, 10)] },
      { name: 'ours, 1e3', server: ours, requests: [transactions('small', 1, 10)] },
      { name: bench.quick ? 'ours, 1e4' : 'ours, 1e5', server: ours, requests: [transactions('medium', 1, 10)] },
    ]
    await assertSame(contenders.slice(0, 2))
    return {
      rounds: await compare(bench, contenders),
      ratios: [
        { figure: 'cpu_us', over: 'bare', under: 'ours', wanted: '>= 0.5' },
        { figure: 'cpu_us', over: 'ours, last', under: 'ours', wanted: '<= 1.1' },
        { figure: 'cpu_us', over: 'ours', under: 'ours, 1e3', wanted: '<= 1.1' },
      ],
    }
  })

export const listHundred: Case = (bench) =>
  onHistory(bench, async (bare, ours) => {
    const requests = [transactions('large', 1, 100)]
    const contenders = [
      { name: 'bare', server: bare, requests },
      { name: 'ours', server: ours, requests },
    ]
    await assertSame(contenders)
    return {
      rounds: await compare(bench, contenders),
      ratios: [{ figure: 'cpu_us', over: 'bare', under: 'ours', wanted: '>= 0.6' }],
    }
  })

export const listNotifications: Case = (bench) =>
  onHistory(bench, async (bare, ours) => {
    const requests = [notifications(1, 10)]
    const contenders = [
      { name: 'bare', server: bare, requests },
      { name: 'ours', server: ours, requests },
    ]
    await assertSame(contenders)
    return {
      rounds: await compare(bench, contenders),
      ratios: [{ figure: 'cpu_us', over: 'bare', under: 'ours' }],
    }
  })
