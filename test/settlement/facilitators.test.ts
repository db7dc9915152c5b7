import { expect, test } from 'vitest'
import { createRelayerClient, RelayerError } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { paymentRig } from '../support/payment-rig.ts'
import { amount, anyToken, authorizationIn, maxFee, signPayment } from '../support/payments.ts'
import { startReceiver } from '../support/receiver.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const payee = `0x${'8'.repeat(40)}`
const token = `0x${'7'.repeat(40)}`
const rules = {
  ...{ id: 'shop', pool_id: 'payers', assets: [{ asset: token, max_amount_per_payment: '50000' }], pay_to: payee },
  ...{ max_fee_per_payment: '5', max_fee_per_day: '40' },
}
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => {
      if (!(error instanceof RelayerError)) throw error
      return `${error.status} ${error.code} ${error.details[0]?.path ?? ''}`.trim()
    },
  )

async function start() {
  const service = await startTestService()
  const { client, url } = service
  await createRelayer(client, { id: 'a' })
  await client.pools.create({ id: 'payers', network: 'local', relayer_ids: ['a'] })
  const { facilitator, token: key } = await client.facilitators.create(rules)
  const as = (its: string) => createRelayerClient({ baseUrl: url, token: its })
  return { ...service, facilitator, as, own: as(key) }
}

test('makes, shows, lists, changes and deletes a facilitator with its key', async () => {
  const { api_key, as, facilitator, own } = await start()
  const client = as(api_key)
  expect(facilitator).toMatchObject({ ...rules, network: 'local', wait_seconds: 20, usage: { used: '0', limit: '40' } })
  expect(await client.facilitators.get('shop')).toEqual(facilitator)
  expect((await Array.fromAsync(client.facilitators.list())).map(({ id }) => id)).toEqual(['shop'])
  const { revision } = await client.facilitators.update('shop', { max_fee_per_day: 41n })
  expect(await outcomeOf(client.facilitators.update('shop', { pay_to: token }))).toBe(
    '428 precondition_required /headers/if-match',
  )
  const stale = { revision: facilitator.revision }
  expect(await outcomeOf(client.facilitators.update('shop', { pay_to: token }, stale))).toContain('412')
  expect((await client.facilitators.update('shop', { pay_to: token }, { revision })).pay_to).toBe(token)
  const taken = { ...rules, pool_id: 'none' }
  expect(await outcomeOf(client.facilitators.create(rules))).toBe('409 already_exists /body/id')
  expect(await outcomeOf(client.facilitators.create({ ...taken, id: 'other' }))).toContain('/body/pool_id')

  // What it needs stays.
  expect(await outcomeOf(client.pools.delete('payers'))).toContain('409 in_use')
  expect(await outcomeOf(client.apiKeys.delete(facilitator.api_key_id))).toContain('409')
  expect(
    await outcomeOf(client.apiKeys.update(facilitator.api_key_id, { scopes: ['send'] }, { revision: '*' })),
  ).toContain('409')
  await client.facilitators.delete('shop')
  expect(await outcomeOf(own.facilitators.getSupportedPayments('shop'))).toBe('401 unauthorized /headers/authorization')
  await client.pools.delete('payers')
})

test('gives a key of a facilitator the right to that facilitator, and no other', async () => {
  const { client, own, as } = await start()
  const { token: other } = await client.facilitators.create({ ...rules, id: 'other' })
  const supported = await own.facilitators.getSupportedPayments('shop')
  expect(supported).toMatchObject({ kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:31337' }] })
  expect(supported.signers['eip155:*']).toEqual([(await client.relayers.get('a')).address])
  const none = `0x${'0'.repeat(64)}`
  for (const wanted of ['verifyPayment', 'settlePayment'] as const) {
    const request = { paymentPayload: {}, paymentRequirements: {} }
    expect(await outcomeOf(as(other).facilitators[wanted]('shop', request))).toBe('404 not_found /path/facilitator_id')
    expect(await outcomeOf(own.facilitators[wanted]('shop', request))).toBe('done')
  }
  expect(await outcomeOf(as(other).facilitators.getPayment('shop', none))).toBe('404 not_found /path/facilitator_id')
  expect(await outcomeOf(own.facilitators.getPayment('shop', none))).toBe('404 not_found /path/payment_id')
  for (const work of [own.facilitators.get('shop'), own.relayers.get('a'), own.facilitators.delete('shop')])
    expect(await outcomeOf(work)).toBe('403 forbidden api_key')
  const keyOf = async (body: object) =>
    as((await client.apiKeys.create({ name: JSON.stringify(body), scopes: ['send'], ...body })).token)
  const sender = await keyOf({})
  expect(
    await outcomeOf(sender.facilitators.verifyPayment('shop', { paymentPayload: {}, paymentRequirements: {} })),
  ).toBe('done')
  expect(await outcomeOf(sender.facilitators.getSupportedPayments('shop'))).toContain('403')
  const limited = await keyOf({ relayer_ids: ['a'] })
  expect(
    await outcomeOf(limited.facilitators.verifyPayment('shop', { paymentPayload: {}, paymentRequirements: {} })),
  ).toContain('403')
})

test('reports a settled payment once, to notifications and in the streams of relayer and pool', async () => {
  const receiver = await startReceiver()
  const its = await paymentRig()
  const { client, rig, accounts } = its
  const relayerId = accounts[0]?.relayer_id ?? ''
  await client.notifications.create({
    id: 'hook',
    url: receiver.url,
    filter: { events: ['payment_settled', 'payment_failed'] },
  })
  await client.relayers.update(relayerId, { notification_id: 'hook' })
  // They are read from the beginning: the answer to a fetch that nobody reads is closed when its garbage is collected.
  const followed = [`/relayers/${relayerId}/events`, '/pools/payers/events'].map(async (path) => {
    const stream = await fetch(`${rig.url()}/api/v1${path}`, { headers: { Authorization: `Bearer ${rig.api_key}` } })
    expect(stream.status).toBe(200)
    return { told: untilSettled(stream.body as ReadableStream<Uint8Array>) }
  })
  const open = await Promise.all(followed)
  const request = await its.pay(await its.newPayer())
  const answers = await Promise.all(Array.from({ length: 5 }, () => its.settle(request)))
  await until('it is delivered', () => receiver.got.length > 0)
  const payment = await client.facilitators.getPayment('shop', answers[0]?.extra?.payment ?? '')
  const bodies = receiver.got.map(({ event }) => event)
  expect(bodies).toEqual([
    expect.objectContaining({
      event: 'payment_settled',
      payload: { payload_type: 'payment_settled', facilitator_id: 'shop', payment },
    }),
  ])
  for (const { told } of open) expect(await told).toContain('payment_settled')
})

async function untilSettled(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const part of stream) {
    text += Buffer.from(part).toString()
    if (text.includes('payment_settled')) break
  }
  return text
}

test('lists the payments of a facilitator, newest first, to its key and to readers', async () => {
  const its = await paymentRig()
  const own = createRelayerClient({ baseUrl: its.rig.url(), token: its.token_of_key })
  expect(await Array.fromAsync(own.facilitators.listPayments('shop'))).toEqual([])
  const ids: (string | undefined)[] = []
  for (let index = 0; index < 3; index += 1) {
    const { extra } = await its.settle(await its.pay(await its.newPayer()))
    ids.unshift(extra?.payment)
  }
  const path = { facilitator_id: 'shop' }
  const pageOf = async (page: number) => {
    const { data, pagination } = await its.client.get('/api/v1/facilitators/{facilitator_id}/payments', {
      ...{ path, query: { page, per_page: 2 } },
    })
    return { ids: data.map(({ id }) => id), total: pagination.total_items }
  }
  expect(await pageOf(1)).toEqual({ ids: ids.slice(0, 2), total: 3 })
  expect(await pageOf(2)).toEqual({ ids: ids.slice(2), total: 3 })
  expect(await pageOf(3)).toEqual({ ids: [], total: 3 })
  const [first] = await Array.fromAsync(own.facilitators.listPayments('shop'))
  expect(first).toEqual(await own.facilitators.getPayment('shop', ids[0] ?? ''))
  expect(await outcomeOf(Array.fromAsync(own.facilitators.listPayments('other')))).toContain('404')
})

test('believes one node neither that somebody has paid, nor that nobody can any more', async () => {
  const its = await paymentRig({ wait_seconds: 0 }, { proxies: 3 })
  const { rig } = its
  const [liar] = rig.proxies
  const request = await its.pay(await its.newPayer())
  for (const proxy of rig.proxies) await proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  const { extra } = await its.settle(request)
  const state = async () => (await its.client.facilitators.getPayment('shop', extra?.payment ?? '')).status
  const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`
  // It shows a use and a transfer that no other node has; then that the nonce is used for something else.
  const hash = `0x${'ab'.repeat(32)}`
  const log = (index: string, data: string) => ({
    transactionHash: hash,
    blockHash: hash,
    blockNumber: '0x1',
    logIndex: index,
    data,
  })
  for (const logs of [true, false]) {
    liar?.setLiar(({ method, params = [] }) => {
      const [{ topics = [], data = '' } = {}] = params as { topics?: string[]; data?: string }[]
      if (logs && method === 'eth_getLogs') {
        const used = topics[0]?.startsWith('0x98de') === true
        return { result: [used ? log('0x0', '0x') : log('0x1', word(BigInt(amount)))] }
      }
      return method === 'eth_call' && data.startsWith('0xe94a0102') ? { result: word(1n) } : undefined
    })
    for (let count = 0; count < 5; count += 1) {
      expect(await its.settle(request)).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    }
  }
  expect(await state()).toBe('pending')
  // Nobody has paid this one, and nobody can: one node shows a transfer, and is not believed.
  const payer = await its.newPayer()
  const over = await its.pay(payer)
  await its.submit(
    await its.pay(payer, { nonce: authorizationIn(over).authorization.nonce, to: `0x${'5'.repeat(40)}` }),
  )
  liar?.setLiar(({ method, params = [] }) => {
    const [{ topics = [] } = {}] = params as { topics?: string[] }[]
    const isUse = topics[0]?.startsWith('0x98de') === true
    return method === 'eth_getLogs'
      ? { result: [isUse ? log('0x0', '0x') : log('0x1', word(BigInt(amount)))] }
      : undefined
  })
  for (let count = 0; count < 3; count += 1)
    expect(await its.settle(over)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    })
  liar?.setLiar(undefined)
  for (const proxy of rig.proxies) await proxy.setFault(undefined)
  await until('it is settled', async () => (await its.settle(request)).success)
  expect(await its.received()).toBe(BigInt(amount))
})

test('counts a payment whose token tells of no transfer by its transaction', async () => {
  const chain = await testChain()
  const { client, own } = await start()
  await client.networks.update('evm:local', { rpc_urls: [chain.url] })
  await chain.setBalance((await client.relayers.get('a')).address, 10n ** 20n)
  await chain.rpc('anvil_setCode', [token, anyToken])
  await client.facilitators.update('shop', { max_fee_per_payment: `${maxFee}`, max_fee_per_day: `${maxFee * 2n}` })
  const { Wallet } = await import('ethers')
  const its = { chain_id: 31_337, token, payee, valid_before: 4_102_444_800 }
  const request = await signPayment(Wallet.createRandom() as never, its)
  expect(await own.facilitators.settlePayment('shop', request)).toMatchObject({ success: true })
})
