import { Transaction as SignedTransaction } from 'ethers'
import { expect, test } from 'vitest'
import { RelayerError, type SendTransactionRequest, type Transaction } from '../../client/index.ts'
import { clean } from '../support/ledger.ts'
import { testLiar } from '../support/liar.ts'
import type { Account, Rig } from '../support/rig.ts'
import { columnOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const one = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const minuteMs = 60_000
const gwei = 10n ** 9n

/** An account on a chain that mines on command, and the steps that a test takes with its one transaction. */
async function start(policies = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const { chain, proxy, clock, client } = rig
  const account = await rig.addAccount({ policies })
  const path = { relayer_id: account.relayer_id }
  const first = async () => (await account.transactions()).at(-1) as Transaction
  const its = async () => ({ ...path, transaction_id: (await first()).id })
  const looks = () => proxy.counts().eth_getBlockByNumber ?? 0
  const looked = async () => {
    const before = looks()
    await until('the service has looked', () => looks() >= before + 2)
  }
  return {
    ...rig,
    account,
    first,
    looked,
    /** Advances the clock and mines a block, `times` times; the service checks the chain twice each time. */
    async pass(times: number, ms: number) {
      for (let time = 0; time < times; time += 1) {
        clock.ahead_ms += ms
        await chain.mine()
        await looked()
      }
    },
    says: (pattern: RegExp) =>
      until(`it says ${pattern}`, async () => pattern.test((await first()).status_reason ?? '')),
    replace: async (body: Partial<SendTransactionRequest>) =>
      client().put(one, { path: await its(), body: { to: account.address, value: '1', ...body } }),
    cancel: async () => client().delete(one, { path: await its() }),
    nonce: async () => (await client().get('/api/v1/relayers/{relayer_id}/nonce', { path })).data,
    /** The worst-case prices of all that was signed for the first transaction. */
    signed: () => signedPrices(rig),
    poolHas: async (hash: string | null) =>
      hash !== null && (await chain.rpc('eth_getTransactionByHash', [hash])) !== null,
  }
}

async function signedPrices(rig: Rig): Promise<bigint[]> {
  const prices = `SELECT coalesce(max_fee_per_gas, gas_price) FROM attempts WHERE transaction_row_id = 1 ORDER BY number`
  return (await columnOf<string>(rig, prices)).map(BigInt)
}

const ends = async (account: Account, rig: Rig) => {
  await account.finished(rig.chain.mine)
  expect(await account.score()).toMatchObject({ ...clean(1), withdrawn: expect.any(Number) })
}

test('pays the market price after nodes refused a transaction for an hour and the account had no funds for four', async () => {
  const rig = await start()
  const { account, chain, proxy, pass, says, signed, first } = rig
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await account.send(1, { speed: 'fast' })
  await pass(6, 10 * minuteMs)
  await says(/^Waits: nodes refuse it: .*internal error/)
  await chain.setBalance(account.address, 0n)
  await proxy.setFault(undefined)
  await pass(6, 40 * minuteMs)
  await says(/^Waits: the balance is too low/)
  await chain.setBalance(account.address, 10n ** 18n)
  await ends(account, rig)
  // Empty blocks lower the base fee; no later version was signed at a higher price than the first.
  const prices = await signed()
  expect(prices.every((price) => price <= (prices[0] ?? 0n))).toBe(true)
  expect((await first()).max_fee_per_gas).toBe(`${prices.at(-1)}`)
})

test('raises the price of a transaction that blocks leave out, with blocks and time, up to a multiple of the market price', async () => {
  const { account, proxy, pass, looked, says, signed, clock, first, chain } = await start({ max_fee_multiplier: 2 })
  await proxy.setFault({ kind: 'accepted_and_forgotten' })
  await account.send(1, { speed: 'fastest' })
  await until('it is with the node', async () => (await first()).status === 'submitted')
  // Time alone raises no price: no block has left out the transaction.
  clock.ahead_ms += 60 * minuteMs
  await looked()
  expect(await signed()).toHaveLength(1)
  for (let round = 0; round < 20 && !(await first()).status_reason?.includes('max_fee_multiplier'); round += 1) {
    await chain.setBaseFee(gwei)
    await pass(1, minuteMs)
  }
  await says(/^Waits: a higher price would be more than 2 times the market price \(policy max_fee_multiplier\)$/)
  const [lowest = 0n, ...bumps] = await signed()
  expect(bumps.length).toBeGreaterThan(1)
  const market = 2n * gwei + gwei
  expect(bumps.at(-1)).toBeLessThanOrEqual(2n * (lowest > market ? lowest : market))
})

const mistake = { max_fee_per_gas: `${100_000n * gwei}`, max_priority_fee_per_gas: `${gwei}`, gas_limit: 21_000 }

/** A price that no node takes, by mistake: the balance does not suffice for it. */
async function startWithMistake() {
  const rig = await start()
  await rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await rig.account.send(1, mistake)
  await rig.chain.setBalance(rig.account.address, 10n ** 18n)
  await rig.proxy.setFault(undefined)
  await rig.says(/^Waits: the balance is too low/)
  return rig
}

test('lowers a price that no node accepted, on request', async () => {
  const rig = await startWithMistake()
  const { account, replace, first, nonce } = rig
  const { id: transactionId, status_reason: statusReason } = await first()
  expect((await nonce()).blocking_transaction).toEqual({
    transaction_id: transactionId,
    nonce: 0,
    wait_reason: 'funds',
    status_reason: statusReason,
  })
  const { value } = await first()
  await replace({ value, max_fee_per_gas: `${100n * gwei}`, max_priority_fee_per_gas: `${gwei}`, gas_limit: 21_000 })
  await ends(account, rig)
  expect(await first()).toMatchObject({ status: 'confirmed', max_fee_per_gas: `${100n * gwei}` })
  expect((await nonce()).blocking_transaction).toBeNull()
})

test('cancels a transaction that no node accepted at the market price', async () => {
  const rig = await startWithMistake()
  const { account, cancel, first, signed } = rig
  await cancel()
  await ends(account, rig)
  expect(await first()).toMatchObject({ status: 'canceled', status_reason: 'Canceled by request' })
  expect((await signed()).at(-1)).toBeLessThan(100n * gwei)
})

test('reports a refused cancellation beside its request', async () => {
  const { account, chain, cancel, says, nonce } = await startWithMistake()
  await chain.setBalance(account.address, 1n)
  await cancel()
  await says(/^Canceled by request; Waits: the balance is too low: .+/)
  expect((await nonce()).blocking_transaction).toMatchObject({ nonce: 0, wait_reason: 'funds' })
})

test('signs nothing above the price of a replacement while a node holds a dearer version, whose response was lost', async () => {
  const rig = await start()
  const { account, proxy, replace, first, signed, poolHas } = rig
  await proxy.setFault({ kind: 'reset_after_forwarding', methods: ['eth_sendRawTransaction'] })
  const dear = { max_fee_per_gas: `${50n * gwei}`, max_priority_fee_per_gas: `${2n * gwei}`, gas_limit: 21_000 }
  const [sent] = await account.send(1, dear)
  await until('the node has it', async () => poolHas((await first()).hash))
  expect(await first()).toMatchObject({ status: 'sent' })
  await proxy.setFault({ kind: 'http_500', methods: ['eth_sendRawTransaction'] })
  await replace({ value: `${sent?.value}`, max_fee_per_gas: `${20n * gwei}`, max_priority_fee_per_gas: `${gwei}` })
  await proxy.setFault(undefined)
  const says = /^Waits: the request allows a price of at most 20 gwei, .* takes at least 55 gwei/
  await until('it says what replacing takes', async () => says.test((await first()).status_reason ?? ''))
  expect(await signed()).toEqual([50n * gwei, 20n * gwei])
  // A node has the first version, so the rule holds, and a higher price replaces it.
  await expect(replace({ ...dear })).rejects.toThrow(RelayerError)
  await replace({ value: `${sent?.value}`, max_fee_per_gas: `${56n * gwei}`, max_priority_fee_per_gas: `${3n * gwei}` })
  await until('the replacement has taken its place', async () => poolHas((await first()).hash))
  expect(await signed()).toEqual([50n * gwei, 20n * gwei, 56n * gwei])
  await ends(account, rig)
})

test('pays a node that requires more than 10 % for a replacement more, step by step', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const liar = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [liar.url] })
  let held: SignedTransaction | undefined
  // The node keeps the first transaction out of all blocks, and takes no replacement below 1.4 times its price.
  liar.lie = (method, [param]) => {
    if (method === 'eth_getTransactionByHash' && param === held?.hash) return { hash: param }
    if (method !== 'eth_sendRawTransaction') return undefined
    const sent = SignedTransaction.from(`${param}`)
    held ??= sent
    if (sent.hash === held.hash) return sent.hash
    const isEnough = (sent.maxFeePerGas ?? 0n) * 10n >= (held.maxFeePerGas ?? 0n) * 14n
    return isEnough ? undefined : new Error('replacement transaction underpriced')
  }
  await account.send(1, { speed: 'fastest' })
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  const prices = await signedPrices(rig)
  const [first = 0n] = prices
  expect(prices.length).toBeGreaterThan(2)
  expect(prices.at(-1)).toBeGreaterThanOrEqual((first * 14n) / 10n)
  expect(prices.at(-1)).toBeLessThan(first * 2n)
  expect(await account.score()).toEqual(clean(1))
})
