import { expect, test } from 'vitest'
import type { Rig, startRig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const ether = 10n ** 18n
const gwei = 10n ** 9n
const minuteMs = 60_000
const receiver = `0x${'5a'.repeat(20)}`
type Account = Awaited<ReturnType<Awaited<ReturnType<typeof startRig>>['addAccount']>>

/** Waits until the base fee is above the price of the account's transaction, and mines until it has ended. */
async function spikeUntilEnded({ chain, clock }: Rig, account: Account, baseFee: bigint): Promise<void> {
  const [row] = await account.transactions()
  expect(BigInt(row?.gas_price ?? row?.max_fee_per_gas ?? 0)).toBeLessThan(baseFee)
  for (let block = 0; block < 3; block += 1) {
    await chain.setBaseFee(baseFee)
    await chain.mine()
    clock.passed_ms += minuteMs
  }
  await account.finished(async () => {
    clock.passed_ms += minuteMs
    await chain.setBaseFee(baseFee)
    await chain.mine()
  })
}

test.each([
  ['a legacy price', { eip1559_pricing: false }],
  ['a fee market', {}],
])(
  'a refill follows the market up to max_fee_per_gas, and holds up nobody behind the treasury: %s',
  async (_, policies) => {
    const rig = await testRig({ chain: { noMining: true } })
    const treasury = await rig.addAccount({ policies })
    const relayer = await rig.addAccount()
    await rig.chain.setBalance(relayer.address, ether)
    await rig.client().put('/api/v1/relayers/{relayer_id}/funding', {
      path: { relayer_id: relayer.relayer_id },
      body: {
        treasury_id: treasury.relayer_id,
        min_balance: `${2n * ether}`,
        target_balance: `${5n * ether}`,
        max_amount_per_day: `${100n * ether}`,
        max_fee_per_gas: `${60n * gwei}`,
      },
    })
    await until('a node has the refill', async () => (await treasury.transactions())[0]?.status === 'submitted')
    const [refill] = await treasury.transactions()
    await treasury.send(1)
    await spikeUntilEnded(rig, treasury, 30n * gwei)
    const rows = await treasury.transactions()
    expect(rows.map(({ status }) => status)).toEqual(['confirmed', 'confirmed'])
    const paid = rows.find(({ id }) => id === refill?.id)
    const price = BigInt(paid?.gas_price ?? paid?.max_fee_per_gas ?? 0)
    expect(price).toBeGreaterThanOrEqual(30n * gwei)
    expect(price).toBeLessThanOrEqual(60n * gwei)
  },
)

test.each([
  ['a legacy price', { eip1559_pricing: false }],
  ['a fee market', {}],
])('a sweep follows the market: a higher price lowers its value, and exactly keep is left: %s', async (_, policies) => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ policies })
  await rig.chain.setBalance(account.address, 10n * ether)
  const path = { relayer_id: account.relayer_id }
  const { data: swept } = await rig
    .client()
    .post('/api/v1/relayers/{relayer_id}/sweep', { path, body: { to: receiver, keep_amount: `${ether}` } })
  await until('a node has it', async () => (await account.transactions())[0]?.status === 'submitted')
  await spikeUntilEnded(rig, account, 30n * gwei)
  const [row] = await account.transactions()
  expect(row?.status).toBe('confirmed')
  expect(BigInt(row?.value ?? 0)).toBeLessThan(BigInt(swept.value))
  const left = await rig.chain.rpc<string>('eth_getBalance', [account.address, 'latest'])
  expect(BigInt(left)).toBe(ether)
})
