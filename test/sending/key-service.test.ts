import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { awsCredentials, startFakeKms } from '../support/fake-kms.ts'
import { clean } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

beforeEach(() => {
  const before = { ...process.env }
  Object.assign(process.env, awsCredentials)
  onTestFinished(() => {
    process.env = before
  })
})

const deadlineMs = 120_000

async function startKeyRig() {
  const kms = await startFakeKms()
  onTestFinished(() => kms.stop())
  const rig = await testRig({ chain: { blockTime_s: 0.5 } })
  const config = { region: kms.region, key_id: kms.addKey(), endpoint: kms.url }
  const account = await rig.addAccount({ signer: { type: 'aws_kms', config } })
  return { kms, rig, account }
}

test('mines 200 transactions of a slow key service in order, each once', {
  timeout: deadlineMs,
}, async () => {
  const { kms, rig, account } = await startKeyRig()
  kms.faults.delay_ms = 50
  await account.send(200)
  await account.finished()
  expect(await account.score()).toEqual(clean(200))
  // One signature for each, and one at the creation of the signer: stored transactions are not signed again.
  expect(kms.calls.Sign).toBe(201)
  // The audit entry of each has the key service's own id of the request.
  const query = { operation: 'signTransactionToSend', per_page: 300 }
  const { data: entries } = await rig.client().get('/api/v1/audit', { query })
  expect(new Set(entries.map(({ key_request_id }) => key_request_id)).size).toBe(200)
  expect(kms.request_ids).toEqual(expect.arrayContaining(entries.map(({ key_request_id }) => key_request_id)))
})

test('keeps transactions waiting with the reason while the key service is down, continues others, and then mines all', {
  timeout: deadlineMs,
}, async () => {
  const { kms, rig, account } = await startKeyRig()
  const other = await rig.addAccount()
  await account.send(20)
  await account.finished()
  await kms.stop()
  await account.send(30)
  await until('a transaction waits for the key service', async () => {
    return (await account.transactions()).some(({ status_reason }) => status_reason?.includes('key service'))
  })
  const path = { relayer_id: account.relayer_id }
  const { data: nonce } = await rig.client().get('/api/v1/relayers/{relayer_id}/nonce', { path })
  expect(nonce.blocking_transaction).toMatchObject({
    wait_reason: 'key_service',
    status_reason: expect.stringMatching(/does not sign: .*refuses connections/),
  })
  await other.send(10)
  await other.finished()
  expect(await other.score()).toEqual(clean(10))
  await kms.start()
  await account.finished()
  expect(await account.score()).toEqual(clean(50))
  expect((await account.transactions()).every(({ status_reason }) => status_reason === null)).toBe(true)
})

test('loses nothing and sends nothing twice with a throttled key service, wrong signatures and a restart', {
  timeout: deadlineMs,
}, async () => {
  const { kms, rig, account } = await startKeyRig()
  kms.faults.per_second = 5
  await account.send(15)
  await account.finished()
  kms.faults.per_second = Number.POSITIVE_INFINITY
  for (const signature of ['other_key', 'garbage'] as const) {
    kms.faults.signature = signature
    await account.send(5)
    await until('a transaction waits for the key service', async () => {
      return (await account.transactions()).some(({ status_reason }) => status_reason?.includes('not a signature'))
    })
    kms.faults.signature = 'high_s'
  }
  kms.faults.delay_ms = 30
  const sent = account.send(50)
  await sent
  await rig.restart()
  await account.finished()
  expect(await account.score()).toEqual(clean(75))
  const broadcast = rig.proxy.broadcast()
  const known = (await account.transactions()).map(({ hash }): string | null => hash)
  expect(broadcast.filter((hash) => !known.includes(hash))).toEqual([])
})

test('sends nothing of a round whose relayer is paused while the key service signs', {
  timeout: deadlineMs,
}, async () => {
  const { kms, rig, account } = await startKeyRig()
  kms.faults.delay_ms = 1_000
  await account.send(10)
  await until('it signs', async () => Number(kms.calls.Sign) > 1)
  const path = { relayer_id: account.relayer_id }
  await rig.client().patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: true } })
  kms.faults.delay_ms = 0
  await until('it says that it is paused', async () => {
    return (await account.transactions()).some(({ status_reason }) => status_reason?.includes('paused'))
  })
  expect(rig.proxy.broadcast()).toEqual([])
  await rig.client().patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: false } })
  await account.finished()
  expect(await account.score()).toEqual(clean(10))
})

test('stores no signature of a round whose relayer gets a lower cap while the key service signs', {
  timeout: deadlineMs,
}, async () => {
  const { kms, rig, account } = await startKeyRig()
  kms.faults.delay_ms = 1_000
  await account.send(10)
  await until('it signs', async () => Number(kms.calls.Sign) > 1)
  const [client, path] = [rig.client(), { relayer_id: account.relayer_id }]
  const cap = (gasPriceCap: string | null) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { gas_price_cap: gasPriceCap } } })
  await cap('1')
  kms.faults.delay_ms = 0
  await until('all are signed', async () => (await account.transactions()).every(({ hash }) => hash !== null))
  const list = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/attempts'
  const versions = (await account.transactions()).map(({ id: transactionId }) =>
    client.get(list, { path: { ...path, transaction_id: transactionId } }),
  )
  const prices = (await Promise.all(versions)).flatMap(({ data }) => data.map(({ max_fee_per_gas: price }) => price))
  expect(new Set(prices)).toEqual(new Set(['1']))
  await cap(null)
  await account.finished()
  expect(await account.score()).toEqual(clean(10))
})
