import { JsonRpcProvider, Wallet } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { Account, Rig } from '../../support/rig.ts'
import { restore, rowsOf } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const receiver = `0x${'63'.repeat(20)}`
const other = `0x${'64'.repeat(20)}`
const knownKey = ({ chain }: Rig) => chain.accounts[1]?.key as string
const firstOf = async (account: Account) => (await account.transactions())[0]
const received = async ({ chain }: Rig, address: string) =>
  BigInt(await chain.rpc<string>('eth_getBalance', [address, 'latest']))
const send = async ({ client }: Rig, { relayer_id }: Account, value: string) => {
  const body = { to: receiver, value, gas_limit: 21_000 }
  return (await client().post('/api/v1/relayers/{relayer_id}/transactions', { path: { relayer_id }, body })).data
}

/** The account's key in another program, which pays more than the service. */
async function takeNonce(rig: Rig, nonce: number): Promise<string> {
  const { chain } = rig
  const provider = new JsonRpcProvider(chain.url, chain.chain_id, { staticNetwork: true })
  onTestFinished(() => provider.destroy())
  const fees = { maxFeePerGas: 100n * gwei, maxPriorityFeePerGas: 50n * gwei }
  const wallet = new Wallet(knownKey(rig), provider)
  return (await wallet.sendTransaction({ to: other, value: 1n, nonce, gasLimit: 21_000, ...fees })).hash
}

test('a reason never says that a transaction has a new nonce and that it is not sent', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ key: knownKey(rig), policies: { max_value_per_day: '50' } })
  await send(rig, account, '30')
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const hash = await takeNonce(rig, 0)
  await account.finished(rig.chain.mine)
  // Sending it again would count another 30 of 50.
  const { status, status_reason, error } = (await firstOf(account)) ?? {}
  expect([status, error?.code]).toEqual(['failed', 'policy_violation'])
  for (const text of [status_reason, error?.message]) {
    expect(text).toContain('max_value_per_day')
    expect(text).toContain(hash)
    expect(text).not.toMatch(/new nonce/)
  }
  expect(await received(rig, receiver)).toBe(0n)
})

// PostgreSQL makes such a copy with its own tools.
test('after a restore from before a new nonce was given, no reason says that the transaction was not sent', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ key: knownKey(rig) })
  const { id } = await send(rig, account, '42')
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await rowsOf(rig, `VACUUM INTO '${rig.database_file}.backup'`)
  // The service that goes on loses nonce 0 to another sender, and sends the transaction at nonce 1.
  await takeNonce(rig, 0)
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ id, status: 'confirmed', nonce: 1 })
  expect(await received(rig, receiver)).toBe(42n)
  // The copy knows it at nonce 0.
  await rig.restart(() => restore(rig))
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  const row = await firstOf(account)
  expect(row).toMatchObject({ id })
  expect(await received(rig, receiver)).toBe(42n)
  if (row?.status === 'confirmed') return
  expect(row?.status_reason).not.toMatch(/^Not sent/)
  expect(row?.status_reason).toMatch(/check the chain/i)
})
