import { toQuantity } from 'ethers'
import { expect, test } from 'vitest'
import { RelayerError, type SendTransactionRequest } from '../../client/index.ts'
import type { Transaction } from '../../generated/openapi.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { startTestService } from '../support/service.ts'
import { testRig } from '../support/test-rig.ts'

const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const all = '/api/v1/relayers/{relayer_id}/transactions'
const [to, other] = ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8', `0x${'12'.repeat(20)}`]
const gwei = 1_000_000_000n
const prices = { max_fee_per_gas: `${10n * gwei}`, max_priority_fee_per_gas: `${gwei}` }
const dearer = { max_fee_per_gas: `${11n * gwei}`, max_priority_fee_per_gas: `${(gwei * 11n) / 10n}` }

type ChainTransaction = Record<'hash' | 'to' | 'value' | 'maxFeePerGas' | 'maxPriorityFeePerGas', string>

/** A chain that mines on demand, a proxy before it, and the relayer `demo` with 100 ETH. */
async function start(requiredConfirmations = 1) {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const { client } = await startTestService()
  const body = { rpc_urls: [proxy.url], required_confirmations: requiredConfirmations }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  await chain.setBalance(relayer.address, 10n ** 20n)

  const pathOf = ({ id: transactionId }: { id: string }) => ({ relayer_id: 'demo', transaction_id: transactionId })
  const get = async (transaction: { id: string }) => (await client.get(one, { path: pathOf(transaction) })).data
  const pooled = async (): Promise<ChainTransaction[]> => {
    const { pending } = await chain.rpc<{ pending: Record<string, Record<string, ChainTransaction>> }>('txpool_content')
    return Object.values(pending).flatMap((own) => Object.values(own))
  }
  async function send(special: Partial<SendTransactionRequest> = {}, wait: 'none' | 'submitted' = 'submitted') {
    const sent = { to, value: '1000', gas_limit: 21_000, ...special }
    return (await client.post(all, { path: { relayer_id: 'demo' }, query: { wait }, body: sent })).data
  }
  return {
    client,
    chain,
    proxy,
    get,
    send,
    address: relayer.address,
    cancel: async (transaction: { id: string }) => (await client.delete(one, { path: pathOf(transaction) })).data,
    replace: async (transaction: { id: string }, special: Partial<SendTransactionRequest> = {}) => {
      const sent = { to, value: '2000', gas_limit: 21_000, ...special }
      return (await client.put(one, { path: pathOf(transaction), body: sent })).data
    },
    /** Fails calls for blocks, so that transactions are accepted and not signed. Call it before the first send. */
    async blind() {
      // The first block, which POST compares once, is compared by one that is refused.
      expect(await refusal(send({ value: `${10n ** 21n}` }))).toMatchObject({ status: 400 })
      await proxy.setFault({ kind: 'http_500', methods: ['eth_getBlockByNumber'] })
    },
    become: (transaction: { id: string }, wanted: Partial<Transaction>) =>
      expect.poll(() => get(transaction)).toMatchObject(wanted),
    /** Waits until the pool has only these. */
    hold: (wanted: Partial<ChainTransaction>[]) => expect.poll(pooled).toMatchObject(wanted),
    nextNonce: async () =>
      (await client.get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id: 'demo' } })).data.next_nonce,
    onChain: (hash: string | null) => chain.rpc<ChainTransaction>('eth_getTransactionByHash', [hash]),
  }
}

const inState = (state: string) => ({ status: 409, message: expect.stringContaining(state) })
const refusal = (promise: Promise<unknown>): Promise<RelayerError> =>
  promise.then(
    () => expect.fail('It was not refused'),
    (error) => (error instanceof RelayerError ? error : Promise.reject(error)),
  )

test('cancels an unsigned transaction: returns the highest nonce at once, and uses a lower one on chain', async () => {
  const { send, cancel, get, become, blind, nextNonce, proxy, chain, address, onChain } = await start()
  await blind()
  const [first, second, third] = [await send({}, 'none'), await send({}, 'none'), await send({}, 'none')]
  const givenBack = { status: 'canceled', nonce: null, hash: null, status_reason: 'Canceled by request' } as const
  expect(await cancel(third)).toMatchObject(givenBack)
  expect(await nextNonce()).toBe(2)
  expect(await cancel(first)).toMatchObject({ status: 'pending', nonce: 0, is_canceling: true })
  const fourth = await send({ value: '4' }, 'none')
  expect([fourth.nonce, await nextNonce()]).toEqual([2, 3])
  expect(await get(second)).toMatchObject({ status: 'pending', hash: null })

  await proxy.setFault(undefined)
  await expect.poll(() => chain.rpc('txpool_status')).toMatchObject({ pending: '0x3' })
  await chain.mine()
  await become(first, { status: 'canceled', nonce: 0, status_reason: 'Canceled by request' })
  for (const { id } of [second, fourth]) await become({ id }, { status: 'confirmed' })
  expect(await onChain((await get(first)).hash)).toMatchObject({ to: address, value: '0x0', nonce: '0x0' })
  expect(await get(third)).toMatchObject(givenBack)
})

test('cancels a submitted transaction by a self-transfer of zero for at least 10 % more', async () => {
  const { send, cancel, become, hold, chain, onChain, address, get } = await start(2)
  const sent = await send(prices)
  expect(sent.is_canceling).toBe(false)
  expect(await cancel(sent)).toMatchObject({
    status: 'submitted',
    status_reason: 'Canceled by request',
    is_canceling: true,
  })
  await hold([{ to: address, value: '0x0' }])
  expect(await refusal(cancel(sent))).toMatchObject(inState('being canceled'))

  await chain.mine()
  const block = await chain.rpc<{ transactions: ChainTransaction[] }>('eth_getBlockByNumber', ['latest', true])
  const { hash, maxFeePerGas, maxPriorityFeePerGas } = block.transactions[0] as ChainTransaction
  expect(BigInt(maxFeePerGas)).toBeGreaterThanOrEqual(11n * gwei)
  expect(BigInt(maxPriorityFeePerGas)).toBeGreaterThanOrEqual((11n * gwei) / 10n)
  await become(sent, { hash })
  // The cancellation has too few confirmations.
  expect((await get(sent)).status).toBe('submitted')
  await chain.mine()
  await become(sent, { status: 'canceled', hash, nonce: 0, confirmed_at: null, to, value: '1000' })
  expect((await get(sent)).is_canceling).toBe(false)
  expect(await onChain(sent.hash)).toBeNull()
})

test('sends no cancellation whose relayer is paused before it is signed', async () => {
  const { client, send, cancel, get, become, hold, proxy } = await start()
  const setPaused = (paused: boolean) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' }, body: { paused } })
  const sent = await send(prices)
  const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  proxy.setLiar(async ({ method }) => {
    if (method !== 'eth_estimateGas') return undefined
    asked.resolve()
    await mayAnswer.promise
    return undefined
  })
  await cancel(sent)
  await asked.promise
  await setPaused(true)
  mayAnswer.resolve()
  await expect.poll(async () => (await get(sent)).status_reason).toContain('paused')
  await hold([{ hash: sent.hash as string }])
  expect((await get(sent)).hash).toBe(sent.hash)
  await setPaused(false)
  await become(sent, { status_reason: 'Canceled by request' })
  await expect.poll(async () => (await get(sent)).hash).not.toBe(sent.hash)
})

test('continues with the original when the cancellation is too late', async () => {
  const { send, cancel, become, chain, proxy, get } = await start(3)
  const sent = await send()
  await proxy.setFault({ kind: 'http_500', methods: ['eth_sendRawTransaction'] })
  await cancel(sent)
  await expect.poll(async () => (await get(sent)).hash).not.toBe(sent.hash)
  await chain.mine()
  await become(sent, { status: 'mined', hash: sent.hash, to, value: '1000', signature: sent.signature })
  await chain.mine(2)
  await become(sent, { status: 'confirmed', status_reason: null, hash: sent.hash })
})

test('answers 409 with the status to a cancellation or replacement of a mined or final transaction', async () => {
  const { send, cancel, replace, become, chain, blind, proxy } = await start(2)
  await blind()
  const canceled = await send({}, 'none')
  await cancel(canceled)
  await proxy.setFault(undefined)
  const sent = await send()
  const refuses = async (transaction: Transaction, state: string) => {
    for (const change of [cancel, replace]) expect(await refusal(change(transaction))).toMatchObject(inState(state))
  }
  await refuses(canceled, 'canceled')
  for (const state of ['mined', 'confirmed'] as const) {
    await chain.mine()
    await become(sent, { status: state })
    await refuses(sent, state)
  }
})

test('replaces with exact prices when they are at least 10 % higher, and refuses lower ones', async () => {
  const { send, replace, become, hold, chain, onChain } = await start()
  const sent = await send(prices)
  const short = [
    { ...dearer, max_fee_per_gas: `${11n * gwei - 1n}` },
    { ...dearer, max_priority_fee_per_gas: `${(gwei * 11n) / 10n - 1n}` },
    { max_priority_fee_per_gas: dearer.max_priority_fee_per_gas },
  ]
  for (const body of short) expect(await refusal(replace(sent, body))).toMatchObject({ status: 400 })
  const replaced = await replace(sent, { ...dearer, to: other, data: '0x', speed: 'fastest' })
  const speed = 'fastest' as const
  const shown = { ...dearer, id: sent.id, nonce: 0, to: other, value: '2000', speed }
  expect(replaced).toMatchObject(shown)
  const [maxFeePerGas, maxPriorityFeePerGas] = [toQuantity(11n * gwei), toQuantity((gwei * 11n) / 10n)]
  await hold([{ to: other, value: '0x7d0', maxFeePerGas, maxPriorityFeePerGas }])
  await chain.mine()
  await become(sent, { ...shown, status: 'confirmed' })
  expect(await onChain(sent.hash)).toBeNull()
})

test('raises both prices by at least 10 % at each replacement without prices, for both kinds of prices', async () => {
  const { send, replace, become, hold, chain, get } = await start()
  const [first, legacy] = [await send(prices), await send({ gas_price: `${10n * gwei}` })]
  await replace(first, { value: '3' })
  await hold([{ value: '0x3' }, { value: '0x3e8' }])
  await replace(first, { value: '4' })
  await hold([{ value: '0x4' }, { value: '0x3e8' }])
  await replace(legacy, { value: '5', gas_price: `${11n * gwei}` })
  await hold([{ value: '0x4' }, { value: '0x5' }])
  // A gas price is both fees at once, so both at 10 % more take its place.
  const both = { max_fee_per_gas: `${13n * gwei}`, max_priority_fee_per_gas: `${13n * gwei}` }
  await replace(legacy, { value: '6', ...both })
  await hold([{ value: '0x4' }, { value: '0x6' }])
  const twice = await get(first)
  expect(BigInt(twice.max_fee_per_gas ?? 0)).toBeGreaterThanOrEqual((10n * gwei * 121n) / 100n)
  expect(BigInt(twice.max_priority_fee_per_gas ?? 0)).toBeGreaterThanOrEqual((gwei * 121n) / 100n)
  await chain.mine()
  await become(first, { status: 'confirmed', value: '4' })
  await become(legacy, { status: 'confirmed', value: '6', gas_price: null, ...both })
})

test('signs only the replacement of an unsigned transaction, and shows the original when a replacement is too late', async () => {
  const { send, replace, become, hold, blind, chain, proxy, get } = await start()
  await blind()
  const early = await send({}, 'none')
  expect(await replace(early, { value: '6', to: other })).toMatchObject({ status: 'pending', value: '6', nonce: 0 })
  await proxy.setFault(undefined)
  await hold([{ value: '0x6', to: other }])
  await chain.mine()
  await become(early, { status: 'confirmed', value: '6' })

  const late = await send({ value: '7', data: '0x1234', gas_limit: 30_000 })
  await proxy.setFault({ kind: 'http_500', methods: ['eth_sendRawTransaction'] })
  await replace(late, { value: '8', to: other })
  await expect.poll(async () => (await get(late)).hash).not.toBe(late.hash)
  await chain.mine()
  const original = { to, value: '7', data: '0x1234', gas_limit: 30_000, max_fee_per_gas: late.max_fee_per_gas }
  await become(late, { status: 'confirmed', hash: late.hash, ...original })
})

test('cancels all unmined transactions at once, from the highest nonce down', async () => {
  const { send, cancel, become, blind, client, chain, proxy, address, hold, nextNonce } = await start()
  const cancelAll = async () =>
    (await client.delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path: { relayer_id: 'demo' } })).data
  await blind()
  const unsigned = [await send({}, 'none'), await send({}, 'none'), await send({}, 'none')].map(({ id }) => id)
  expect(await cancelAll()).toEqual({
    queued_for_cancellation_transaction_ids: unsigned.toReversed(),
    failed_to_queue_transaction_ids: [],
    total_processed: 3,
  })
  for (const id of unsigned) await become({ id }, { status: 'canceled', nonce: null })
  expect(await nextNonce()).toBe(0)

  await proxy.setFault(undefined)
  const mined = await send()
  await chain.mine()
  await become(mined, { status: 'confirmed' })
  const [first, second] = [await send(), await send()]
  await cancel(second)
  expect(await cancelAll()).toEqual({
    queued_for_cancellation_transaction_ids: [first.id],
    failed_to_queue_transaction_ids: [second.id],
    total_processed: 2,
  })
  await hold([{ to: address }, { to: address }])
  await chain.mine()
  for (const transaction of [first, second]) await become(transaction, { status: 'canceled' })
  expect(await cancelAll()).toMatchObject({ total_processed: 0 })
  for (const id of [...unsigned, first.id, second.id])
    expect((await client.transactions.getExplanation(id)).history).toMatchObject([
      { event: 'canceled', caller: 'environment', changes: [] },
    ])
})

test('answers 404 for a transaction of another relayer', async () => {
  const { send, client } = await start()
  const { id: transactionId } = await send()
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const stranger = { id: 'stranger', name: 'Stranger', network: 'local', network_type: 'evm', paused: false } as const
  const { data } = await client.post('/api/v1/relayers', { body: { ...stranger, signer_id: signer.id } })
  const path = { relayer_id: data.id, transaction_id: transactionId }
  const unknown = {
    status: 404,
    message: expect.stringMatching(/^path\/transaction_id: the relayer .+ has this transaction$/),
  }
  expect(await refusal(client.get(one, { path }))).toMatchObject(unknown)
  expect(await refusal(client.delete(one, { path }))).toMatchObject(unknown)
  expect(await refusal(client.put(one, { path, body: { to, value: '1' } }))).toMatchObject(unknown)
  const byNonce = client.get(`${all}/by-nonce/{nonce}`, { path: { relayer_id: data.id, nonce: '0' } })
  expect(await refusal(byNonce)).toMatchObject({ status: 404, message: 'Transaction with nonce 0 not found' })
})

test('broadcasts a cancellation again that did not reach the node, also without a new block', async () => {
  const { proxy, send, cancel, become, hold, address } = await start()
  const sent = await send(prices)
  await hold([{ to, value: '0x3e8' }])
  await proxy.setFault({ kind: 'connection_reset', methods: ['eth_sendRawTransaction'], times: 2 })
  await cancel(sent)
  await hold([{ to: address, value: '0x0' }])
  expect(proxy.counts().connection_reset).toBe(2)
  await become(sent, { status: 'submitted' })
})

test.each([
  ['keeps the time after which it is not sent', undefined, 'expired'],
  ['drops it with null', null, 'confirmed'],
] as const)('a replacement %s', async (_, validUntil, wanted) => {
  const { chain, clock, client, ...rig } = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const soon = new Date(Date.now() + clock.ahead_ms + clock.passed_ms + 600_000).toISOString()
  const [sent] = await account.send(1, { gas_limit: 21_000, valid_until: soon })
  const path = { relayer_id: account.relayer_id, transaction_id: sent?.id ?? '' }
  const read = async () => (await client().get(one, { path })).data
  await expect.poll(async () => (await read()).status).toBe('submitted')
  const same = { to: sent?.to ?? null, value: sent?.value ?? '0', gas_limit: 21_000 }
  const body = validUntil === undefined ? same : { ...same, valid_until: validUntil }
  const put = await client().put(one, { path, body })
  expect(put.data.status).not.toBe('canceled')
  clock.passed_ms += 700_000
  const purposes = async () => (await client().get(`${one}/attempts`, { path })).data.map(({ purpose }) => purpose)
  if (wanted === 'expired') await expect.poll(purposes, { timeout: 30_000 }).toContain('cancel')
  await account.finished(chain.mine)
  expect((await read()).status).toBe(wanted)
})
