import { parseTransaction } from 'viem'
import { expect, test } from 'vitest'
import { RelayerError, type SendTransactionRequest, type SpeedUpTransactionRequest } from '../../../client/index.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { type Lie, testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const receiver = `0x${'5c'.repeat(20)}`
const delegate = `0x${'de'.repeat(20)}`
const transaction = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'

const attemptsOf = async ({ client }: Rig, { relayer_id }: Account, transactionId: string) =>
  (await client().get(`${transaction}/attempts`, { path: { relayer_id, transaction_id: transactionId } })).data
const explain = ({ client }: Rig, transactionId: string) => client().transactions.getExplanation(transactionId)
const replace = async ({ client }: Rig, { relayer_id }: Account, transactionId: string, body: SendTransactionRequest) =>
  (await client().put(transaction, { path: { relayer_id, transaction_id: transactionId }, body })).data
const firstOf = async (account: Account) => (await account.transactions())[0]
const priced = (gasPrice: bigint) => ({ gas_price: gasPrice.toString(), gas_limit: 21_000 })

/** A chain with blocks on request, behind a node whose answers the test replaces. It records the signed bytes that it gets. */
async function start(policies = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ policies, rpc_urls: [node.url] })
  const signed: ReturnType<typeof parseTransaction>[] = []
  const watch: Lie = (method, [raw]) => {
    if (method === 'eth_sendRawTransaction') signed.push(parseTransaction(raw as `0x${string}`))
    return undefined
  }
  node.lie = watch
  return { rig, node, account, signed, watch }
}

test('J3: signs nothing above the price that the caller gave, and says what the chain requires', async () => {
  const { rig, account, signed } = await start()
  await rig.chain.setBaseFee(100n * gwei)
  await rig.chain.mine()
  const [{ id = '' } = {}] = await account.send(1, priced(20n * gwei))
  await until('it waits for its price', async () => (await explain(rig, id)).wait_reason === 'fee_too_low')
  const explained = await explain(rig, id)
  expect(explained.summary).toContain('at most 20 gwei')
  expect(explained.figures).toMatchObject({
    max_fee_per_gas: `${20n * gwei}`,
    requested_max_fee_per_gas: `${20n * gwei}`,
  })
  for (let block = 0; block < 8; block += 1) {
    rig.clock.passed_ms += 60_000
    await rig.chain.mine()
    await until('it was looked at', async () => (await firstOf(account))?.status !== 'mined')
  }
  expect(signed.every(({ gasPrice = 0n }) => gasPrice <= 20n * gwei)).toBe(true)
  // The suggestion leaves the price to the service, and is accepted as it stands.
  const [advice] = explained.suggestions
  expect(advice).toMatchObject({ operation: 'speedUpTransaction' })
  await rig.client().transactions.speedUp(account.relayer_id, id, advice?.body as SpeedUpTransactionRequest)
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ status: 'confirmed', error: null })
})

test.each([
  { policies: { gas_price_cap: `${30n * gwei}` }, body: { speed: 'fastest' as const } },
  { policies: { gas_price_cap: `${30n * gwei}` }, body: {} },
])(
  'J2: refuses a replacement that the policies leave no room for, with the figures: %o',
  async ({ policies, body }) => {
    const { rig, account } = await start(policies)
    await rig.chain.setBaseFee(100n * gwei)
    await rig.chain.mine()
    const [sent] = await account.send(1, { gas_limit: 21_000 })
    const { id = '', value = '1', to = null } = sent ?? {}
    await until('it waits', async () => (await explain(rig, id)).wait_reason === 'price_cap')
    const before = await attemptsOf(rig, account, id)
    const refused = await replace(rig, account, id, { to, value, gas_limit: 21_000, ...body }).catch((error) => error)
    expect(refused).toBeInstanceOf(RelayerError)
    expect(refused).toMatchObject({ status: 409, code: 'invalid_state' })
    expect(refused.details[0].message).toContain('at most 30 gwei')
    expect(await attemptsOf(rig, account, id)).toEqual(before)
    expect((await explain(rig, id)).wait_reason).toBe('price_cap')
  },
)

test('C2: sends a transaction of type 4 as nothing else', async () => {
  const { rig, node, account, signed, watch } = await start({ allow_authorizations: true })
  const authority = await rig.addAccount({ policies: { allow_authorizations: true } })
  const { data: authorization } = await rig.client().post('/api/v1/relayers/{relayer_id}/sign-authorization', {
    path: { relayer_id: authority.relayer_id },
    body: { address: delegate, nonce: 0 },
  })
  let isDown = true
  node.lie = (method, params, truth) => {
    watch(method, params, truth)
    return isDown && method === 'eth_sendRawTransaction' ? new Error('internal error') : undefined
  }
  const body = { to: receiver, gas_limit: 100_000, authorization_list: [authorization] }
  const [sent] = await account.send(1, { ...body, speed: 'fastest' })
  const { id = '', value = '1' } = sent ?? {}
  await until('it is signed, and no node has it', async () => (await firstOf(account))?.status === 'sent')
  // The policy is turned off, and the node shows no base fee any more.
  await rig.client().patch('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: account.relayer_id },
    body: { policies: { eip1559_pricing: false } },
  })
  node.lie = async (method, params, truth) => {
    watch(method, params, truth)
    if (isDown && method === 'eth_sendRawTransaction') return new Error('internal error')
    if (method !== 'eth_feeHistory') return undefined
    const history = (await truth()) as { baseFeePerGas: string[] }
    return { ...history, baseFeePerGas: history.baseFeePerGas.map(() => '0x0') }
  }
  await rig.chain.setBaseFee(9n * gwei)
  const isSignedAgain = async () => (await attemptsOf(rig, account, id)).length > 1
  await until('it is signed again', isSignedAgain, async () => {
    rig.clock.passed_ms += 16_000
    await rig.chain.mine()
  })
  isDown = false
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await replace(rig, account, id, { ...body, value }).catch((error) => expect([400, 409]).toContain(error.status))
  expect(signed.map(({ type }) => type)).toEqual(signed.map(() => 'eip7702'))
})

test('C2: keeps the authorizations of a transaction that replaces one at a gas price', async () => {
  const { rig, account, signed } = await start({ allow_authorizations: true })
  const authority = await rig.addAccount({ policies: { allow_authorizations: true } })
  const { data: authorization } = await rig.client().post('/api/v1/relayers/{relayer_id}/sign-authorization', {
    path: { relayer_id: authority.relayer_id },
    body: { address: delegate, nonce: 0 },
  })
  const [{ id = '' } = {}] = await account.send(1, priced(3n * gwei))
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await replace(rig, account, id, { to: receiver, value: '7', gas_limit: 100_000, authorization_list: [authorization] })
  await until('a node gets it', () => signed.at(-1)?.value === 7n)
  expect(signed.at(-1)).toMatchObject({ type: 'eip7702', authorizationList: [{ chainId: 31_337 }] })
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ status: 'confirmed', authorization_list: [{ address: delegate }] })
})

test('signs type 0x1 as type 1, and takes a repetition without a gas price for the same request', async () => {
  const { rig, account, signed } = await start()
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const one = { from: account.address, to: receiver, value: '0x1', gas: '0x7530' }
  for (const type of ['0x0', '0x1']) {
    const header = { 'Idempotency-Key': `order-${type}` }
    const send = () => rpc.result('eth_sendTransaction', [{ ...one, type }], header)
    const hash = await send()
    // The node's gas price has changed meanwhile.
    await rig.chain.setBaseFee(3n * gwei)
    await rig.chain.mine()
    expect(await send()).toEqual(hash)
  }
  const types = new Set(signed.map(({ type, nonce }) => `${nonce} ${type}`))
  expect(types).toEqual(new Set(['0 legacy', '1 eip2930']))
  expect(await account.transactions()).toHaveLength(2)
})

const ways: [string, (stage: Stage) => Promise<object | undefined>][] = [
  ['one transaction', async ({ rig, account }: Stage) => rig.client().transactions.send(account.relayer_id, transfer)],
  [
    'a batch',
    async ({ rig, account }: Stage) => {
      const path = { relayer_id: account.relayer_id }
      const body = { transactions: [transfer] }
      return (await rig.client().post('/api/v1/relayers/{relayer_id}/transactions/batch', { path, body })).data[0]
    },
  ],
]

test.each(ways)(
  'prices %s by the policies that are in force when it is accepted, not by those of before the quote',
  async (_, send) => {
    const stage = await start({ gas_price_cap: `${90n * gwei}` })
    const { rig, node, account } = stage
    await rig.chain.setBaseFee(50n * gwei)
    await rig.chain.mine()
    const setCap = () =>
      rig.client().patch('/api/v1/relayers/{relayer_id}', {
        path: { relayer_id: account.relayer_id },
        body: { policies: { gas_price_cap: `${5n * gwei}` } },
      })
    // The cap is lowered while the chain answers.
    let isLowered = false
    node.lie = async (method) => {
      if (method === 'eth_estimateGas' && !isLowered) {
        isLowered = true
        await setCap()
      }
      return undefined
    }
    const accepted = await send(stage)
    expect(isLowered).toBe(true)
    expect(accepted).toMatchObject({ max_fee_per_gas: `${5n * gwei}` })
  },
)

test.each(ways)('refuses %s whose policies change each time before the nodes answer', async (_, send) => {
  const stage = await start()
  const { rig, node, account } = stage
  let quotes = 0
  node.lie = async (method) => {
    if (method !== 'eth_estimateGas' || quotes === 40) return undefined
    quotes += 1
    const body = { policies: { gas_price_cap: `${BigInt(1_000 + quotes) * gwei}` } }
    await rig.client().patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: account.relayer_id }, body })
    return undefined
  }
  expect(await send(stage).catch((error) => error)).toMatchObject({ status: 503, code: 'unavailable', retryAfter: 1 })
  expect(quotes).toBeLessThan(40)
  expect(await account.transactions()).toEqual([])
})

type Stage = Awaited<ReturnType<typeof start>>
const transfer = { to: receiver, value: '1' }
