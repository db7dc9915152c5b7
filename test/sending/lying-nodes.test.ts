import { keccak256, Wallet } from 'ethers'
import { expect, test } from 'vitest'
import type { RelayerPoliciesInput } from '../../client/index.ts'
import { clean, minedBy } from '../support/ledger.ts'
import { type Liar, type Lie, testLiar } from '../support/liar.ts'
import type { Account, Rig } from '../support/rig.ts'
import { columnOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const ether = 10n ** 18n
const receiver = `0x${'7e'.repeat(20)}`
const hex = (number: number) => `0x${number.toString(16)}`

const nonceOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id } })).data

const heal = async ({ client }: Rig, { relayer_id }: Account, body: { next_nonce?: number } = {}) =>
  (await client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path: { relayer_id }, body })).data

const statusOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id } })).data

const received = async ({ chain }: Rig) => BigInt(await chain.rpc('eth_getBalance', [receiver, 'latest']))

/** A transfer with the account as sender and an invalid signature. */
const unsignedListing = (from: string, nonce: number) => ({
  hash: `0x${'ab'.repeat(32)}`,
  type: '0x2',
  chainId: '0x7a69',
  from,
  to: receiver,
  nonce: hex(nonce),
  value: '0x1',
  input: '0x',
  gas: '0x5208',
  gasPrice: '0x3b9aca00',
  maxFeePerGas: '0x3b9aca00',
  maxPriorityFeePerGas: '0x1',
  accessList: [],
  r: `0x${'11'.repeat(32)}`,
  s: `0x${'22'.repeat(32)}`,
  v: '0x0',
})

/**
 * A node that reports a transaction count that is too high by one, knows no receipt, and lists forged transactions at each nonce of the
 * account in blocks far below the newest one.
 */
const takingNonces =
  (address: string, isAbout: (from: string) => boolean = (from) => from.toLowerCase() === address): Lie =>
  async (method, params, truth) => {
    if (method === 'eth_getTransactionCount' && isAbout(`${params[0]}`)) {
      const isOld = params[1] === '0x0'
      return isOld ? '0x0' : hex(Number(await truth()) + 1)
    }
    if (method === 'eth_getTransactionReceipt') return null
    if (method === 'eth_getBlockByNumber' && params[1] === true) {
      const block = (await truth()) as { transactions: unknown[] }
      return { ...block, transactions: Array.from({ length: 50 }, (_, nonce) => unsignedListing(address, nonce)) }
    }
    return undefined
  }

/** Shows one block more than there is: a count is read again only when there is a new block. */
const oneBlockAhead: Lie = async (method, [block], truth) => {
  if (method !== 'eth_getBlockByNumber' || block !== 'latest') return undefined
  const { number, hash } = (await truth()) as { number: string; hash: string }
  return { number: hex(Number(number) + 1), hash: `0x${'0d'.repeat(32)}`, parentHash: hash }
}

const asked = (liar: Liar, method: string) => liar.counts[method] ?? 0

test.each(['before it is signed', 'once a node has it'])(
  'pays nothing twice when a node lists an unsigned rival at a nonce, %s',
  async (when) => {
    const rig = await testRig({ chain: { noMining: true } })
    const liar = await testLiar(rig.chain)
    const account = await rig.addAccount({ rpc_urls: [liar.url], policies: { max_value_per_day: `${ether}` } })
    await rig.chain.mine(20)
    const row = async () => (await account.transactions())[0]
    const taking = takingNonces(account.address)
    const lie: Lie = async (method, params, truth) => {
      const isState = ['eth_getTransactionCount', 'eth_getBalance'].includes(method)
      // It answers about the last block where it is asked about one that does not exist.
      const shown = () => truth().catch(() => rig.chain.rpc(method, [params[0], 'latest']))
      const said = await taking(method, params, isState ? shown : truth)
      if (said !== undefined) return said
      return method === 'eth_getBalance' ? shown() : oneBlockAhead(method, params, truth)
    }
    if (when === 'before it is signed') liar.lie = lie
    await rig.client().post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id: account.relayer_id },
      body: { to: receiver, value: `${ether}` },
    })
    if (!liar.lie) await until('a node has it', async () => (await row())?.status === 'submitted')
    liar.lie = lie
    await until(
      'it says that its nonce is not certain',
      async () => (await row())?.status_reason?.startsWith('Waits: the nodes say that nonce') ?? false,
    )
    const before = asked(liar, 'eth_getBlockByNumber')
    await until('the node lied on', () => asked(liar, 'eth_getBlockByNumber') >= before + 15)
    liar.lie = undefined
    await account.finished(rig.chain.mine)
    expect(await row()).toMatchObject({ status: 'confirmed', nonce: 0, status_reason: null })
    expect(await minedBy(rig.chain, account.address)).toHaveLength(1)
    expect(await received(rig)).toBe(ether)
  },
)

test('puts each accepted transaction on the chain once with one liar among three nodes', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain), await testLiar(rig.chain)]
  const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
  await rig.chain.mine(20)
  const [liar] = nodes as [Liar]
  liar.lie = takingNonces(account.address)
  let sent = 0
  // Calls go to random nodes: sends until the lying node was called often enough.
  while (sent < 40 || asked(liar, 'eth_getTransactionCount') < 3) {
    await account.send(10)
    await rig.chain.mine()
    sent += 10
  }
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(sent))
})

/** A lying node that receives all calls, and two honest nodes that are called only when a majority is needed. */
async function outnumberedLiar({
  confirmations = 1,
  policies = {},
}: {
  confirmations?: number
  policies?: RelayerPoliciesInput
} = {}) {
  const rig = await testRig({ chain: { noMining: true }, confirmations })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain), await testLiar(rig.chain)]
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: index === 0 ? 100 : 0 }))
  const account = await rig.addAccount({ rpc_urls: rpcUrls, policies })
  await rig.chain.mine(20)
  return { rig, account, liar: nodes[0] as Liar }
}

test('continues unsigned transactions when two honest nodes outvote a liar that is the only node asked', async () => {
  const { rig, account, liar } = await outnumberedLiar()
  liar.lie = takingNonces(account.address)
  await account.send(3)
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(3))
})

test('outvotes a liar that withholds transactions and reports their nonces as used', async () => {
  const { rig, account, liar } = await outnumberedLiar()
  const taking = takingNonces(account.address)
  liar.lie = (method, params, truth) =>
    method === 'eth_sendRawTransaction' ? keccak256(`${params[0]}`) : taking(method, params, truth)
  await account.send(3)
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(3))
})

test('confirms nothing early when one node of three shows a block far ahead', async () => {
  const { rig, account, liar } = await outnumberedLiar({ confirmations: 5 })
  liar.lie = async (method, [block], truth) =>
    method === 'eth_getBlockByNumber' && block === 'latest'
      ? { ...((await truth()) as object), number: hex(10 ** 9) }
      : undefined
  await account.send(1)
  const shown = async () => (await account.transactions())[0]
  await until('a node has it', async () => (await shown())?.status === 'submitted')
  await rig.chain.mine()
  await until('it is in a block', async () => (await shown())?.receipt !== null)
  const before = asked(liar, 'eth_getTransactionReceipt')
  await until('it was looked up again', () => asked(liar, 'eth_getTransactionReceipt') > before + 3)
  expect(await shown()).toMatchObject({ status: 'mined', confirmed_at: null })
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(1))
})

test('does not believe one node of three that shows a reverted receipt', async () => {
  const { rig, account, liar } = await outnumberedLiar()
  liar.lie = async (method, _, truth) => {
    const receipt = method === 'eth_getTransactionReceipt' ? ((await truth()) as object | null) : null
    return receipt ? { ...receipt, status: '0x0' } : undefined
  }
  await account.send(3)
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(3))
})

test.each([
  { l1Fee: `0x${(10n ** 24n).toString(16)}` },
  { l1Fee: `0x${'f'.repeat(64)}` },
  { effectiveGasPrice: `0x${'f'.repeat(64)}` },
  { gasUsed: `0x${'f'.repeat(64)}` },
])('does not believe one node of three that shows a fee that nobody paid: %j', async (fee) => {
  const { rig, account, liar } = await outnumberedLiar({ confirmations: 3, policies: { max_fee_per_day: `${ether}` } })
  liar.lie = async (method, _, truth) => {
    const receipt = method === 'eth_getTransactionReceipt' ? ((await truth()) as object | null) : null
    return receipt ? { ...receipt, ...fee } : undefined
  }
  await account.send(1)
  const becomes = (status: string) =>
    until(`it is ${status}`, async () => (await account.transactions())[0]?.status === status)
  await becomes('submitted')
  await rig.chain.mine()
  await becomes('mined')
  await account.finished(rig.chain.mine)
  const [row] = await account.transactions()
  const { fee: shown, l1_fee, gas_used, effective_gas_price: price } = row?.receipt ?? {}
  expect({ shown, l1_fee }).toEqual({ shown: `${BigInt(gas_used ?? 0) * BigInt(price ?? 0)}`, l1_fee: null })
  await account.send(1)
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(2))
})

test.each(['eth_getTransactionReceipt', 'every method'])(
  'finishes transactions after one node of three showed their blocks far ahead for a while, by %s',
  async (methods) => {
    const { rig, account, liar } = await outnumberedLiar({ confirmations: 2 })
    let lies = 0
    liar.lie = async (method, [block], truth) => {
      if (method === 'eth_getBlockByNumber' && block === 'latest' && methods === 'every method')
        return { ...((await truth()) as object), number: hex(1_000_500) }
      if (method !== 'eth_getTransactionReceipt') return undefined
      const receipt = (await truth()) as { blockNumber: string } | null
      if (receipt) lies += 1
      return receipt && { ...receipt, blockNumber: hex(Number(receipt.blockNumber) + 1_000_000) }
    }
    await account.send(3)
    await until('the node lied', () => lies >= 5, rig.chain.mine)
    liar.lie = undefined
    await account.finished(rig.chain.mine)
    expect(await account.score()).toEqual(clean(3))
  },
)

test('believes no single node about the block and the contract of a final transaction, and leaves it final', async () => {
  const { rig, account, liar } = await outnumberedLiar({ confirmations: 2 })
  liar.lie = async (method, _, truth) => {
    const receipt = method === 'eth_getTransactionReceipt' ? ((await truth()) as { blockNumber: string } | null) : null
    return receipt
      ? { ...receipt, blockNumber: hex(Number(receipt.blockNumber) - 1), contractAddress: receiver, logs: [1] }
      : undefined
  }
  await rig.client().post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: account.relayer_id },
    body: { data: '0x600160005360016000f3', gas_limit: 200_000 },
  })
  await account.finished(rig.chain.mine)
  const first = async () => (await account.transactions()).at(-1)
  const deployed = await first()
  const truth = await rig.chain.rpc<{ blockNumber: string; contractAddress: string }>('eth_getTransactionReceipt', [
    deployed?.hash,
  ])
  expect(deployed?.receipt).toMatchObject({
    ...{
      block_number: Number(truth.blockNumber),
      contract_address: truth.contractAddress.toLowerCase(),
      logs_count: 0,
    },
  })
  // A restart looks at the last blocks again.
  await rig.restart()
  await account.send(1)
  await account.finished(rig.chain.mine)
  expect(await first()).toEqual(deployed)
})

test('does not believe one node of three that shows a receipt of a transaction in no block', async () => {
  const { rig, account, liar } = await outnumberedLiar()
  const { hash } = await rig.chain.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x3', false])
  await account.send(1)
  const shown = async () => (await account.transactions())[0]
  await until('it is with a node', async () => (await shown())?.status === 'submitted')
  liar.lie = async (method, params, truth) => {
    if (method === 'eth_getTransactionCount') return hex(Number(await truth()) + 1)
    if (method !== 'eth_getTransactionReceipt') return oneBlockAhead(method, params, truth)
    return { transactionHash: params[0], blockNumber: '0x3', blockHash: hash, status: '0x1' }
  }
  await until('it says that the endpoints disagree', async () => /disagree/.test((await shown())?.status_reason ?? ''))
  expect(await shown()).toMatchObject({ status: 'submitted', confirmed_at: null })
  await account.finished(rig.chain.mine)
  expect((await shown())?.receipt?.block_number).toBeGreaterThan(20)
  expect(await account.score()).toEqual(clean(1))
})

test('does not believe one node of three that shows another first block', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain), await testLiar(rig.chain)]
  const [liar] = nodes as [Liar]
  liar.lie = async (method, [block], truth) =>
    method === 'eth_getBlockByNumber' && block === '0x0'
      ? { ...((await truth()) as object), hash: `0x${'0b'.repeat(32)}` }
      : undefined
  // Calls go to random nodes: of ten accounts, at least one would call the lying node.
  for (let index = 0; index < 10; index += 1) {
    const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
    await account.send(1)
  }
  const stored = () => columnOf(rig, 'SELECT DISTINCT genesis_hash FROM accounts')
  await until('each account has its chain', async () => !(await stored()).includes(null), rig.chain.mine)
  const { hash } = await rig.chain.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
  expect(await stored()).toEqual([hash])
})

test('does not disable a relayer after the only node showed a false first block once', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const liar = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [liar.url] })
  liar.lie = async (method, [block], truth) =>
    method === 'eth_getBlockByNumber' && block === '0x0'
      ? { ...((await truth()) as object), hash: `0x${'0b'.repeat(32)}` }
      : undefined
  await account.send(1)
  await account.finished(rig.chain.mine)
  // On a restarted chain the transaction count decreases: the first block is compared, and then our own transaction.
  let compared = 0
  liar.lie = (method, [subject]) => {
    if (method === 'eth_getBlockByNumber' && subject === '0x0') compared += 1
    return method === 'eth_getTransactionCount' && `${subject}`.toLowerCase() === account.address ? '0x0' : undefined
  }
  const sent = account.send(1)
  await until('the true first block is compared', () => compared > 1, rig.chain.mine)
  expect(await statusOf(rig, account)).toMatchObject({ system_disabled: false })
  liar.lie = undefined
  await sent
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(2))
})

test.each([3_000, 2 ** 53])(
  'neither moves the counter nor signs an unrequested payment at a reported transaction count of %i',
  async (count) => {
    const rig = await testRig({ chain: { noMining: true } })
    const liar = await testLiar(rig.chain)
    const account = await rig.addAccount({ rpc_urls: [liar.url] })
    await account.send(2)
    await account.finished(rig.chain.mine)
    liar.lie = (method, [address]) =>
      method === 'eth_getTransactionCount' && `${address}`.toLowerCase() === account.address ? hex(count) : undefined
    const accepted = account.send(1)
    if (count === 3_000) {
      await until('it is disabled', async () => (await statusOf(rig, account)).system_disabled, rig.chain.mine)
      const disabledReason = expect.stringContaining('The nodes count 3000')
      expect(await statusOf(rig, account)).toMatchObject({ disabled_reason: disabledReason })
    } else {
      const before = asked(liar, 'eth_getTransactionCount')
      await until('the node lied on', () => asked(liar, 'eth_getTransactionCount') >= before + 4)
    }
    expect((await nonceOf(rig, account)).next_nonce).toBeLessThan(4)
    liar.lie = undefined
    await accepted
    await account.finished(rig.chain.mine)
    expect(await nonceOf(rig, account)).toMatchObject({ status: 'in_step', next_nonce: 3, chain_latest_nonce: 3 })
    expect(await account.score()).toEqual(clean(3))
  },
)

test('does not believe one node about an imported key’s history that no node shows, and accepts the operator’s count', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await rig.chain.setNonce(account.address, 5_000)
  const [sent] = await account.send(1)
  expect(sent?.nonce).toBe(0)
  await until('it is disabled', async () => (await statusOf(rig, account)).system_disabled, rig.chain.mine)
  expect(await nonceOf(rig, account)).toMatchObject({ status: 'chain_ahead', next_nonce: 1 })
  const refused = (text: string) => ({ status: 409, details: [{ message: expect.stringContaining(text) }] })
  await expect(heal(rig, account)).rejects.toMatchObject(refused('is given the count from a trusted source'))
  await expect(heal(rig, account, { next_nonce: 5_001 })).rejects.toMatchObject(refused('fewer than next_nonce (5001)'))
  await expect(heal(rig, account, { next_nonce: 4_935 })).rejects.toMatchObject(refused('at most 64 below it'))
  await expect(heal(rig, account, { next_nonce: 0 })).rejects.toMatchObject(refused('assigned all nonces below 1'))
  expect(await nonceOf(rig, account)).toMatchObject({ next_nonce: 1 })
  expect(await heal(rig, account, { next_nonce: 5_000 })).toMatchObject({
    next_nonce: 5_001,
    chain_latest_nonce: 5_000,
    status: 'in_step',
  })
  await account.finished(rig.chain.mine)
  expect(await account.transactions()).toMatchObject([{ nonce: 5_000, status: 'confirmed' }])
})

test('gives an accepted transaction no new nonce by heal because the only node reports its nonce as used', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const liar = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [liar.url] })
  liar.lie = (method, [address]) =>
    method === 'eth_getTransactionCount' && `${address}`.toLowerCase() === account.address ? '0x1' : undefined
  await account.send(1)
  const row = async () => (await account.transactions())[0]
  await until('it waits', async () => (await row())?.status_reason?.startsWith('Waits: the nodes say') ?? false)
  expect(await heal(rig, account)).toMatchObject({ next_nonce: 1 })
  liar.lie = undefined
  await account.finished(rig.chain.mine)
  expect(await row()).toMatchObject({ status: 'confirmed', nonce: 0 })
  expect(await account.score()).toEqual(clean(1))
})

test('follows the count of two nodes that agree for an imported key, by heal', async () => {
  const rig = await testRig({ chain: { noMining: true }, proxies: 2 })
  const account = await rig.addAccount()
  await rig.chain.setNonce(account.address, 5_000)
  expect(await heal(rig, account)).toMatchObject({ next_nonce: 5_000, status: 'in_step' })
})

test('follows two nodes that agree on a small step for three blocks', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain)]
  const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
  await rig.chain.setNonce(account.address, 10)
  await account.send(1)
  await account.finished(rig.chain.mine)
  expect(await account.transactions()).toMatchObject([{ nonce: 10, status: 'confirmed' }])
})

test.each(['has pruned it', 'does not answer'])(
  'ends a transaction whose nonce was used elsewhere, and continues others, when the node asked for its history %s',
  async (what) => {
    const rig = await testRig({ chain: { noMining: true } })
    const { key = '' } = rig.chain.accounts[1] ?? {}
    const liar = await testLiar(rig.chain)
    const account = await rig.addAccount({ key, rpc_urls: [liar.url] })
    await account.send(1)
    const row = async () => (await account.transactions()).at(-1)
    await until('a node has it', async () => (await row())?.status === 'submitted')
    liar.lie = async (method, [, block]) => {
      if (method !== 'eth_getTransactionCount' || block === 'latest' || block === 'pending') return undefined
      if (block === (await rig.chain.rpc('eth_blockNumber'))) return undefined
      return what === 'has pruned it' ? new Error('missing trie node 1234 (path )') : new Promise(() => {})
    }
    const fees = { type: 2, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n, gasLimit: 21_000n }
    const rival = { ...fees, chainId: rig.chain.chain_id, nonce: 0, to: receiver }
    const hash = await rig.chain.rpc<string>('eth_sendRawTransaction', [await new Wallet(key).signTransaction(rival)])
    await rig.chain.mine()

    await account.send(1)
    const isSettled = async () => (await account.transactions())[0]?.status === 'confirmed'
    await until('the other one is confirmed', isSettled, rig.chain.mine)
    expect((await row())?.status).toBe('submitted')
    if (what === 'does not answer') return
    await until('it says why', async () => (await row())?.status_reason?.startsWith('Waits: the nodes say') ?? false)
    rig.clock.passed_ms += 3_600_000
    await rig.chain.mine()
    expect((await row())?.status).toBe('submitted')
    // The way out: a node that has the old blocks. It proves who used the nonce.
    const path = { relayer_id: account.relayer_id }
    const body = { custom_rpc_urls: [rig.proxy.url] }
    await rig.client().patch('/api/v1/relayers/{relayer_id}', { path, body })
    await account.finished(() => {
      rig.clock.passed_ms += 60_000
      return rig.chain.mine()
    })
    expect(await row()).toMatchObject({ status: 'confirmed', nonce: 2 })
    expect(await account.score(new Set([hash]))).toEqual(clean(2))
  },
)

test('ends nothing because the only node reports its nonce as used, and sends it when that ends', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const liar = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [liar.url] })
  await account.send(1)
  const row = async () => (await account.transactions()).at(-1)
  await until('a node has it', async () => (await row())?.status === 'submitted')
  await rig.chain.dropAll()
  liar.lie = (method) => (method === 'eth_getTransactionCount' ? '0x1' : undefined)
  await rig.chain.mine()
  await until('it waits', async () => (await row())?.status_reason?.startsWith('Waits: the nodes say') ?? false)
  const looks = () => liar.counts.eth_getTransactionReceipt ?? 0
  const before = looks()
  rig.clock.passed_ms += 3_600_000
  await until('it is looked for again', () => looks() >= before + 2)
  expect((await row())?.status).toBe('submitted')
  liar.lie = undefined

  await account.send(1)
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(2))
})

test('confirms nothing by a receipt whose block only one of two nodes has', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain)]
  const [liar, honest] = nodes as [Liar, Liar]
  // Both lie about the count, so that receipts are requested. Only the first one returns a receipt.
  const countAhead: Lie = (method, [address]) =>
    method === 'eth_getTransactionCount' && `${address}`.toLowerCase() === account.address ? '0x1' : undefined
  const blockHash = `0x${'b0'.repeat(32)}`
  const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
  await account.send(1)
  const row = async () => (await account.transactions())[0]
  await until('a node has it', async () => (await row())?.status === 'submitted')
  liar.lie = (method, params, truth) =>
    method === 'eth_getTransactionReceipt'
      ? { transactionHash: params[0], blockNumber: '0x0', blockHash: blockHash, status: '0x1' }
      : countAhead(method, params, truth)
  honest.lie = countAhead
  await rig.chain.dropAll()
  const disputed = async () => (await row())?.status_reason?.startsWith('Waits: the endpoints disagree') ?? false
  await until('it says that they disagree', disputed, rig.chain.mine)
  expect(await row()).not.toMatchObject({ status: 'confirmed' })
})
