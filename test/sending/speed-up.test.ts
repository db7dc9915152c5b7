import { expect, test } from 'vitest'
import {
  createRelayerClient,
  type RelayerError,
  type SendTransactionRequest,
  type SpeedUpTransactionRequest,
} from '../../client/index.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService } from '../support/service.ts'

// "Same content, new price": what another operator has put in the place of the content stays, and a confirmed price is a ceiling.

const [to, other] = ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8', `0x${'12'.repeat(20)}`]
const gwei = (amount: number) => `${BigInt(amount) * 10n ** 9n}`
const prices = { max_fee_per_gas: gwei(10), max_priority_fee_per_gas: gwei(1) }
const dearer = { max_fee_per_gas: gwei(20), max_priority_fee_per_gas: gwei(2) }

/** A chain that mines on demand, a proxy before it, the relayer `demo` with 100 ETH, and its submitted transaction. */
async function start(special: Partial<SendTransactionRequest> = {}) {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const { client, url, api_key } = await startTestService()
  await client.networks.update('evm:local', { rpc_urls: [proxy.url], required_confirmations: 1 })
  await chain.setBalance((await client.relayers.get('demo')).address, 10n ** 20n)
  const body = { to, value: '1000', gas_limit: 21_000, ...prices, ...special }
  const sent = await client.transactions.send('demo', body, { wait: 'submitted' })
  const attempts = () => Array.fromAsync(client.transactions.listAttempts('demo', sent.id))
  return {
    client,
    /** One that sends no revision by itself. */
    strict: createRelayerClient({ baseUrl: url, token: api_key }),
    chain,
    proxy,
    sent,
    attempts,
    get: () => client.transactions.getRelayerTransaction('demo', sent.id),
    speedUp: (wanted: SpeedUpTransactionRequest = {}, idempotencyKey?: string) =>
      client.transactions.speedUp('demo', sent.id, wanted, idempotencyKey === undefined ? {} : { idempotencyKey }),
    replace: (wanted: SendTransactionRequest) => client.transactions.replace('demo', sent.id, wanted),
    signed: (number: number) => expect.poll(async () => (await attempts()).length).toBe(number),
  }
}

test('keeps the receiver that another operator has put in the place of the first', async () => {
  const { speedUp, replace, get, signed, chain } = await start()
  await replace({ to: other, value: '2000', data: '0x', gas_limit: 30_000, ...dearer })
  await signed(2)
  const faster = await speedUp()
  expect(faster).toMatchObject({ to: other, value: '2000', gas_limit: 30_000, speed: 'fastest' })
  expect(BigInt(faster.max_fee_per_gas ?? 0)).toBeGreaterThanOrEqual(BigInt(gwei(22)))
  await signed(3)
  await chain.mine()
  await expect.poll(get).toMatchObject({ status: 'confirmed', to: other })
  const { hash } = await get()
  expect(await chain.rpc('eth_getTransactionByHash', [hash])).toMatchObject({ to: other, value: '0x7d0' })
})

test('prices the content of another replacement that came while the chain answered', async () => {
  const { speedUp, replace, get, proxy } = await start()
  const [asked, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  proxy.setLiar(async ({ method }) => {
    if (!isFirst || (method !== 'eth_estimateGas' && method !== 'eth_call')) return undefined
    isFirst = false
    asked.resolve()
    await mayAnswer.promise
    return undefined
  })
  const faster = speedUp()
  await asked.promise
  await replace({ to: other, value: '2000', data: '0x', gas_limit: 30_000, ...dearer })
  mayAnswer.resolve()
  expect(await faster).toMatchObject({ to: other, value: '2000', gas_limit: 30_000 })
  expect(await get()).toMatchObject({ to: other, value: '2000', speed: 'fastest' })
})

test('signs at most at the price that was confirmed, now and later', async () => {
  const { speedUp, get, signed, chain, sent } = await start()
  await chain.setBaseFee(400n * 10n ** 9n)
  await chain.rpc('anvil_mine', ['0x0'])
  const faster = await speedUp({ max_fee_per_gas: gwei(89) })
  expect(BigInt(faster.max_fee_per_gas ?? 0)).toBeLessThanOrEqual(BigInt(gwei(89)))
  await signed(2)
  expect(await get()).toMatchObject({ to: sent.to, nonce: sent.nonce })
})

test('refuses a ceiling under the least that replaces, and changes nothing', async () => {
  const { speedUp, get, attempts } = await start()
  const before = await get()
  const refused: RelayerError = await speedUp({ max_fee_per_gas: gwei(10) }).then(
    () => expect.fail('It was not refused'),
    (error) => error,
  )
  expect(refused).toMatchObject({
    status: 409,
    details: [{ path: '/body/max_fee_per_gas', message: expect.stringContaining('11 gwei') }],
  })
  expect(await get()).toMatchObject({ max_fee_per_gas: before.max_fee_per_gas, hash: before.hash, speed: before.speed })
  expect(await attempts()).toHaveLength(1)
})

test('repeats the first answer for an Idempotency-Key, also after the transaction is mined', async () => {
  const { speedUp, signed, attempts, chain, get } = await start()
  const body: SpeedUpTransactionRequest = { speed: 'fast', max_fee_per_gas: gwei(50) }
  const first = await speedUp(body, 'once')
  await signed(2)
  expect(await speedUp(body, 'once')).toEqual(first)
  const other: RelayerError = await speedUp({ speed: 'fast' }, 'once').then(
    () => expect.fail('It was not refused'),
    (error) => error,
  )
  expect(other).toMatchObject({ status: 422 })
  await chain.mine()
  await expect.poll(get).toMatchObject({ status: 'confirmed' })
  expect(await speedUp(body, 'once')).toEqual(first)
  expect(await attempts()).toHaveLength(2)
})

test('raises a price that a replacement does not give', async () => {
  const { replace } = await start({ max_fee_per_gas: gwei(50), max_priority_fee_per_gas: gwei(8) })
  const replaced = await replace({ to: other, value: '2000', data: '0x', max_fee_per_gas: gwei(60) })
  expect(replaced).toMatchObject({ max_fee_per_gas: gwei(60), max_priority_fee_per_gas: '8800000000' })
})

const refusalOf = (work: Promise<unknown>): Promise<RelayerError> =>
  work.then(
    () => expect.fail('It was not refused'),
    (error) => error,
  )

test('replaces the content only from the revision that was read, which only a replacement changes', async () => {
  const { strict, sent, speedUp, get, signed } = await start()
  const replace = (body: SendTransactionRequest, revision?: string) =>
    strict.transactions.replace('demo', sent.id, body, revision === undefined ? {} : { revision })
  const whole = { value: '2000', data: '0x', gas_limit: 30_000 }
  const { revision } = await get()
  expect(revision).toBe('1')
  // A body that leaves content out repeats nothing that was read.
  expect(await refusalOf(replace({ to: other, value: '2000' }))).toMatchObject({ status: 428 })
  await speedUp()
  await signed(2)
  expect((await get()).revision).toBe(revision)

  // Another operator, and a client that knows no revision: the OpenZeppelin SDK.
  expect(await replace({ to: other, ...whole })).toMatchObject({ to: other, revision: '2' })
  await signed(3)
  expect(await refusalOf(replace({ to, ...whole }, revision))).toMatchObject({
    status: 412,
    code: 'precondition_failed',
    revision: '2',
    details: [
      { path: '/headers/if-match', message: expect.stringContaining('was replaced') },
      { path: 'current/to', message: `is "${other}" now` },
    ],
  })
  expect(await refusalOf(replace({ to, ...whole }))).toMatchObject({ status: 428, code: 'precondition_required' })
  expect(await get()).toMatchObject({ to: other, revision: '2' })
  expect(await replace({ to, ...whole }, '2')).toMatchObject({ to, revision: '3' })
})

test('one of two replacements that were made from the same revision is made', async () => {
  const { strict, sent, get } = await start()
  const replace = (value: string) =>
    strict.transactions.replace('demo', sent.id, { to: other, value, data: '0x', gas_limit: 30_000 }, { revision: '1' })
  const results = await Promise.allSettled([replace('1'), replace('2'), replace('3')])
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await get()).toMatchObject({ to: other, revision: '2' })
})

test('tells a replacement as an event of its own', async () => {
  const { client, sent, replace, signed } = await start()
  const { url, got } = await startReceiver()
  await client.notifications.create({ id: 'hook', url })
  await client.relayers.update('demo', { notification_ids: ['hook'] })
  await replace({ to: other, value: '2000', data: '0x', gas_limit: 30_000 })
  await signed(2)
  await expect.poll(() => got.filter(({ body }) => body.includes('"revision":"2"')).length).toBeGreaterThan(0)
  expect(sent.revision).toBe('1')
})
