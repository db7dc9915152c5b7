import { expect, onTestFinished, test } from 'vitest'
import type { CreateSignerRequest, RelayerClient } from '../../client/index.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { startHeldSigner } from '../support/held-signer.ts'
import { startReceiver } from '../support/receiver.ts'
import { type Server, testServers } from '../support/server-processes.ts'
import { until } from '../support/until.ts'

const many = { timeout: 400_000 }
const to = '0x00000000000000000000000000000000000000ff'

async function addRelayer(
  client: RelayerClient,
  body: CreateSignerRequest = { type: 'generated' },
  more: { notification_id?: string } = {},
) {
  const { data: signer } = await client.post('/api/v1/signers', { body })
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: { name: 'several', network: 'local', network_type: 'evm', paused: false, signer_id: signer.id, ...more },
  })
  return relayer
}

async function send({ client }: Pick<Server, 'client'>, relayerId: string, value: number) {
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: relayerId },
    header: { 'Idempotency-Key': `several-${value}` },
    body: { to, value: String(value), gas_limit: 21_000 },
  })
  return data
}

const list = async ({ client }: Pick<Server, 'client'>, relayerId: string) =>
  (await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: relayerId } })).data

test('spreads relayers over three servers, and moves them when a server stops, is killed or sleeps', many, async () => {
  const chain = await testChain()
  const proxy = await testFaultProxy(chain)
  const servers = await testServers()
  const [first, second, third] = await Promise.all([servers.start(), servers.start(), servers.start()])
  let alive = [first, second, third]
  const path = { network_id: 'evm:local' }
  await first.client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [proxy.url] } })
  const relayers: Awaited<ReturnType<typeof addRelayer>>[] = []
  const receiver = await startReceiver()
  const { data: notification } = await first.client.post('/api/v1/notifications', { body: { url: receiver.url } })
  for (let index = 0; index < 6; index += 1) {
    relayers.push(await addRelayer(first.client, { type: 'generated' }, { notification_id: notification.id }))
  }
  for (const { address } of relayers) await chain.setBalance(address, 10n ** 20n)

  let sent = 0
  /** Each relayer sends one transaction, each through another server. */
  const sendAll = async () => {
    for (const { id } of relayers) {
      sent += 1
      await send(alive[sent % alive.length] as Server, id, sent)
    }
  }
  const spread = async () => {
    const leases = await Promise.all(alive.map((server) => servers.leasesOf(server, 'sender')))
    return leases.map(({ length }) => length).sort()
  }
  const isSpread = (counts: number[]) =>
    until(`the relayers are spread ${counts}`, async () => (await spread()).join() === counts.join())
  const allConfirmed = (count: number) =>
    until(`${count} transactions of each relayer are confirmed`, async () => {
      const lists = await Promise.all(relayers.map(({ id }) => list(alive[0] as Server, id)))
      return lists.every((rows) => rows.length === count && rows.every(({ status }) => status === 'confirmed'))
    })

  await sendAll()
  await isSpread([2, 2, 2])
  await allConfirmed(1)

  // It sleeps with transactions under way, past its leases, and wakes when the others have sent and confirmed them.
  await sendAll()
  first.signal('SIGSTOP')
  alive = [second, third]
  await sendAll()
  await isSpread([3, 3])
  await allConfirmed(3)
  first.signal('SIGCONT')
  alive = [first, second, third]
  await isSpread([2, 2, 2])
  await sendAll()
  await allConfirmed(4)

  second.signal('SIGTERM')
  expect(await second.ended).toBe(0)
  // A clean stop leaves no lease behind.
  expect(await servers.leasesOf(second, 'sender')).toEqual([])
  alive = [first, third]
  await sendAll()
  await isSpread([3, 3])
  await allConfirmed(5)

  third.signal('SIGKILL')
  alive = [first]
  await sendAll()
  await isSpread([6])
  await allConfirmed(6)

  for (const { address } of relayers) {
    expect(Number(await chain.rpc('eth_getTransactionCount', [address, 'latest']))).toBe(6)
  }
  // Nothing was broadcast that is not stored, and each event was delivered.
  const hashes = await servers.query<{ hash: string }>('SELECT hash FROM attempts')
  const stored = new Set(hashes.map(({ hash }) => hash))
  expect(proxy.broadcast().filter((hash) => !stored.has(hash))).toEqual([])
  await until('all events are delivered', async () => {
    const delivered = new Set(receiver.got.map(({ event }) => event.id))
    return (await servers.query<{ id: string }>('SELECT id FROM events')).every(({ id }) => delivered.has(id))
  })
})

test('stores and sends nothing after another server took over during a signature', many, async () => {
  const chain = await testChain()
  const proxy = await testFaultProxy(chain)
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const servers = await testServers()
  const both = await Promise.all([servers.start(), servers.start()])
  const { client } = both[0]
  const path = { network_id: 'evm:local' }
  await client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [proxy.url] } })
  const relayer = await addRelayer(client, {
    type: 'remote',
    config: { url: signer.url, address: signer.address },
  })
  await chain.setBalance(relayer.address, 10n ** 20n)

  signer.hold()
  await send({ client }, relayer.id, 1)
  const [its] = await signer.held(1)
  const isFirst = (await servers.leasesOf(both[0], 'sender')).length === 1
  const [sleeper, successor] = isFirst ? both : [both[1], both[0]]
  sleeper.signal('SIGSTOP')
  // As after a minute, of which the clock of a machine that was suspended does not know.
  const registration = await servers.registrationOf(sleeper)
  await servers.query('UPDATE servers SET until = clock_timestamp() WHERE row_id = $1', [registration])
  const [, successors] = await signer.held(2)
  expect(await servers.leasesOf(sleeper, 'sender')).toEqual([])

  its?.answer()
  sleeper.signal('SIGCONT')
  /** The servers whose chains of the audit trail have a signature of the transaction, and what its row says. */
  const written = async () => {
    const signed = await servers.query<{ server_row_id: string }>(
      `SELECT server_row_id FROM audit JOIN audit_chains USING (chain)
         WHERE entries LIKE '%"signTransactionToSend"%' ORDER BY 1`,
    )
    const rows = await servers.query('SELECT status, status_reason FROM transactions')
    return { signers: signed.map(({ server_row_id }) => Number(server_row_id)), rows }
  }
  const nothing = { signers: [], rows: [{ status: 'pending', status_reason: null }] }
  const isStopped = () => /taken over by another server/.test(sleeper.out() + sleeper.err())
  await until('it has tried to go on', async () => {
    return isStopped() || JSON.stringify(await written()) !== JSON.stringify(nothing)
  })
  expect(await written()).toEqual(nothing)
  expect(proxy.broadcast()).toEqual([])

  successors?.answer()
  signer.release()
  const isConfirmed = async (count: number) => {
    const rows = await list(sleeper, relayer.id)
    return rows.length === count && rows.every(({ status }) => status === 'confirmed')
  }
  await until('the transaction is confirmed', () => isConfirmed(1))
  expect((await written()).signers).toEqual([await servers.registrationOf(successor)])
  const [row] = await list(successor, relayer.id)
  expect(proxy.broadcast()).toEqual([row?.hash])

  // The server that slept has joined again, and takes the work over in its turn.
  successor.signal('SIGTERM')
  await send(sleeper, relayer.id, 2)
  await until('both are confirmed', () => isConfirmed(2))
})
