import { expect, onTestFinished, test } from 'vitest'
import { startAnvil } from '../../support/anvil.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const network = { network_id: 'evm:local' }
const firstOf = async (account: Account) => (await account.transactions())[0]
const statusOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id } })).data

test('a receipt whose block number is no number is no receipt', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  const [{ id = '' } = {}] = await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const { hash } = await rig.chain.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
  const numbers = ['0x', '0xzz', 'latest', '-0x1', '1e3', {}, true, `0x${'f'.repeat(40)}`]
  let shown = 0
  node.lie = (method, [asked]) => {
    if (method !== 'eth_getTransactionReceipt') return undefined
    shown += 1
    return { transactionHash: asked, blockNumber: numbers[shown % numbers.length], blockHash: hash, status: '0x1' }
  }
  // The transaction is in no block.
  await rig.chain.dropAll()
  await until(
    'each was shown twice',
    () => shown > 2 * numbers.length,
    async () => {
      rig.clock.passed_ms += 5_000
      await rig.chain.mine()
      expect(await firstOf(account)).toMatchObject({ status: 'submitted', receipt: null })
    },
  )
  node.lie = undefined
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  expect(await firstOf(account)).toMatchObject({
    id,
    status: 'confirmed',
    receipt: { block_number: expect.any(Number) },
  })
})

test('a newest block whose number is no number is no answer', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  let shown = 0
  node.lie = async (method, [block], truth) => {
    if (method !== 'eth_getBlockByNumber' || block !== 'latest') return undefined
    shown += 1
    return { ...((await truth()) as object), number: '0x' }
  }
  await until(
    'it was shown',
    () => shown > 5,
    async () => {
      rig.clock.passed_ms += 5_000
      await rig.chain.mine()
    },
  )
  const { status = '' } = (await firstOf(account)) ?? {}
  expect(['submitted', 'mined']).toContain(status)
  node.lie = undefined
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  expect(await firstOf(account)).toMatchObject({ status: 'confirmed', receipt: { block_number: expect.any(Number) } })
})

test('a newest block whose number is no number counts as no confirmation', async () => {
  const rig = await testRig({ chain: { noMining: true }, confirmations: 12 })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  node.lie = async (method, [block], truth) =>
    method === 'eth_getBlockByNumber' && block === 'latest'
      ? { ...((await truth()) as object), number: '0x' }
      : undefined
  await rig.chain.mine()
  const looks = () => node.counts.eth_getBlockByNumber ?? 0
  const before = looks()
  const isConfirmed = async () => (await firstOf(account))?.status === 'confirmed'
  await until(
    'it has looked, or it is confirmed',
    async () => looks() >= before + 6 || (await isConfirmed()),
    () => {
      rig.clock.passed_ms += 5_000
    },
  )
  expect(await isConfirmed()).toBe(false)
  node.lie = undefined
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  expect(await isConfirmed()).toBe(true)
})

test.each([
  ['of another chain id', ['--chain-id', '31338']],
  ['with the same chain id', []],
])('transactions wait while the URLs of their network lead to a chain %s, and are sent afterwards', async (_, args) => {
  const rig = await testRig({ chain: { noMining: true } })
  const other = await startAnvil({ noMining: true, args })
  onTestFinished(() => other.stop())
  const account = await rig.addAccount()
  await other.setBalance(account.address, 10n ** 24n)
  await account.send(2)
  await account.finished(rig.chain.mine)
  const waiting = await account.send(2)
  await until('a node has them', async () => (await firstOf(account))?.status === 'submitted')
  // One more is accepted and not signed.
  await rig.proxy.setFault({ kind: 'http_500', methods: ['eth_sendRawTransaction'] })
  waiting.push(...(await account.send(1)))
  const { data: before } = await rig.client().get('/api/v1/networks/{network_id}', { path: network })
  expect(before.rpc_urls).toHaveLength(1)

  await rig.client().patch('/api/v1/networks/{network_id}', { path: network, body: { rpc_urls: [other.url] } })
  await until(
    'the relayer is disabled',
    async () => (await statusOf(rig, account)).system_disabled,
    async () => {
      rig.clock.passed_ms += 2_000
      await other.mine()
    },
  )
  const pool = await other.rpc<{ pending: string; queued: string }>('txpool_status')
  expect([Number(pool.pending), Number(pool.queued)]).toEqual([0, 0])
  expect(Number(await other.rpc('eth_getTransactionCount', [account.address, 'latest']))).toBe(0)
  const rows = async () => (await account.transactions()).filter(({ id }) => waiting.some((its) => its.id === id))
  expect((await rows()).map(({ nonce }) => nonce)).toEqual([4, 3, 2])
  for (const { status } of await rows()) expect(['pending', 'sent', 'submitted']).toContain(status)

  await rig.proxy.setFault(undefined)
  await rig.client().patch('/api/v1/networks/{network_id}', { path: network, body: { rpc_urls: [rig.proxy.url] } })
  await account.finished(async () => {
    rig.clock.passed_ms += 2_000
    await rig.chain.mine()
  })
  expect((await rows()).map(({ status, nonce }) => [status, nonce])).toEqual([
    ['confirmed', 4],
    ['confirmed', 3],
    ['confirmed', 2],
  ])
  expect(await statusOf(rig, account)).toMatchObject({ system_disabled: false })
})

/** A chain with the same id, on which the account has as many transactions, and funds. */
async function otherChain({ address }: Account, count: number) {
  const other = await startAnvil({ noMining: true })
  onTestFinished(() => other.stop())
  await other.setBalance(address, 10n ** 24n)
  await other.setNonce(address, count)
  const received = async () => {
    const { pending, queued } = await other.rpc<{ pending: string; queued: string }>('txpool_status')
    return Number(pending) + Number(queued)
  }
  return { url: other.url, received }
}

/** Resolves to how many transactions the other chain has got when the relayer is disabled, and goes back to the first chain. */
async function visit(rig: Rig, account: Account, other: Awaited<ReturnType<typeof otherChain>>, meanwhile = () => {}) {
  const lead = (url: string) =>
    rig.client().patch('/api/v1/networks/{network_id}', { path: network, body: { rpc_urls: [url] } })
  await lead(other.url)
  meanwhile()
  await until(
    'the relayer is disabled, or the other chain has got something',
    async () => (await statusOf(rig, account)).system_disabled || (await other.received()) > 0,
    () => {
      rig.clock.passed_ms += 2_000
    },
  )
  const received = await other.received()
  await lead(rig.proxy.url)
  await account.finished(async () => {
    rig.clock.passed_ms += 2_000
    await rig.chain.mine()
  })
  return received
}

test('transactions are not sent to another chain on which the account has as many transactions', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(2)
  await account.finished(rig.chain.mine)
  await account.send(2)
  await until('a node has them', async () => (await firstOf(account))?.status === 'submitted')
  expect(await visit(rig, account, await otherChain(account, 2))).toBe(0)
  expect((await account.transactions()).map(({ status }) => status)).toEqual(Array(4).fill('confirmed'))
})

test('a transaction that was accepted before the URLs changed is not sent to a chain that was not recognized', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(1)
  await account.finished(rig.chain.mine)
  await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const other = await otherChain(account, 2)
  // A tick of the sender has read the former chain, and waits for a receipt while the next transaction is accepted.
  const held = Promise.withResolvers<void>()
  let isHeld = false
  rig.proxy.setLiar(async ({ method }) => {
    if (method !== 'eth_getTransactionReceipt') return undefined
    isHeld = true
    await held.promise
    return undefined
  })
  await rig.chain.mine()
  await until('a receipt is asked for', () => isHeld)
  await account.send(1)
  const received = await visit(rig, account, other, () => {
    rig.proxy.setLiar(undefined)
    held.resolve()
  })
  expect(received).toBe(0)
  expect((await account.transactions()).map(({ status }) => status)).toEqual(Array(3).fill('confirmed'))
})
