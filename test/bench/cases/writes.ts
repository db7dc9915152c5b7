import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { RelayerClient, TransactionStatus } from '../../../client/index.ts'
import { type Bench, type Case, type CaseResult, compare, send } from '../case.ts'
import type { LoadRequest } from '../load-types.ts'
import { inFolder, type Server, startBare, startOurs, startServer, withServers } from '../processes.ts'
import { createBenchRelayer, databaseOf } from '../stage.ts'

const notification = { type: 'webhook', url: 'https://example.com/webhook' }
const target = 'target'

/** Ours and bare each have a database of their own, made by ours. */
async function against(
  bench: Bench,
  requests: LoadRequest[],
  connections: number,
  wanted: TransactionRequest,
): Promise<CaseResult> {
  const startChain = () => startServer('test/bench/servers/chain.ts', { core: 'load' })
  const prepare = async (url: string, rpcUrl: string) => {
    const client = await createBenchRelayer(url, rpcUrl)
    await client.post('/api/v1/notifications', { body: { id: target, type: 'webhook', url: notification.url } })
    return client
  }
  return inFolder((folder) =>
    withServers([startChain, () => startOurs(join(folder, 'ours'))], async (chain, ours) => {
      const { url: rpcUrl } = chain as Server
      const client = await prepare((ours as Server).url, rpcUrl)
      const bareFolder = join(folder, 'bare')
      await withServers([() => startOurs(bareFolder)], (maker) => prepare((maker as Server).url, rpcUrl))
      return withServers([() => startBare(databaseOf(bareFolder))], async (bare) => {
        const contenders = [
          { name: 'bare', server: bare as Server, requests },
          { name: 'ours', server: ours as Server, requests, rest: () => untilAllIsSent(client) },
        ]
        return { rounds: await compare(bench, contenders, { connections }), ...wanted }
      })
    }),
  )
}

async function untilAllIsSent(client: RelayerClient): Promise<void> {
  const unfinished: TransactionStatus[] = ['pending', 'sent', 'submitted', 'mined']
  const wanted = { path: { relayer_id: 'bench' }, query: { per_page: 1, status: unfinished } }
  for (;;) {
    const { pagination } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', wanted)
    if (pagination.total_items === 0) return
    await pause(500)
  }
}

type TransactionRequest = Pick<CaseResult, 'ratios' | 'limits'>

const cpu = { figure: 'cpu_us', over: 'bare', under: 'ours' }
const throughput = { figure: 'requests_per_s', over: 'ours', under: 'bare' }

export const createNotification: Case = (bench) =>
  against(bench, [send('POST', '/api/v1/notifications', notification)], 10, { ratios: [cpu, throughput] })

export const updateNotification: Case = (bench) => {
  // SQLite writes nothing where nothing changes.
  const requests = Array.from({ length: 7 }, (_, index) =>
    send('PATCH', `/api/v1/notifications/${target}`, { url: `${notification.url}/${index}` }),
  )
  return against(bench, requests, 10, { ratios: [cpu, throughput] })
}

/** Bare takes a row and a commit a request and sends nothing; ours prepares, commits, signs, broadcasts and follows. */
export const sendTransaction: Case = (bench) => {
  const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
  const request = send('POST', '/api/v1/relayers/bench/transactions', { to, value: '1', gas_limit: 21_000 })
  return against(bench, [request], 50, {
    ratios: [cpu, { ...throughput, wanted: '>= 4' }],
    limits: [{ contender: 'ours', figure: 'p50_ms', wanted: '<= 15' }],
  })
}
