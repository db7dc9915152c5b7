import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { spawnService } from '../support/process.ts'
import { temporaryFolder } from '../support/service.ts'

const demo = { path: { relayer_id: 'demo' } }
const atOnce = 40

/** Two processes at one address. Requests that are sent at once have a connection each, and both processes accept connections. */
async function start() {
  const DataDir = join(temporaryFolder(), 'data')
  const service = spawnService({ DATA_DIR: DataDir, RELAYER_PROCESSES: '2' })
  const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  const token = readFileSync(join(DataDir, 'api-key'), 'utf8').trim()
  const client = createRelayerClient({ baseUrl: url, token })
  const all = <T>(one: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: atOnce }, (_, index) => one(index)))
  const sign = () => client.post('/api/v1/relayers/{relayer_id}/sign', { ...demo, body: { message: 'a' } })
  return { service, client, all, sign }
}

const childrenOf = (pid: number) =>
  spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .map(Number)

test('applies a pause in the other process at once', async () => {
  const { client, all, sign } = await start()
  for (const paused of [true, false]) {
    await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused } })
    const answers = await all(() =>
      sign().then(
        () => 200,
        ({ status }) => status,
      ),
    )
    expect(new Set(answers)).toEqual(new Set([paused ? 403 : 200]))
  }
})

test('sends transactions of both processes once, with nonces without gaps', async () => {
  // A chain that makes blocks for transactions only may leave the last one in its pool.
  const chain = await testChain({ blockTime_s: 1 })
  const { client, all } = await start()
  const path = { network_id: 'evm:local' }
  await client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [chain.url] } })
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.address, 10n ** 20n)
  const sent = await all((index) =>
    client.post('/api/v1/relayers/{relayer_id}/transactions', {
      ...demo,
      query: { wait: 'confirmed' },
      body: { to: relayer.address, value: String(index + 1) },
    }),
  )
  const get = async (transactionId: string) => {
    const path = { ...demo.path, transaction_id: transactionId }
    return (await client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path })).data
  }
  // A busy machine may need longer than the 30 s of `wait`.
  for (const { data } of sent) await expect.poll(() => get(data.id)).toMatchObject({ status: 'confirmed' })
  const confirmed = await Promise.all(sent.map(({ data }) => get(data.id)))
  const nonces = confirmed.map(({ nonce }) => nonce as number).sort((a, b) => a - b)
  expect(nonces).toEqual(Array.from({ length: atOnce }, (_, index) => index))
  expect(new Set(confirmed.map(({ hash }) => hash)).size).toBe(atOnce)
})

test('accepts connections without the primary process', async () => {
  const { service, all, sign } = await start()
  service.signal('SIGSTOP')
  const answers = await all(sign)
  service.signal('SIGCONT')
  expect(answers).toHaveLength(atOnce)
})

test('replaces a process that dies, and ends all processes with the first one', async () => {
  const { service, all, sign } = await start()
  const [one = 0, other] = childrenOf(service.pid)
  process.kill(one, 'SIGKILL')
  await expect.poll(() => service.err()).toContain(`Process ${one} ended (SIGKILL); starting a replacement.`)
  await expect.poll(() => childrenOf(service.pid).filter((pid) => pid !== one)).toEqual([other, expect.any(Number)])
  await all(sign)
  const left = childrenOf(service.pid)
  service.signal('SIGTERM')
  expect(await service.ended).toBe(0)
  for (const pid of left) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})

test('stops a replacement that is still starting', async () => {
  const { service } = await start()
  const [one = 0] = childrenOf(service.pid)
  process.kill(one, 'SIGKILL')
  await expect.poll(() => childrenOf(service.pid).filter((pid) => pid !== one).length, { interval: 5 }).toBe(2)
  // Its signal handlers are set; the service behind them is not there yet.
  await pause(250)
  const left = childrenOf(service.pid)
  service.signal('SIGTERM')
  expect(await service.ended).toBe(0)
  for (const pid of left) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
})
