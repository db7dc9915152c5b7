import { expect, onTestFinished, test } from 'vitest'
import { startDatabaseProxy } from '../../support/database-proxy.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { newDatabase } from '../../support/postgres.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const receiver = `0x${'5f'.repeat(20)}`

/** A service whose connections to PostgreSQL can be cut. */
async function start() {
  const database = await newDatabase()
  onTestFinished(database.drop)
  const proxy = await startDatabaseProxy(database.url)
  onTestFinished(proxy.stop)
  const rig = await testRig({ chain: { noMining: true }, settings: { DATABASE_URL: proxy.url } })
  const account = await rig.addAccount()
  await account.send(1)
  await account.finished(rig.chain.mine)
  const accepted = async () => (await account.transactions()).map(({ value }) => value)
  const heal = async () => {
    proxy.closeAfter(Number.POSITIVE_INFINITY)
    const isBack = () =>
      accepted().then(
        () => true,
        () => false,
      )
    await proxy.set('open')
    await until('the database is back', isBack, () => proxy.set('open'))
  }
  return { rig, account, proxy, accepted, heal }
}

test('C1: JSON-RPC never says that an accepted transaction was not accepted, wherever the database is cut off', async () => {
  const { rig, account, proxy, accepted, heal } = await start()
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const codes: number[] = []
  for (let messages = 1; messages <= 28; messages += 3) {
    const value = 1_000 + messages
    proxy.closeAfter(messages)
    const { result, error } = await rpc.call('eth_sendTransaction', [
      { from: account.address, to: receiver, value: `0x${value.toString(16)}`, gas: '0x5208' },
    ])
    await heal()
    if (error) codes.push(error.code)
    const isAccepted = (await accepted()).includes(`${value}`)
    // "Outcome open" is the only error after the commit; without a commit there is no hash.
    if (isAccepted && error) expect([error.code, error.message]).toEqual([-32_002, expect.any(String)])
    if (result) expect(isAccepted).toBe(true)
  }
  expect(codes, 'some were cut before the commit').toContain(4_900)
  await account.finished(rig.chain.mine)
})

test('C1: a lost answer to COMMIT is an unknown outcome in every interface', async () => {
  const { rig, account, proxy, heal } = await start()
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  /** Background work commits too: the answer that is lost is that of the transaction's own commit. */
  const whenLost = async (value: number, send: () => Promise<unknown>) => {
    proxy.loseCommit(`${value}`)
    const failure = await send()
    await heal()
    return failure
  }
  const byRpc = await whenLost(123_456_789_001, async () => {
    const call = { from: account.address, to: receiver, value: `0x${(123_456_789_001).toString(16)}`, gas: '0x5208' }
    return (await rpc.call('eth_sendTransaction', [call])).error
  })
  expect(byRpc).toMatchObject({ code: -32_002, data: { code: 'outcome_unknown' } })
  const byHttp = await whenLost(123_456_789_002, () =>
    rig
      .client()
      .post('/api/v1/relayers/{relayer_id}/transactions', {
        path: { relayer_id: account.relayer_id },
        body: { to: receiver, value: '123456789002', gas_limit: 21_000 },
      })
      .then(
        () => undefined,
        (error) => error,
      ),
  )
  expect(byHttp).toMatchObject({ status: 503, code: 'outcome_unknown', retryAfter: undefined })
  await account.finished(rig.chain.mine)
})

test('C1: HTTP answers 201 for an accepted transaction, though the database goes down while the caller waits', async () => {
  const { rig, account, proxy, heal } = await start()
  const sent = fetch(`${rig.url()}/api/v1/relayers/${account.relayer_id}/transactions?wait=confirmed&wait_seconds=5`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${rig.api_key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ to: receiver, value: '9', gas_limit: 21_000 }),
  })
  const isInPool = async () => {
    const pool = await rig.chain.rpc<{ pending: string }>('txpool_status')
    return Number(pool.pending) > 0
  }
  await until('a node has it', isInPool)
  await proxy.set('closed')
  const response = await sent
  expect(response.status).toBe(201)
  expect(await response.json()).toMatchObject({ success: true, data: { value: '9' } })
  await heal()
  await account.finished(rig.chain.mine)
})
