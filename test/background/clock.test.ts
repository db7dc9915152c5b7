import { expect, onTestFinished, test } from 'vitest'
import type { CreateSignerRequest, Transaction } from '../../client/index.ts'
import { clockMoves } from '../chaos/clock.ts'
import { wrongIn } from '../chaos/outcome.ts'
import { startFakeWeb3signer } from '../support/fake-web3signer.ts'
import { clean, minedBy } from '../support/ledger.ts'
import type { Account, Rig } from '../support/rig.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const minuteMs = 60_000

const inAMinute = () => new Date(Date.now() + minuteMs).toISOString()

const find = async (account: Account, wanted: Transaction | undefined) =>
  (await account.transactions()).find(({ id }) => id === wanted?.id)

/** An account with one transaction behind it. */
async function usedAccount({ chain, addAccount }: Rig, signer?: CreateSignerRequest): Promise<Account> {
  const account = await addAccount(signer && { signer })
  await account.send(1)
  await account.finished(chain.mine)
  return account
}

/** Like `usedAccount`, with a key service that fails between `fail` and `recover`: accepted transactions stay unsigned. */
async function unsignedAccount(rig: Rig) {
  const { faults, url, address, stop } = await startFakeWeb3signer()
  onTestFinished(stop)
  const account = await usedAccount(rig, { type: 'remote', config: { url, address } })
  return {
    account,
    fail() {
      faults.error = 'down'
    },
    recover() {
      faults.error = undefined
    },
  }
}

test('loses and doubles nothing when the wall clock moves by a day, forward and back, under traffic', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  expect(wrongIn(await clockMoves(rig, await rig.addAccount(), 8))).toEqual([])
})

test('broadcasts again when the wall clock goes back while no node accepts anything', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await rig.proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await account.send(3)
  const all = async (holds: (row: Transaction) => boolean) => (await account.transactions()).every(holds)
  await until('all were refused', () => all(({ status_reason }) => status_reason !== null))
  rig.clock.ahead_ms -= 86_400_000
  await rig.proxy.setFault(undefined)

  // No block comes that would tell that something is missing.
  await until('the node has all', () => all(({ status }) => status === 'submitted'))
  await account.finished(rig.chain.mine)
  expect(await account.score()).toEqual(clean(3))
})

test('expires an unsigned transaction with the highest nonce at valid_until, and returns the nonce', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { account, fail, recover } = await unsignedAccount(rig)
  fail()
  const [expiring] = await account.send(1, { valid_until: inAMinute() })
  rig.clock.ahead_ms += 2 * minuteMs
  await until('it is expired', async () => (await find(account, expiring))?.status === 'expired')

  recover()
  const [next] = await account.send(1)
  expect([expiring?.nonce, next?.nonce]).toEqual([1, 1])
  await account.finished(rig.chain.mine)
  expect((await account.transactions()).map(({ nonce, status }) => [nonce, status])).toEqual([
    [1, 'confirmed'],
    [null, 'expired'],
    [0, 'confirmed'],
  ])
  expect(await account.score()).toEqual({ ...clean(3), withdrawn: 1 })
})

test('uses the nonce of an unsigned transaction below another nonce at valid_until, and then expires it', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { account, fail, recover } = await unsignedAccount(rig)
  fail()
  const [expiring] = await account.send(1, { valid_until: inAMinute() })
  await account.send(2)
  rig.clock.ahead_ms += 2 * minuteMs
  const isWithdrawn = async () => /^valid_until has passed/.test((await find(account, expiring))?.status_reason ?? '')
  await until('it is withdrawn', isWithdrawn)
  expect(await find(account, expiring)).toMatchObject({ status: 'pending', hash: null })

  recover()
  await expireOnChain(rig, account, expiring)
})

test('cancels a submitted transaction on the chain at valid_until, and then expires it', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await usedAccount(rig)
  const [expiring] = await account.send(1, { valid_until: inAMinute() })
  await until('the node has it', async () => (await find(account, expiring))?.status === 'submitted')
  await account.send(2)
  rig.clock.ahead_ms += 2 * minuteMs
  await expireOnChain(rig, account, expiring)
})

/** Of an account with four transactions, whose second has just expired. */
async function expireOnChain(rig: Rig, account: Account, expiring: Transaction | undefined): Promise<void> {
  const hasCancel = async () => {
    const { hash } = (await find(account, expiring)) ?? {}
    const known = hash ? await rig.chain.rpc<{ value: string } | null>('eth_getTransactionByHash', [hash]) : null
    return known !== null && BigInt(known.value) === 0n
  }
  await until('the node has its cancel', hasCancel)
  expect((await find(account, expiring))?.status).not.toBe('expired')

  await account.finished(rig.chain.mine)
  expect(await find(account, expiring)).toMatchObject({ status: 'expired', nonce: 1, confirmed_at: null })
  expect((await minedBy(rig.chain, account.address)).find(({ nonce }) => nonce === 1)?.value).toBe(0n)
  expect(await account.score()).toEqual({ ...clean(4), withdrawn: 1 })
}
