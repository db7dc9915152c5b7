import { aws_credentials } from '../../support/fake-kms.ts'
import { type Case, compare, medianOf, send } from '../case.ts'
import { inFolder, putLoad, type Server, startOurs, startServer, withServers } from '../processes.ts'
import { createBenchRelayer } from '../stage.ts'
import { message } from './signing.ts'

const region = 'eu-central-1'
const remote = send('POST', '/api/v1/relayers/remote/sign', { message: 'Hello, this is a message of a common length.' })
/** Far from what a core does, so that waiting shows and not the load. */
const local_rate = 100
const remote_rate = 50

const startKms = (delay_ms: number) => () =>
  startServer('test/bench/servers/kms.ts', { arguments: [`${delay_ms}`], core: 'load' })

/** A relayer `bench` with a local key, and `remote` with a key in the key service. */
async function addRelayers(ours: Server, kms: Server): Promise<void> {
  const client = await createBenchRelayer(ours.url)
  await client.post('/api/v1/signers', {
    body: { id: 'remote', type: 'aws_kms', config: { region, key_id: 'bench', endpoint: kms.url } },
  })
  const network = { network: 'bench', network_type: 'evm' as const }
  await client.post('/api/v1/relayers', {
    body: { id: 'remote', name: 'remote', ...network, paused: false, signer_id: 'remote' },
  })
}

/** CPU of a signature by a key service, above that of the SDK's call alone. */
export const signKms: Case = (bench) =>
  inFolder((folder) =>
    withServers([startKms(0), () => startOurs(folder, { env: aws_credentials })], async (kms, ours) => {
      const start = () =>
        startServer('test/bench/servers/kms-call.ts', { arguments: [(kms as Server).url], env: aws_credentials })
      return withServers([start], async (call) => {
        await addRelayers(ours as Server, kms as Server)
        const rounds = await compare({ ...bench, quick: true }, [
          { name: 'call', server: call as Server, requests: [remote] },
          { name: 'ours', server: ours as Server, requests: [remote] },
        ])
        const overhead_us = medianOf(rounds.ours, 'cpu_us') - medianOf(rounds.call, 'cpu_us')
        return {
          rounds: { ...rounds, overhead: [{ cpu_us: overhead_us }] },
          ratios: [],
          limits: [{ contender: 'overhead', figure: 'cpu_us', wanted: '< 1000' }],
        }
      })
    }),
  )

/** Signatures by a local key, alone and while another relayer signs with a key service that takes 50 ms. */
export const signBesideKms: Case = (bench) =>
  inFolder((folder) =>
    withServers([startKms(50), () => startOurs(folder, { env: aws_credentials })], async (kms, server) => {
      const ours = server as Server
      await addRelayers(ours, kms as Server)
      const load = (requests: (typeof message)[], rate: number) =>
        putLoad({ url: ours.url, pid: ours.pid, requests, connections: 50, seconds: bench.seconds, rate })
      await Promise.all([load([message], local_rate), load([remote], remote_rate)])
      const rounds: Record<string, Awaited<ReturnType<typeof load>>[]> = { alone: [], beside: [] }
      for (let round = 0; round < bench.rounds; round += 1) {
        rounds.alone?.push(await load([message], local_rate))
        const [beside] = await Promise.all([load([message], local_rate), load([remote], remote_rate)])
        rounds.beside?.push(beside)
      }
      return {
        rounds,
        ratios: [{ figure: 'p99_ms', over: 'beside', under: 'alone', wanted: '<= 1.2' }],
      }
    }),
  )
