import { assertSame, type Case, type Contender, compare, send } from '../case.ts'
import { medianOf } from '../measure.ts'
import { inFolder, type Server, startBare, startNaive, startOurs, startServer, withServers } from '../processes.ts'
import { createBenchRelayer } from '../stage.ts'

const path = '/api/v1/relayers/bench'
export const message = send('POST', `${path}/sign`, { message: 'Hello, this is a message of a common length.' })
export const typedData = send('POST', `${path}/sign-typed-data`, {
  domain_separator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
  hash_struct_message: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
})

const against =
  (request: typeof message, wanted: { bare?: string; naive?: string }): Case =>
  (bench) =>
    inFolder((folder) =>
      withServers([startBare, () => startOurs(folder), startNaive], async (bare, ours, naive) => {
        await createBenchRelayer((ours as Server).url)
        const servers = { bare, ours, naive } as Record<string, Server>
        const contenders = Object.entries(servers).map(([name, server]) => ({ name, server, requests: [request] }))
        await assertSame(contenders)
        return {
          rounds: await compare(bench, contenders),
          ratios: [
            { figure: 'cpu_us', over: 'bare', under: 'ours', ...(wanted.bare && { wanted: wanted.bare }) },
            { figure: 'cpu_us', over: 'naive', under: 'ours', ...(wanted.naive && { wanted: wanted.naive }) },
            { figure: 'cpu_us', over: 'bare', under: 'naive' },
          ],
        }
      }),
    )

export const sign = against(message, { bare: '>= 0.55', naive: '>= 3.5' })
export const signTypedData = against(typedData, {})

/** The same message by API keys of the store, which are read again when rows have changed. */
export const signByApiKey: Case = (bench) =>
  inFolder((folder) =>
    withServers([() => startOurs(folder)], async (server) => {
      const ours = server as Server
      const client = await createBenchRelayer(ours.url)
      const create = async (name: string, more: object) =>
        (await client.post('/api/v1/api-keys', { body: { name, scopes: ['sign'], ...more } })).data.token
      const tokens = {
        'API key': await create('plain', {}),
        'with a budget': await create('agent', { relayer_ids: ['bench'], budget: { assets: [] } }),
      }
      const keys = Object.entries(tokens).map(([name, token]) => ({
        ...{ name, server: ours },
        requests: [{ ...message, headers: { ...message.headers, Authorization: `Bearer ${token}` } }],
      }))
      const contenders = [{ name: 'administrator', server: ours, requests: [message] }, ...keys]
      await assertSame(contenders)
      return {
        rounds: await compare(bench, contenders),
        ratios: Object.keys(tokens).map((over) => ({ figure: 'cpu_us', over, under: 'administrator' })),
      }
    }),
  )

/** The whole contract against one of six operations. */
export const signByContract: Case = (bench) => {
  const start = (size: string) => () => startServer('test/bench/servers/contract.ts', { arguments: [size] })
  return withServers([start('six'), start('all')], async (six, all) => {
    const contenders = Object.entries({ six, all } as Record<string, Server>).map(([name, server]) => ({
      name,
      server,
      requests: [message],
    }))
    await assertSame(contenders)
    return {
      rounds: await compare(bench, contenders),
      ratios: [{ figure: 'cpu_us', over: 'all', under: 'six', wanted: '<= 1.05' }],
    }
  })
}

/** Both at the same rate: half of what ours does at most. */
export const signAtHalfLoad: Case = (bench) =>
  inFolder((folder) =>
    withServers([startBare, () => startOurs(folder)], async (bare, ours) => {
      await createBenchRelayer((ours as Server).url)
      const contender = (name: string, server: Server | undefined): Contender => ({
        name,
        server: server as Server,
        requests: [message],
      })
      const at = { connections: 50 }
      const most = await compare({ ...bench, rounds: 1 }, [contender('bare', bare), contender('ours', ours)], at)
      const rate = Math.round(medianOf(most.ours, 'requests_per_s') / 2)
      const paced = [contender('bare', bare), contender('ours', ours)].map((one) => ({ ...one, rate }))
      return {
        rounds: await compare(bench, paced, { ...at, warmUp: false }),
        ratios: [{ figure: 'p99_ms', over: 'ours', under: 'bare', wanted: '<= 3' }],
      }
    }),
  )
