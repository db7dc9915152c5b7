import { JsonRpcProvider, Wallet } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { Anvil } from '../../support/anvil.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { backUp, restore } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const receiver = `0x${'5d'.repeat(20)}`
const transaction = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const hex = (number: number) => `0x${number.toString(16)}`
const knownKey = ({ chain }: Rig) => chain.accounts[1]?.key as string
const nonceOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id } })).data
const statusOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id } })).data
const firstOf = async (account: Account) => (await account.transactions())[0]
const received = async ({ chain }: Rig, address: string) =>
  BigInt(await chain.rpc('eth_getBalance', [address, 'latest']))
/** One try, without repetition. */
const sendOnce = ({ client }: Rig, { relayer_id }: Account, value: string) =>
  client().post('/api/v1/relayers/{relayer_id}/transactions', { path: { relayer_id }, body: { to: receiver, value } })

/** The account's key in another program. */
function elsewhere(chain: Anvil, key: string) {
  const provider = new JsonRpcProvider(chain.url, chain.chain_id, { staticNetwork: true })
  onTestFinished(() => provider.destroy())
  const wallet = new Wallet(key, provider)
  return async (nonce: number, to = wallet.address, value = 0n) => {
    const fees = { maxFeePerGas: 10n * 10n ** 9n, maxPriorityFeePerGas: 5n * 10n ** 9n }
    return (await wallet.sendTransaction({ to, value, nonce, gasLimit: 21_000, ...fees })).hash
  }
}

test('J1: sends again after a restarted chain was healed, without a restart of the service', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(3)
  await account.finished(rig.chain.mine)
  await rig.chain.restart()
  await rig.chain.setBalance(account.address, 10n ** 24n)
  const refused = await sendOnce(rig, account, '1').catch((error) => error)
  expect(refused).toMatchObject({ status: 503 })
  expect(refused.details[0].message).toContain('The chain was restarted')
  expect(await statusOf(rig, account)).toMatchObject({ system_disabled: true })
  await rig.client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', {
    path: { relayer_id: account.relayer_id },
    body: { chain_restarted: true },
  })
  await sendOnce(rig, account, '2')
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ status: 'confirmed', nonce: 0 })
})

test('J1: recovers by itself after a node lagged and refused the first block', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await account.send(4)
  await account.finished(rig.chain.mine)
  await rig.restart()
  node.lie = async (method, [address, block], truth) => {
    if (method === 'eth_getTransactionCount' && `${address}`.toLowerCase() === account.address && block === 'latest') {
      return hex(Number(await truth()) - 3)
    }
    return method === 'eth_getBlockByNumber' && address === '0x0' ? new Error('pruned history unavailable') : undefined
  }
  const answers = [await sendOnce(rig, account, '1').catch((error) => error)]
  const isRefusedAsDisabled = JSON.stringify(answers[0].details ?? '').includes('disabled')
  expect(isRefusedAsDisabled).toBe((await statusOf(rig, account)).system_disabled)
  node.lie = undefined
  await sendOnce(rig, account, '2')
  await account.finished(rig.chain.mine)
  expect(await statusOf(rig, account)).toMatchObject({ system_disabled: false })
})

test('H1: does not replace another sender’s transaction at the next nonce, until the caller asks for it', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ key: knownKey(rig) })
  const hash = await elsewhere(rig.chain, knownKey(rig))(0, receiver, 5n)
  const { data: sent } = await sendOnce(rig, account, '7')
  await until(
    'it waits',
    async () => (await nonceOf(rig, account)).blocking_transaction?.wait_reason === 'nonce_conflict',
  )
  expect((await firstOf(account))?.status_reason).toContain(hash)
  expect(await nonceOf(rig, account)).toMatchObject({
    chain_pending_nonce: 1,
    last_external_transaction: { nonce: 0, hash },
  })
  expect((await firstOf(account))?.hash).toBeNull()
  await account.finished(rig.chain.mine)
  expect(await received(rig, receiver)).toBe(12n)
  expect((await account.transactions()).map(({ id, status, nonce }) => [id, status, nonce])).toEqual([
    [sent.id, 'confirmed', 1],
  ])

  // With prices a replacement is the caller's word.
  const other = `0x${'5e'.repeat(20)}`
  await elsewhere(rig.chain, knownKey(rig))(2, other, 5n)
  const { data: second } = await sendOnce(rig, account, '9')
  await until(
    'it waits',
    async () => (await nonceOf(rig, account)).blocking_transaction?.wait_reason === 'nonce_conflict',
  )
  const path = { relayer_id: account.relayer_id, transaction_id: second.id }
  const { data: explained } = await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path })
  const [advice] = explained.suggestions.filter(({ operation }) => operation === 'speedUpTransaction')
  const prices = { max_fee_per_gas: `${12n * 10n ** 9n}`, max_priority_fee_per_gas: `${6n * 10n ** 9n}` }
  await rig.client().post(`${transaction}/speed-up`, { path, body: { ...advice?.body, ...prices } })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ status: 'confirmed', nonce: 2 })
  expect(await received(rig, other)).toBe(0n)
})

test('fills a nonce that a reorganization took from somebody else, when the only node has denied it for an hour', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  await rig.client().patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { required_confirmations: 3 },
  })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ key: knownKey(rig), rpc_urls: [node.url] })
  const snapshot = await rig.chain.rpc('evm_snapshot', [])
  await elsewhere(rig.chain, knownKey(rig))(0)
  await rig.chain.mine()
  await sendOnce(rig, account, '7')
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  expect(await firstOf(account)).toMatchObject({ nonce: 1 })
  await rig.chain.rpc('evm_revert', [snapshot])
  const before = node.counts.eth_sendRawTransaction ?? 0
  await rig.chain.mine(4)
  // It closes gaps before it sends again what the node has lost.
  await until('it is sent again', () => (node.counts.eth_sendRawTransaction ?? 0) > before)
  rig.clock.passed_ms += 3_600_000
  // No new block reminds the service of it.
  await until('the gap is filled', async () => (await account.transactions()).some(({ nonce }) => nonce === 0))
  await account.finished(rig.chain.mine)
  expect((await account.transactions()).map(({ nonce, status }) => [nonce, status])).toEqual([
    [0, 'canceled'],
    [1, 'confirmed'],
  ])
})

test('C3: does not take an equal transaction of another sender for its own', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ key: knownKey(rig) })
  const { data: sent } = await sendOnce(rig, account, '11')
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await rig.chain.dropAll()
  // The same receiver, value, data and gas at other prices.
  const hash = await elsewhere(rig.chain, knownKey(rig))(0, receiver, 11n)
  await rig.chain.mine()
  await account.finished(rig.chain.mine)
  expect(await received(rig, receiver)).toBe(22n)
  const row = await firstOf(account)
  expect(row).toMatchObject({ id: sent.id, status: 'confirmed', nonce: 1 })
  expect(row?.hash).not.toBe(hash)
  expect((await nonceOf(rig, account)).last_external_transaction).toMatchObject({ nonce: 0, hash })
})

test('H4: confirms nothing while two of three endpoints are silent and the third lies', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain), await testLiar(rig.chain)]
  const [liar, ...others] = nodes
  const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
  const [{ id = '' } = {}] = await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await rig.chain.dropAll()
  for (const node of others) node.lie = () => new Error('Service unavailable')
  const { hash } = await rig.chain.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
  if (liar) {
    liar.lie = (method, params) => {
      if (method === 'eth_getTransactionCount' && `${params[0]}`.toLowerCase() === account.address) return '0x1'
      if (method !== 'eth_getTransactionReceipt') return undefined
      return { transactionHash: params[0], blockNumber: '0x0', blockHash: hash, status: '0x1' }
    }
  }
  const isUnproven = async () => (await firstOf(account))?.status_reason?.includes('more than half of all') ?? false
  await until('it says what is missing', isUnproven, rig.chain.mine)
  expect((await firstOf(account))?.status).not.toBe('confirmed')
  for (const node of nodes) node.lie = undefined
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ id, status: 'confirmed' })
  expect(await account.latest()).toBe(1)
})

test('H5: broadcasts again what the node has lost, on a chain that makes blocks for transactions only', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(1, { speed: 'fastest' })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const hash = (await firstOf(account))?.hash
  await rig.chain.dropAll()
  const isInPool = async () => (await rig.chain.rpc('eth_getTransactionByHash', [hash])) !== null
  expect(await isInPool()).toBe(false)
  // The time of its tier passes, and no block.
  rig.clock.passed_ms += 16_000
  await until('the node has it again', isInPool)
  await account.finished(rig.chain.mine)
})

test('M1: after an older copy of the database is started, no pending payment of the newer one is replaced', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await sendOnce(rig, account, '1')
  await account.finished(rig.chain.mine)
  await rig.restart(() => backUp(rig))
  const { data: acknowledged } = await sendOnce(rig, account, '21')
  await until('a node has it', async () => (await firstOf(account))?.id === acknowledged.id)
  await until('it is sent', async () => (await firstOf(account))?.status === 'submitted')
  const hash = (await firstOf(account))?.hash
  await rig.restart(() => restore(rig))
  expect(await nonceOf(rig, account)).toMatchObject({ status: 'chain_ahead', next_nonce: 1, chain_pending_nonce: 2 })
  await until('it is noticed', async () => (await nonceOf(rig, account)).last_external_transaction?.hash === hash)
  await sendOnce(rig, account, '23')
  await until(
    'it waits',
    async () => (await nonceOf(rig, account)).blocking_transaction?.wait_reason === 'nonce_conflict',
  )
  await account.finished(rig.chain.mine)
  // 1, the payment of the newer copy, and the one after it.
  expect(await received(rig, receiver)).toBe(1n + 21n + 23n)
})
