import { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerClient, RelayerError } from '../../../client/index.ts'
import { acknowledgeExternal } from '../../support/external-transactions.ts'
import { relayerCommand } from '../../support/relayer-command.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { backUp, restore } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const receiver = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const relayer = '/api/v1/relayers/{relayer_id}'

const received = async ({ chain }: Rig) => BigInt(await chain.rpc('eth_getBalance', [receiver, 'latest']))

/** Accepted, or the refusal. `key`: the Idempotency-Key. */
const send = (rig: Rig, { relayer_id }: Account, value: number, key = `payment-${value}`): Promise<string> =>
  rig
    .client()
    .post(`${relayer}/transactions`, {
      path: { relayer_id },
      header: { 'Idempotency-Key': key },
      body: { to: receiver, value: `${value}` },
    })
    .then(() => 'accepted', told)

const told = (error: unknown) => {
  if (!(error instanceof RelayerError)) throw error
  return `${error.status} ${error.code}`
}

const unknownOf = async (rig: Rig, { relayer_id }: Account) => {
  const { data } = await rig.client().get(`${relayer}/external-transactions`, { path: { relayer_id } })
  return data
}

const externalOf = async (rig: Rig, { relayer_id }: Account) => {
  const { data } = await rig.client().get('/api/v1/problems', { query: { per_page: 1_000 } })
  return data.filter((problem) => problem.kind === 'external_transactions' && problem.relayer_id === relayer_id)
}

const payments = Array.from({ length: 10 }, (_, index) => 1_000 + index)
const paid = BigInt(payments.reduce((sum, value) => sum + value))
const sendAll = async (rig: Rig, account: Account) => {
  const outcomes: string[] = []
  for (const value of payments) outcomes.push(await send(rig, account, value))
  return new Set(outcomes)
}

test.each([
  ['', 1],
  [' that never sent', 0],
])(
  'after a restore of a relayer%s, what was paid after the copy is listed, and is not paid again before that is acknowledged',
  async (_name, before) => {
    const rig = await testRig()
    const account = await rig.addAccount()
    if (before > 0) expect(await send(rig, account, 1)).toBe('accepted')
    await account.finished()
    const start = await received(rig)
    await rig.restart(() => backUp(rig))
    expect(await sendAll(rig, account)).toEqual(new Set(['accepted']))
    await account.finished()
    const hashes = (await account.transactions()).map(({ hash }) => hash).slice(0, payments.length)
    expect((await received(rig)) - start).toBe(paid)

    await rig.restart(() => restore(rig))
    expect(await sendAll(rig, account)).toEqual(new Set(['409 possibly_sent']))
    expect(await send(rig, account, 1_000, 'another-key')).toBe('409 possibly_sent')
    const listed = await unknownOf(rig, account)
    expect(listed.map(({ nonce, hash, to, value }) => ({ nonce, hash, to, value }))).toEqual(
      payments.map((value, index) => ({
        ...{ nonce: before + index, hash: hashes.toReversed()[index], to: receiver, value: `${value}` },
      })),
    )
    expect(await externalOf(rig, account)).toMatchObject([{ severity: 'critical', count: payments.length }])
    expect(await send(rig, account, 2_000)).toBe('accepted')
    await account.finished()
    expect((await received(rig)) - start).toBe(paid + 2_000n)

    // It is remembered, and so is its acknowledgement.
    await rig.restart()
    expect(await send(rig, account, 1_000)).toBe('409 possibly_sent')
    await acknowledgeExternal(rig.client(), account.relayer_id)
    await rig.restart()
    expect([await unknownOf(rig, account), await externalOf(rig, account)]).toEqual([[], []])
    const { data: nonces } = await rig.client().get(`${relayer}/nonce`, { path: { relayer_id: account.relayer_id } })
    expect(nonces.last_external_transaction).toBeNull()
    expect(await send(rig, account, 1_000)).toBe('accepted')
    await account.finished()
    expect((await received(rig)) - start).toBe(paid + 3_000n)
  },
)

test('after a restore, payments that wait in the pool of a node are listed, and not accepted again through the pool of relayers', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const [one, other] = [await rig.addAccount(), await rig.addAccount()]
  const relayerIds = [one.relayer_id, other.relayer_id]
  await rig.client().post('/api/v1/pools', { body: { id: 'payouts', network: 'local', relayer_ids: relayerIds } })
  expect(await send(rig, one, 1)).toBe('accepted')
  await one.finished(rig.chain.mine)
  await rig.restart(() => backUp(rig))
  expect(await send(rig, one, 21)).toBe('accepted')
  const newest = async () => (await one.transactions())[0]
  await until('a node has it', async () => (await newest())?.status === 'submitted')
  const hash = (await newest())?.hash
  await rig.restart(() => restore(rig))
  const byPool = (value: number) =>
    rig
      .client()
      .post('/api/v1/pools/{pool_id}/transactions', {
        path: { pool_id: 'payouts' },
        body: { to: receiver, value: `${value}` },
      })
      .then(() => 'accepted', told)
  expect(await byPool(21)).toBe('409 possibly_sent')
  expect(await send(rig, other, 21)).toBe('409 possibly_sent')
  expect(await unknownOf(rig, one)).toMatchObject([{ nonce: 1, hash, to: receiver, value: '21' }])
  expect(await byPool(22)).toBe('accepted')
})

test('takes no transaction from before its relayer for one of a newer copy', async () => {
  const rig = await testRig()
  const wallet = Wallet.createRandom()
  await rig.chain.setBalance(wallet.address, 10n ** 20n)
  for (let nonce = 0; nonce < 2; nonce += 1) {
    const body = { to: receiver, value: 5n, nonce, gasLimit: 21_000, gasPrice: 10n ** 10n, chainId: 31_337, type: 0 }
    await rig.chain.rpc('eth_sendRawTransaction', [await wallet.signTransaction(body)])
  }
  const counted = () => rig.chain.rpc('eth_getTransactionCount', [wallet.address, 'latest'])
  await until('both are mined', async () => Number(await counted()) === 2)
  const account = await rig.addAccount({ key: wallet.privateKey })
  await rig.restart()
  expect(await send(rig, account, 5)).toBe('accepted')
  // It was noticed, and nothing equal to it is refused.
  expect(await unknownOf(rig, account)).toMatchObject([{ nonce: 1, value: null, data_hash: null }])
})

test.each([
  ['at a nonce beyond the counter', false],
  ['at a nonce that another transaction has got', true],
])(
  'after a restore, a payment that no pool shows at first, and that is mined %s, is listed',
  async (_name, isAssigned) => {
    const rig = await testRig({ chain: { noMining: true } })
    const account = await rig.addAccount()
    expect(await send(rig, account, 1)).toBe('accepted')
    await account.finished(rig.chain.mine)
    await rig.restart(() => backUp(rig))
    expect(await send(rig, account, 21)).toBe('accepted')
    const newest = async () => (await account.transactions())[0]
    await until('a node has it', async () => (await newest())?.status === 'submitted')
    const hash = (await newest())?.hash
    const lost = rig.proxy.broadcastBytes().at(-1)
    await rig.chain.dropAll()
    await rig.restart(() => restore(rig))
    if (isAssigned) {
      expect(await send(rig, account, 22)).toBe('accepted')
      await until('a node has it', async () => (await newest())?.status === 'submitted')
      await rig.chain.dropAll()
    }
    // The comparison at the start finds nothing.
    else expect(await unknownOf(rig, account)).toEqual([])
    await rig.chain.rpc('eth_sendRawTransaction', [lost])
    await rig.chain.mine()
    if (isAssigned)
      await account.finished(async () => {
        rig.clock.passed_ms += 2_000
        await rig.chain.mine()
      })
    rig.clock.passed_ms += 2_000
    expect(await send(rig, account, 21, 'again')).toBe('409 possibly_sent')
    expect(await unknownOf(rig, account)).toMatchObject([{ nonce: 1, hash, to: receiver, value: '21' }])
    expect(await send(rig, account, 23)).toBe('accepted')
  },
)

test('acknowledges what was read: what the list has gained since stays in it, and is not paid again', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const wallet = Wallet.createRandom()
  const account = await rig.addAccount({ key: wallet.privateKey })
  const { relayer_id } = account
  expect(await send(rig, account, 1)).toBe('accepted')
  await account.finished(rig.chain.mine)
  const pays = async (nonce: number, value: number) => {
    const body = { to: receiver, value, nonce, gasLimit: 21_000, gasPrice: 10n ** 10n, chainId: 31_337, type: 0 }
    await rig.chain.rpc('eth_sendRawTransaction', [await wallet.signTransaction(body)])
    await rig.chain.mine()
  }
  await pays(1, 21)
  await rig.restart()
  expect(await send(rig, account, 21)).toBe('409 possibly_sent')
  const sending = rig.client().transactions.send(relayer_id, { to: receiver, value: '21', gas_limit: 21_000 })
  await expect(sending).rejects.toThrow('then POST .../external-transactions/acknowledge')
  const read = await unknownOf(rig, account)
  expect(read).toMatchObject([{ nonce: 1, value: '21' }])
  await pays(2, 22)
  await rig.restart()
  await until('both are listed', async () => (await unknownOf(rig, account))[1]?.hash != null)

  const acknowledge = (client: RelayerClient, nonce: number, hash: string | null) =>
    client.relayers.acknowledgeExternalTransactions(relayer_id, { transactions: [{ nonce, hash }] })
  // As if it was read before its hash was found.
  expect(await acknowledge(rig.client(), 1, null)).toEqual({ acknowledged_count: 0, remaining_count: 2 })
  const { token } = await rig.client().apiKeys.create({ name: 'sender', scopes: ['send', 'read'] })
  const sender = createRelayerClient({ baseUrl: rig.url(), token })
  expect(await acknowledge(sender, 1, read[0]?.hash ?? null).catch(told)).toBe('403 forbidden')

  const cli = relayerCommand({ url: rig.url(), api_key: rig.api_key })
  const compare = (listed: unknown) =>
    cli.run(['reconcile', relayer_id, '--acknowledge-external', '-'], JSON.stringify(listed))
  expect(await compare([])).toMatchObject({ code: 9, err: expect.stringContaining('2 external transactions of') })
  expect(await compare([null])).toMatchObject({ code: 3, err: expect.stringContaining('body/transactions/0/') })
  expect(await compare(read)).toMatchObject({ code: 9, err: expect.stringContaining('1 external transaction') })
  expect(await unknownOf(rig, account)).toMatchObject([{ nonce: 2, to: receiver, value: '22' }])
  expect(await externalOf(rig, account)).toMatchObject([{ count: 1 }])
  expect(await send(rig, account, 22)).toBe('409 possibly_sent')
  expect(await send(rig, account, 21)).toBe('accepted')
  expect(await compare(await cli.json(['external', relayer_id]))).toMatchObject({ code: 0 })
  expect(await compare([])).toMatchObject({ code: 0 })
  expect(await unknownOf(rig, account)).toEqual([])
  await until('the problem has ended', async () => (await externalOf(rig, account)).length === 0)
  const query = { operation: 'acknowledgeExternalTransactions', outcome: 'succeeded' } as const
  const { data: entries } = await rig.client().get('/api/v1/audit', { query })
  expect(entries.map((entry) => [entry.relayer_id, entry.count])).toEqual(Array(3).fill([relayer_id, 1]))
  expect(await send(rig, account, 22)).toBe('accepted')
})
