import { awsCredentials } from '../../support/fake-kms.ts'
import { type Case, compare, send } from '../case.ts'
import type { LoadRequest } from '../load-types.ts'
import { medianOf } from '../measure.ts'
import { inFolder, putLoad, type Server, startOurs, startServer, withServers } from '../processes.ts'
import { createBenchRelayer } from '../stage.ts'
import { message } from './signing.ts'

const region = 'eu-central-1'
const remote = send('POST', '/api/v1/relayers/remote/sign', { message: 'Hello, this is a message of a common length.' })
/** Far from what a core does, so that waiting shows and not the load. */
const localRate = 100
const remoteRate = 50
const keyDelayMs = 50

const startKms = (delayMs: number) => () =>
  startServer('test/bench/servers/kms.ts', { arguments: [`${delayMs}`], core: 'load' })

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
    withServers([startKms(0), () => startOurs(folder, { env: awsCredentials })], async (kms, ours) => {
      const start = () =>
        startServer('test/bench/servers/kms-call.ts', { arguments: [(kms as Server).url], env: awsCredentials })
      return withServers([start], async (call) => {
        await addRelayers(ours as Server, kms as Server)
        const rounds = await compare({ ...bench, quick: true }, [
          { name: 'call', server: call as Server, requests: [remote] },
          { name: 'ours', server: ours as Server, requests: [remote] },
        ])
        const overheadUs = medianOf(rounds.ours, 'cpu_us') - medianOf(rounds.call, 'cpu_us')
        return {
          rounds: { ...rounds, overhead: [{ cpu_us: overheadUs }] },
          ratios: [],
          limits: [{ contender: 'overhead', figure: 'cpu_us', wanted: '< 1000' }],
        }
      })
    }),
  )

/**
 * Signatures by a local key: alone, while another relayer with a local key signs, and while another relayer signs with a key service
 * that takes 50 ms. One process puts all load on the service, in windows that take turns.
 */
export const signBesideKms: Case = (bench) =>
  inFolder((folder) =>
    withServers([startKms(keyDelayMs), () => startOurs(folder, { env: awsCredentials })], async (kms, server) => {
      const ours = server as Server
      await addRelayers(ours, kms as Server)
      const load = (beside?: LoadRequest) =>
        putLoad({
          ...{ url: ours.url, pid: ours.pid, requests: [message], connections: 50 },
          ...{ seconds: bench.seconds, rate: localRate },
          ...(beside && { beside: { requests: [beside], rate: remoteRate } }),
        })
      const contenders = { alone: undefined, 'beside local': message, 'beside kms': remote }
      const rounds: Record<string, Awaited<ReturnType<typeof load>>[]> = {}
      for (let round = -1; round < bench.rounds; round += 1) {
        for (const [name, beside] of Object.entries(contenders)) {
          const figures = await load(beside)
          // The first round warms up.
          if (round >= 0) rounds[name] = [...(rounds[name] ?? []), figures]
        }
      }
      return {
        rounds,
        ratios: [
          { figure: 'p99_ms', over: 'beside kms', under: 'alone', wanted: '<= 1.2' },
          { figure: 'p50_ms', over: 'beside kms', under: 'alone' },
          { figure: 'p99_ms', over: 'beside local', under: 'alone' },
        ],
      }
    }),
  )
