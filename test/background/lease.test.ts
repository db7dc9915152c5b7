import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../server/store/sqlite/connection.ts'
import { takeLease, workShares } from '../../server/store/sqlite/work-share.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import type { WorkKind } from '../../server/store/worker.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { startTestService, type TestService, temporaryFolder } from '../support/service.ts'

const dayMs = 86_400_000
const durationMs = 6_000

/** A store with a clock of its own; `hold`: the lease is somebody else's, from now on. */
function leased() {
  const clock = { ms: 1_800_000_000_000 }
  const world = {
    now: () => clock.ms,
    makeId: () => '',
    checkEvent: () => undefined,
  }
  const connection = connect(join(temporaryFolder(), 'lease.sqlite'))
  onTestFinished(connection.close)
  const context = { ...connection, effects: world }
  const hold = (owner: string) => takeLease(context, { name: 'sender', owner }, () => true)
  const lease = (kind: WorkKind = 'sender') => {
    const share = workShares(context).share(kind)
    onTestFinished(() => share.release())
    return { claim: () => share.claim(1), release: share.release, share }
  }
  return { clock, hold, lease }
}

async function startProcess() {
  const child = spawn('sleep', ['600'])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child
}

describe('leases', () => {
  test('gives a lease to one owner, also within a process, until it is released', async () => {
    const { lease } = leased()
    const [first, second] = [lease(), lease()]
    expect([await first.claim(), await second.claim(), await first.claim()]).toEqual([true, false, true])
    await second.release()
    expect([await second.claim(), await first.claim()]).toEqual([false, true])
    await first.release()
    expect(await second.claim()).toBe(true)
  })

  test('gives each kind of work its own lease', async () => {
    const { lease } = leased()
    expect(await lease().claim()).toBe(true)
    expect(await lease('deliverer').claim()).toBe(true)
  })

  test('gives an owner the lease of every row, and the other processes none', async () => {
    const { lease } = leased()
    const [first, second] = [lease().share, lease().share]
    expect(await first.divide([])).toEqual({ own: [], surplus: [] })
    expect(await first.divide([1, 2])).toEqual({ own: [1, 2], surplus: [] })
    expect(await second.divide([1, 2])).toEqual({ own: [], surplus: [] })
    expect([first.holds(3), second.holds(3)]).toEqual([true, false])
    await first.release()
    expect(first.holds(3)).toBe(false)
  })

  test('respects the lease of a running process, and takes it over as soon as the process has ended', async () => {
    const { hold, lease } = leased()
    const child = await startProcess()
    await hold(`${hostname()} ${child.pid} its-own`)
    const mine = lease()
    expect(await mine.claim()).toBe(false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await mine.claim()).toBe(true)
  })

  test('takes over the lease of an earlier process with the same process id', async () => {
    const { hold, lease } = leased()
    await hold(`${hostname()} ${process.pid} of-the-one-before`)
    expect(await lease().claim()).toBe(true)
  })

  test('expires the lease of another host, whatever its process id is here', async () => {
    const { clock, hold, lease } = leased()
    const gone = await startProcess()
    gone.kill('SIGKILL')
    await once(gone, 'exit')
    await hold(`elsewhere ${gone.pid} its-own`)
    const mine = lease()
    expect(await mine.claim()).toBe(false)
    clock.ms += durationMs - 1
    expect(await mine.claim()).toBe(false)
    clock.ms += 1
    expect(await mine.claim()).toBe(true)
  })

  test('extends the lease when it is renewed', async () => {
    const { clock, hold, lease } = leased()
    await hold('elsewhere 1 its-own')
    clock.ms += durationMs - 1
    await hold('elsewhere 1 its-own')
    clock.ms += durationMs - 1
    expect(await lease().claim()).toBe(false)
  })

  test('ignores a lease from before the clock was set back by a day', async () => {
    const { clock, hold, lease } = leased()
    await hold('elsewhere 1 its-own')
    clock.ms -= dayMs
    expect(await lease().claim()).toBe(true)
  })
})

const relayerId = 'demo'

async function send({ client }: TestService, index: number, to: string) {
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: relayerId },
    header: { 'Idempotency-Key': `send-${index}` },
    body: { to, value: `${index}`, gas_limit: 21_000 },
  })
  return data
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

test('signs and mines each transaction once when two services share a database, also when one of them ends', async () => {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const DataDir = temporaryFolder()
  const [first, second] = [await startTestService({ DATA_DIR: DataDir }), await startTestService({ DATA_DIR: DataDir })]
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [proxy.url] } }
  await first.client.patch('/api/v1/networks/{network_id}', network)
  const { data: relayer } = await second.client.get('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: relayerId },
  })
  await chain.setBalance(relayer.address, 10n ** 20n)
  const db = new Database(join(DataDir, 'relayer.sqlite'), { readonly: true })
  onTestFinished(() => void db.close())
  const owner = db.prepare<[], string>('SELECT owner FROM leases').pluck()

  const sendAll = (by: TestService[], indexes: number[]) =>
    Promise.all(indexes.map((index) => send(by[index % by.length] as TestService, index, relayer.address)))
  const list = async ({ client }: TestService) =>
    (
      await Array.fromAsync(
        client.all('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: relayerId } }),
      )
    ).reverse()
  const become = (status: string, count: number, by = second) =>
    expect.poll(async () => (await list(by)).map((one) => one.status)).toEqual(Array(count).fill(status))

  // The process that accepts the first transaction takes the lease.
  await sendAll([first], [0])
  const ownerOfFirst = owner.get()
  const accepted = await sendAll([second, first], upTo(10).slice(1))
  expect(new Set(accepted.map(({ nonce }) => nonce))).toEqual(new Set(upTo(10).slice(1)))
  await become('submitted', 10)
  expect(proxy.counts().eth_sendRawTransaction).toBe(10)
  await chain.mine()
  await become('confirmed', 10)

  // The one that sends goes away with ten that are on their way, and lets go of its lease.
  await sendAll([first, second], upTo(20).slice(10))
  const before = owner.get()
  expect(before).toEqual(expect.any(String))
  const [leaving, staying] = before === ownerOfFirst ? [first, second] : [second, first]
  await leaving.close()
  expect(owner.get()).not.toBe(before)
  await sendAll([staying], upTo(25).slice(20))
  await expect.poll(() => chain.rpc('txpool_status')).toMatchObject({ pending: '0xf' })
  await chain.mine()
  await become('confirmed', 25, staying)

  const all = await list(staying)
  expect(all.map(({ nonce }) => nonce)).toEqual(upTo(25))
  expect(new Set(all.map(({ value }) => value)).size).toBe(25)
  expect(Number(await chain.rpc('eth_getTransactionCount', [relayer.address, 'latest']))).toBe(25)
  const store = openSqliteStore(join(DataDir, 'relayer.sqlite'), {
    now: Date.now,
    makeId: () => '',
    checkEvent: () => undefined,
  })
  onTestFinished(store.close)
  const holders = await store.holders({ chain_id: 31_337, address: relayer.address }, { from: 0, to: 100 }, 100)
  const attempts = await Promise.all(holders.map(({ row_id: key }) => store.attempts(key)))
  expect(attempts.map((own) => own.map(({ hash }) => hash))).toEqual(all.map(({ hash }) => [hash]))
})
