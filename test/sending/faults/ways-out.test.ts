import { JsonRpcProvider, keccak256, Transaction, Wallet } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { RelayerPoliciesInput, SendTransactionRequest, WaitReason } from '../../../client/index.ts'
import { startHeldSigner } from '../../support/held-signer.ts'
import { type Liar, type Lie, testLiar } from '../../support/liar.ts'
import { type PrivateRelay, startPrivateRelay } from '../../support/private-relay.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { newUser, sponsoredRig } from '../../support/sponsorship.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

// Every state in which a transaction can wait, and an operation that ends it or moves it on, carried out against the service.

const gwei = 10n ** 9n
const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const to = `0x${'6b'.repeat(20)}`

/** One relayer that reaches its chain by `node`, and private relays that include nothing until they build. */
interface Stage {
  rig: Rig
  node: Liar
  relay: PrivateRelay
  account: Account
  /** Of the transaction that waits. */
  path: { relayer_id: string; transaction_id: string }
  send(body?: Partial<SendTransactionRequest>): Promise<string>
  updateRelayer(body: {
    paused?: boolean
    policies?: RelayerPoliciesInput
    custom_rpc_urls?: string[]
  }): Promise<unknown>
  signer: { stop(): Promise<unknown> } | undefined
}

interface Way {
  /** How the state comes about. */
  bring(stage: Stage): Promise<unknown>
  policies?: RelayerPoliciesInput
  key?: 'known'
  signer?: 'held'
  submission?: 'private'
  /** Through a pool that the relayer is in. */
  relayer?: 'pool'
  intent?: 'cancel' | 'expire'
  /** The operation, and how it is called. */
  operation: string
  carryOut(stage: Stage): Promise<unknown>
  ends: string
}

const refusing =
  (message: string): Lie =>
  (method) =>
    method === 'eth_sendRawTransaction' ? new Error(message) : undefined
/** Says that it took the bytes, and drops them: blocks pass without them. */
const forgetting: Lie = (method, [raw]) => (method === 'eth_sendRawTransaction' ? keccak256(`${raw}`) : undefined)

const toGoodNode = {
  operation: 'updateRelayer: custom_rpc_urls',
  carryOut: ({ rig, updateRelayer }: Stage) => updateRelayer({ custom_rpc_urls: [rig.proxy.url] }),
}
const publish = {
  operation: 'publishTransaction',
  carryOut: ({ rig, path }: Stage) => rig.client().post(`${one}/publish`, { path }),
}
const cancelPublicly = {
  operation: 'cancelTransaction: submission',
  carryOut: ({ rig, path }: Stage) => rig.client().delete(one, { path, query: { submission: 'public' } }),
}
/** As the explanation suggests it. */
const suggested = (operation: string) => ({
  operation,
  async carryOut({ rig, path }: Stage) {
    let body: unknown
    await until('it is suggested', async () => {
      const { suggestions } = (await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path }))
        .data
      body = suggestions.find((suggestion) => suggestion.operation === operation)?.body
      return body !== undefined
    })
    if (operation === 'publishTransaction') await rig.client().post(`${one}/publish`, { path })
    else if (operation === 'speedUpTransaction')
      await rig.client().post(`${one}/speed-up`, { path, body: body as never })
    else await rig.client().patch('/api/v1/relayers/{relayer_id}', { path, body: body as never })
  },
})

async function submitted({ send, rig, path }: Stage, body: Partial<SendTransactionRequest> = {}) {
  await send(body)
  const status = async () => (await rig.client().get(one, { path })).data.status
  await until('it is with a node', async () => (await status()) === 'submitted')
}

/** The account's key in another program, at the nonce of the transaction. */
async function useElsewhere({ rig }: Stage, price = 10n * gwei) {
  const provider = new JsonRpcProvider(rig.chain.url, rig.chain.chain_id, { staticNetwork: true })
  onTestFinished(() => provider.destroy())
  const fees = { maxFeePerGas: price, maxPriorityFeePerGas: price / 2n }
  const wallet = new Wallet(rig.chain.accounts[1]?.key as string, provider)
  await wallet.sendTransaction({ to, value: 5n, nonce: 0, gasLimit: 21_000, ...fees })
}

const cancelPrivate = async (stage: Stage) => {
  await submitted(stage, { submission: { mode: 'private' } })
  await stage.rig.client().delete(one, { path: stage.path })
}
const expirePrivate = async (stage: Stage) => {
  const validUntil = new Date(Date.now() + stage.rig.clock.passed_ms + 60_000).toISOString()
  await submitted(stage, { submission: { mode: 'private' }, valid_until: validUntil })
  stage.rig.clock.passed_ms += 61_000
}

/** Of a transaction that waits for no reason but a block, and for each reason. */
const ways: Record<WaitReason | 'block', Way[]> = {
  price_cap: [
    {
      policies: { gas_price_cap: `${5n * gwei}` },
      async bring({ rig, send }) {
        await rig.chain.setBaseFee(10n * gwei)
        await rig.chain.mine()
        await send()
      },
      ...suggested('updateRelayer'),
      ends: 'confirmed',
    },
  ],
  fee_multiplier: [
    {
      policies: { max_fee_multiplier: 1 },
      async bring(stage) {
        stage.node.lie = forgetting
        await submitted(stage, { speed: 'fastest' })
      },
      ...suggested('updateRelayer'),
      ends: 'confirmed',
    },
  ],
  fee_budget: [
    {
      async bring(stage) {
        stage.node.lie = forgetting
        await submitted(stage, { speed: 'fastest' })
        const [{ max_fee_per_gas } = {}] = await stage.account.transactions()
        // No room for 10 % more.
        const maxFeePerTransaction = `${(BigInt(max_fee_per_gas ?? 0) * 21_000n * 105n) / 100n}`
        await stage.updateRelayer({ policies: { max_fee_per_transaction: maxFeePerTransaction } })
      },
      ...suggested('updateRelayer'),
      ends: 'confirmed',
    },
  ],
  base_fee: [
    {
      async bring(stage) {
        await submitted(stage)
        await stage.rig.chain.setBaseFee(50n * gwei)
        await stage.rig.chain.mine()
      },
      ...suggested('speedUpTransaction'),
      ends: 'confirmed',
    },
  ],
  fee_too_low: [
    {
      async bring({ rig, send }) {
        await rig.chain.setBaseFee(50n * gwei)
        await rig.chain.mine()
        await send({ gas_price: `${20n * gwei}` })
      },
      ...suggested('speedUpTransaction'),
      ends: 'confirmed',
    },
  ],
  replacement_underpriced: [
    {
      async bring(stage) {
        const { rig, node, path, send } = stage
        let dear: string | undefined
        node.lie = (method, [raw]) => {
          if (method !== 'eth_sendRawTransaction') return undefined
          dear ??= `${raw}`
          return new Error('busy')
        }
        await send({ max_fee_per_gas: `${50n * gwei}`, max_priority_fee_per_gas: `${2n * gwei}` })
        await until('it was sent', () => dear !== undefined)
        await rig.client().put(one, {
          path,
          body: { to, value: '2', max_fee_per_gas: `${20n * gwei}`, max_priority_fee_per_gas: `${gwei}` },
        })
        // The node had taken the first version.
        await rig.chain.rpc('eth_sendRawTransaction', [dear])
        node.lie = undefined
      },
      ...suggested('speedUpTransaction'),
      ends: 'confirmed',
    },
  ],
  funds: [
    {
      async bring({ rig, account, node, send }) {
        node.lie = refusing('the node is busy')
        await send()
        await rig.chain.setBalance(account.address, 0n)
        node.lie = undefined
      },
      operation: 'outside the API: fund the account',
      carryOut: ({ rig, account }) => rig.chain.setBalance(account.address, 10n ** 24n),
      ends: 'confirmed',
    },
  ],
  node: [
    {
      async bring({ node, send }) {
        // It refuses all but cancellations.
        node.lie = (method, [raw]) =>
          method === 'eth_sendRawTransaction' && Transaction.from(`${raw}`).to?.toLowerCase() === to
            ? new Error('refused by this node')
            : undefined
        await send()
      },
      operation: 'cancelTransaction',
      carryOut: ({ rig, path }) => rig.client().delete(one, { path }),
      ends: 'canceled',
    },
  ],
  unreachable: [
    {
      async bring({ node, send }) {
        await send()
        node.lie = () => new Error('Service unavailable')
      },
      ...toGoodNode,
      ends: 'confirmed',
    },
  ],
  nonce_conflict: [
    {
      key: 'known',
      async bring(stage) {
        await useElsewhere(stage)
        await stage.send()
      },
      operation: 'speedUpTransaction',
      carryOut: ({ rig, path }) =>
        rig.client().post(`${one}/speed-up`, {
          path,
          body: { max_fee_per_gas: `${12n * gwei}`, max_priority_fee_per_gas: `${6n * gwei}` },
        }),
      ends: 'confirmed',
    },
  ],
  uncertain_nonce: [
    {
      key: 'known',
      async bring(stage) {
        await submitted(stage)
        await stage.rig.chain.dropAll()
        await useElsewhere(stage)
        await stage.rig.chain.mine()
        stage.node.lie = (method, [, block]) =>
          method === 'eth_getTransactionCount' && `${block}`.startsWith('0x')
            ? new Error('missing trie node')
            : undefined
      },
      ...toGoodNode,
      ends: 'confirmed',
    },
    {
      // Never signed when its nonce is used: it needs no transfer. The next one has the highest nonce.
      signer: 'held',
      async bring({ rig, account, send, signer }) {
        await signer?.stop()
        await send()
        await account.send(1, { to })
        await rig.chain.setNonce(account.address, 1)
      },
      operation: 'cancelTransaction',
      async carryOut({ rig, account, path }) {
        await rig.client().delete(one, { path })
        const [next] = await account.transactions()
        await account.cancel(`${next?.id}`)
      },
      ends: 'canceled',
    },
  ],
  missing_receipt: [
    {
      async bring(stage) {
        await submitted(stage)
        stage.node.lie = (method) => (method === 'eth_getTransactionReceipt' ? null : undefined)
        await stage.rig.chain.mine()
      },
      ...toGoodNode,
      ends: 'confirmed',
    },
  ],
  awaiting_quorum: [
    {
      async bring(stage) {
        await submitted(stage)
        const silent = await testLiar(stage.rig.chain)
        silent.lie = (method) => (method === 'eth_getTransactionReceipt' ? null : undefined)
        await stage.updateRelayer({ custom_rpc_urls: [stage.node.url, silent.url] })
        // A look that began before has the first node alone, whose word would be enough.
        await until('both nodes are asked', () => (silent.counts.eth_getBlockByNumber ?? 0) > 2)
        await stage.rig.chain.mine()
      },
      ...toGoodNode,
      ends: 'confirmed',
    },
  ],
  earlier_nonce: [
    {
      async bring({ node, account, send }) {
        node.lie = (method, [raw]) =>
          method === 'eth_sendRawTransaction' &&
          Transaction.from(`${raw}`).nonce === 0 &&
          Transaction.from(`${raw}`).to?.toLowerCase() === to
            ? new Error('refused by this node')
            : undefined
        await account.send(1, { to })
        await send()
      },
      operation: 'cancelTransaction, of the first one',
      async carryOut({ rig, path }) {
        const { data } = await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path })
        const first = { ...path, transaction_id: `${data.blocking_transaction_id}` }
        return rig.client().delete(one, { path: first })
      },
      ends: 'confirmed',
    },
  ],
  paused: [
    {
      async bring({ node, send, updateRelayer }) {
        node.lie = refusing('busy')
        await send()
        await updateRelayer({ paused: true })
        node.lie = undefined
      },
      ...suggested('updateRelayer'),
      ends: 'confirmed',
    },
  ],
  disabled: [
    {
      async bring({ rig, account, send, node }) {
        await account.send(3, { to })
        await account.finished(rig.chain.mine)
        node.lie = refusing('busy')
        await send()
        await rig.chain.restart()
        node.lie = undefined
      },
      operation: 'healNonces',
      carryOut: ({ rig, path }) =>
        rig.client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path, body: { chain_restarted: true } }),
      ends: 'failed',
    },
  ],
  key_service: [
    {
      signer: 'held',
      async bring({ send, signer }) {
        await signer?.stop()
        await send()
      },
      operation: 'cancelTransaction',
      carryOut: ({ rig, path }) => rig.client().delete(one, { path }),
      ends: 'canceled',
    },
  ],
  private_relay: [
    {
      submission: 'private',
      async bring({ relay, send }) {
        relay.refuse({ code: -32_603, message: 'overloaded' })
        await send({ submission: { mode: 'private' } })
      },
      ...publish,
      ends: 'confirmed',
    },
  ],
  block: [
    {
      submission: 'private',
      bring: (stage) => submitted(stage, { submission: { mode: 'private' } }),
      ...publish,
      ends: 'confirmed',
    },
    {
      submission: 'private',
      bring: (stage) => submitted(stage, { submission: { mode: 'private' } }),
      ...cancelPublicly,
      ends: 'canceled',
    },
    { submission: 'private', intent: 'cancel', bring: cancelPrivate, ...publish, ends: 'canceled' },
    {
      submission: 'private',
      intent: 'cancel',
      bring: cancelPrivate,
      ...suggested('publishTransaction'),
      ends: 'canceled',
    },
    { submission: 'private', intent: 'cancel', bring: cancelPrivate, ...cancelPublicly, ends: 'canceled' },
    { submission: 'private', intent: 'expire', bring: expirePrivate, ...cancelPublicly, ends: 'expired' },
    { submission: 'private', intent: 'expire', bring: expirePrivate, ...publish, ends: 'expired' },
    { submission: 'private', intent: 'cancel', relayer: 'pool', bring: cancelPrivate, ...publish, ends: 'canceled' },
  ],
  // No part of the service gives it.
  other: [],
}

const rows = Object.entries(ways).flatMap(([reason, its]) =>
  its.map((way) => ({
    reason,
    kind: [way.submission ?? 'public', way.intent ?? 'send', ...(way.relayer ? [way.relayer] : [])].join(', '),
    ...way,
  })),
)

/** The next block ends them. */
const isEndedByBlocks = new Set('base_fee funds node nonce_conflict earlier_nonce replacement_underpriced'.split(' '))

/** Their relayer rests, or no node answers. */
const isSlowlyPolled = new Set(['paused', 'disabled', 'unreachable', 'key_service'])

/** What is told when the sender has read the chain so many times more. */
async function reasonAfter({ rig, node, path }: Stage, times: number) {
  const looks = () => (node.counts.eth_getBlockByNumber ?? 0) + (rig.proxy.counts().eth_getBlockByNumber ?? 0)
  const before = looks()
  await until('the sender has looked', () => looks() >= before + times)
  const { data } = await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path })
  return { wait_reason: data.wait_reason, summary: data.summary, since: data.since }
}

test('tells a cap that leaves no room for a higher price, also while the base fee is above its price', async () => {
  const stage = await start({})
  const { rig, node, account, updateRelayer } = stage
  node.lie = forgetting
  await submitted(stage, { speed: 'fastest' })
  const [{ max_fee_per_gas } = {}] = await account.transactions()
  const price = BigInt(max_fee_per_gas ?? 0)
  await updateRelayer({ policies: { gas_price_cap: `${(price * 105n) / 100n}` } })
  let told = await reasonAfter(stage, 2)
  await until(
    'it waits for price_cap',
    async () => {
      told = await reasonAfter(stage, 2)
      return told.wait_reason === 'price_cap'
    },
    async () => {
      rig.clock.passed_ms += 16_000
      await rig.chain.mine()
    },
  )
  // An empty block lowers the next base fee by an eighth.
  await rig.chain.setBaseFee((((price * 103n) / 100n) * 8n) / 7n)
  await rig.chain.mine()
  const explanation = '/api/v1/transactions/{transaction_id}/explanation'
  const baseFee = async () => (await rig.client().get(explanation, { path: stage.path })).data.figures.base_fee
  await until('the base fee is above its price', async () => BigInt((await baseFee()) ?? 0) > price)
  expect(await reasonAfter(stage, 12)).toEqual(told)
})

test('each reason to wait has a way out', () => {
  const without = Object.entries(ways).flatMap(([reason, its]) => (its.length === 0 ? reason : []))
  expect(without).toEqual(['other'])
})

test.each(rows)('$reason ($kind) is left by $operation', async (way) => {
  const stage = await start(way)
  const { rig, node, account, relay, path } = stage
  await way.bring(stage)
  const [waiting] = (await account.transactions()).filter(({ id }) => id === path.transaction_id)
  const original = waiting?.hash
  const explained = async () =>
    (await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path })).data
  const get = async () => (await rig.client().get(one, { path })).data
  const pass = async () => {
    rig.clock.passed_ms += 16_000
    await rig.chain.mine()
  }
  // Blocks pass where the state lasts.
  const isLasting = !isEndedByBlocks.has(way.reason)
  await until(
    `it waits for ${way.reason}`,
    async () => (await explained()).wait_reason === way.reason,
    isLasting ? pass : undefined,
  )
  if (way.submission !== 'private' && !isSlowlyPolled.has(way.reason)) {
    const told = await reasonAfter(stage, 4)
    expect(await reasonAfter(stage, 12)).toEqual(told)
  }
  if (way.intent !== undefined && way.submission === 'private') {
    const isCancellation = ({ transaction, isAccepted }: PrivateRelay['sent'][number]) =>
      isAccepted && transaction.value === 0n
    await until('the relay has the cancellation', () => relay.sent.some(isCancellation), pass)
    expect(await get()).toMatchObject({ status: 'submitted', is_canceling: true })
  }

  await way.carryOut(stage)
  const isCanceled = way.ends === 'canceled' || way.ends === 'expired'
  if (way.submission === 'private' && isCanceled) {
    await until('a public node has the cancellation', () => rig.proxy.broadcast().length > 0)
    // What is canceled stays with the relays, its hash too.
    expect(rig.proxy.broadcast()).not.toContain(original)
    expect(relay.timeline.join()).not.toContain(original)
  }
  // What is released waits for a block as before.
  if (way.submission !== 'private')
    await until('it has moved on', async () => (await explained()).wait_reason !== way.reason, pass)
  node.lie = undefined
  await account.finished(pass)
  expect((await get()).status).toBe(way.ends)
  if (way.submission !== 'private') return
  // Nothing is held up by it.
  await stage.send()
  await account.finished(pass)
  expect(await account.latest()).toBe(2)
})

async function start({ policies = {}, key, signer: kind, submission, relayer }: Partial<Way>): Promise<Stage> {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const relay = await startPrivateRelay(rig.chain)
  relay.watch(rig.proxy)
  await rig.client().patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { private_rpc_urls: [{ url: relay.url, private_expiry_blocks: 1_000 }] },
  })
  const signer = kind && (await startHeldSigner())
  const account = await rig.addAccount({
    policies,
    ...(key && { key: rig.chain.accounts[1]?.key as string }),
    ...(signer && { signer: { type: 'remote' as const, config: { url: signer.url, address: signer.address } } }),
    rpc_urls: submission === 'private' ? [] : [node.url],
  })
  const { relayer_id } = account
  const path = { relayer_id, transaction_id: '' }
  if (relayer === 'pool') await rig.client().pools.create({ id: 'its', network: 'local', relayer_ids: [relayer_id] })
  return {
    ...{ rig, node, relay, account, path, signer },
    async send(given = {}) {
      const body = { to, value: '1', gas_limit: 21_000, ...given }
      const { data } =
        relayer === 'pool'
          ? await rig.client().post('/api/v1/pools/{pool_id}/transactions', { path: { pool_id: 'its' }, body })
          : await rig.client().post('/api/v1/relayers/{relayer_id}/transactions', { path: { relayer_id }, body })
      path.transaction_id = data.id
      return data.id
    },
    updateRelayer: (body) => rig.client().patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, body }),
  }
}

test('the cancellation of a private call of a sponsorship is released to the public nodes', async () => {
  const its = await sponsoredRig({}, { chain: { noMining: true } })
  const { rig, client } = its
  const relay = await startPrivateRelay(rig.chain)
  relay.watch(rig.proxy)
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { private_rpc_urls: [{ url: relay.url, private_expiry_blocks: 1_000 }], submission: { mode: 'private' } },
  })
  const body = { to: its.forwarder, data: await its.forward(newUser()) }
  const sent = await client.post('/api/v1/sponsorships/{sponsorship_id}/calls', {
    path: { sponsorship_id: 'game' },
    body,
  })
  const path = { relayer_id: its.relayer.id, transaction_id: sent.data.transaction_id }
  const get = async () => (await client.get(one, { path })).data
  await until('a relay has it', async () => (await get()).status === 'submitted')
  const { hash } = await get()
  await client.delete(one, { path })
  await publish.carryOut({ rig, path } as Stage)
  await until('it is canceled', async () => (await get()).status === 'canceled', rig.chain.mine)
  expect(rig.proxy.broadcast()).not.toContain(hash)
  expect(await its.plays()).toBe(0n)
})
