import { expect, onTestFinished, test } from 'vitest'
import { createDatabase } from '../../cluster/database.ts'
import { testChain, testFaultProxy } from '../../support/chain.ts'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { startHeldSigner } from '../../support/held-signer.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { newDatabase } from '../../support/postgres.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testServers } from '../../support/server-processes.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const receiver = `0x${'65'.repeat(20)}`
const other = `0x${'66'.repeat(20)}`
const relayerPath = '/api/v1/relayers/{relayer_id}'
const sending = '/api/v1/relayers/{relayer_id}/transactions'
const firstOf = async (account: Account) => (await account.transactions())[0]
const received = async ({ chain }: Pick<Rig, 'chain'>, address: string) =>
  BigInt(await chain.rpc<string>('eth_getBalance', [address, 'latest']))

/** Whether a request of the service succeeds again. */
const isBack = (account: Account) =>
  account.transactions().then(
    () => true,
    () => false,
  )

test('C1: JSON-RPC says that the outcome is open when the database stops after the commit, before the signature', async () => {
  const database = await newDatabase()
  onTestFinished(database.drop)
  const proxy = await startDatabaseProxy(database.url)
  onTestFinished(proxy.stop)
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const rig = await testRig({ chain: { noMining: true }, settings: { DATABASE_URL: proxy.url } })
  const account = await rig.addAccount({ signer: signer.request })
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  signer.hold()
  const sent = rpc.call('eth_sendTransaction', [{ to: receiver, value: '0x7', gas: '0x5208' }])
  const stored = () => database.query<{ id: string }>('SELECT id FROM transactions')
  await signer.held(1)
  await proxy.set('closed')
  const { error } = await sent
  const [row] = await stored()
  expect(error).toMatchObject({ code: -32_002, data: { transaction_id: row?.id } })
  signer.release()
  await proxy.set('open')
  await until('the database is back', () => isBack(account))
  await account.finished(rig.chain.mine)
  expect(await received(rig, receiver)).toBe(7n)
})

test('a promoted standby that lacks the newest payment evicts it from no pool', { timeout: 400_000 }, async () => {
  const database = createDatabase({ replication: 'stopped', moved: (url) => proxy.pointTo(url) })
  onTestFinished(database.stop)
  await database.start()
  const proxy = await startDatabaseProxy(database.url())
  onTestFinished(proxy.stop)
  const rig = await testRig({
    chain: { noMining: true },
    settings: { DATABASE_URL: proxy.url, DATABASE_TIMEOUT_MS: '10000' },
  })
  const account = await rig.addAccount()
  await account.send(1)
  await account.finished(rig.chain.mine)
  await database.addStandby()
  const low = { max_fee_per_gas: `${2n * gwei}`, max_priority_fee_per_gas: `${gwei / 10n}` }
  await rig.client().post(sending, {
    path: { relayer_id: account.relayer_id },
    body: { to: other, value: '21', gas_limit: 21_000, ...low },
  })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  // The service goes on: it is the same process.
  await database.failOver(0, () => undefined)
  await until('the database is back', () => isBack(account))
  expect(await account.transactions()).toHaveLength(1)
  await account.send(1, { to: receiver })
  const isSettled = async () => {
    const { status, status_reason } = (await firstOf(account)) ?? {}
    return status === 'submitted' || status_reason !== null
  }
  await until('it waits, or a node has it', isSettled)
  await account.finished(rig.chain.mine)
  expect([await received(rig, other), await received(rig, receiver)]).toEqual([21n, 2n])
})

const many = { timeout: 400_000 }

test('a server that is stopped across a change of policies obeys the new ones when it goes on', many, async () => {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const servers = await testServers()
  const [sleeper, awake] = await Promise.all([servers.start(), servers.start()])
  const { client } = awake
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [proxy.url] },
  })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: { name: 'slept', network: 'local', network_type: 'evm', paused: false, signer_id: signer.id },
  })
  await chain.setBalance(relayer.address, 10n ** 20n)
  const path = { relayer_id: relayer.id }
  // Everything that the server caches is warm.
  await sleeper.client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  await sleeper.client.post(sending, { path, body: { to: receiver, value: '1', gas_limit: 21_000 } })

  sleeper.signal('SIGSTOP')
  const asked = (suffix: string, body: object) =>
    fetch(`${sleeper.url}/api/v1/relayers/${relayer.id}/${suffix}`, {
      method: 'POST',
      headers: { Authorization: 'Bearer several-servers-have-one-api-key', 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    }).then(({ status }) => status)
  const requests = Promise.all([
    asked('sign', { message: 'Hello' }),
    asked('transactions', { to: receiver, value: '2', gas_limit: 21_000 }),
  ])
  const policies = { allow_messages: false, whitelist_receivers: [other] }
  await client.patch(relayerPath, { path, header: { 'If-Match': '*' }, body: { policies } })
  sleeper.signal('SIGCONT')
  expect(await requests).toEqual([403, 403])
  const { data: rows } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path })
  expect(rows.map(({ value }) => value)).toEqual(['1'])
})

test('a server that is stopped across a pause signs nothing of its lane when it goes on', many, async () => {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const servers = await testServers()
  const both = await Promise.all([servers.start(), servers.start()])
  const { client } = both[0]
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [proxy.url] },
  })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: { name: 'slept', network: 'local', network_type: 'evm', paused: false, signer_id: signer.id },
  })
  await chain.setBalance(relayer.address, 10n ** 20n)
  const path = { relayer_id: relayer.id }
  // The sender looks at the newest block before the account's first signature, and a request before it is accepted.
  const woken = Promise.withResolvers<void>()
  proxy.setLiar(async ({ method }) => {
    if (method !== 'eth_getBlockByNumber') return undefined
    if ((await servers.query('SELECT id FROM transactions')).length > 0) await woken.promise
    return undefined
  })
  const { data: sent } = await client.post(sending, { path, body: { to: receiver, value: '3', gas_limit: 21_000 } })
  const leases = async () => Promise.all(both.map((server) => servers.leasesOf(server, 'sender')))
  await until('a server has it', async () => (await leases()).some(({ length }) => length === 1))
  const isFirst = (await leases())[0]?.length === 1
  const [sleeper, awake] = isFirst ? both : [both[1], both[0]]
  sleeper.signal('SIGSTOP')
  await awake.client.patch(relayerPath, { path, body: { paused: true } })
  sleeper.signal('SIGCONT')
  woken.resolve()
  const row = async () =>
    (
      await awake.client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
        path: { ...path, transaction_id: sent.id },
      })
    ).data
  const isSaid = async () => {
    const { status, status_reason } = await row()
    return status !== 'pending' || (status_reason?.includes('paused') ?? false)
  }
  await until('it waits for the end of the pause, or is signed', isSaid)
  expect([await row(), proxy.broadcast()]).toMatchObject([{ status: 'pending', hash: null }, []])
  await awake.client.patch(relayerPath, { path, body: { paused: false } })
  await until('it is confirmed', async () => (await row()).status === 'confirmed', chain.mine)
  expect(await received({ chain }, receiver)).toBe(3n)
})
