import { expect, test } from 'vitest'
import { clean, minedBy } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

/** What server/sender allows. */
const maxInFlight = 600

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)

test('assigns nonces 0 to 499 to 500 parallel sends in the order of acceptance, and all are mined', async () => {
  const { chain, addAccount } = await testRig({ chain: { blockTime_s: 0.25 } })
  const account = await addAccount()
  const sent = await account.send(500)
  expect(sent.map(({ nonce }) => nonce)).toEqual(upTo(500))

  await account.finished()
  const listed = (await account.transactions()).reverse()
  expect(listed.map(({ nonce }) => nonce)).toEqual(upTo(500))
  const mined = (await minedBy(chain, account.address)).sort((a, b) => a.nonce - b.nonce)
  expect(mined.map(({ value }) => `${value}`)).toEqual(listed.map(({ value }) => value))
  expect(await account.score()).toEqual(clean(500))
})

test('assigns nonces 0 to 49 to 50 sends on each of 10 relayers at the same time, and all are mined', async () => {
  const { addAccount } = await testRig({ chain: { blockTime_s: 0.25 } })
  const accounts = await Promise.all(upTo(10).map(() => addAccount()))
  const sent = await Promise.all(accounts.map((account) => account.send(50)))
  for (const own of sent) expect(own.map(({ nonce }) => nonce)).toEqual(upTo(50))

  for (const account of accounts) {
    await account.finished()
    expect(await account.score()).toEqual(clean(50))
  }
})

test('keeps a bounded number of a queue of 1,000 at the node, in the order of nonces', async () => {
  const { chain, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const pool = async () => {
    const { pending, queued } = await chain.rpc<{ pending: string; queued: string }>('txpool_status')
    return { queued: Number(queued), all: Number(pending) + Number(queued) }
  }
  const most = async (highest = 0) => {
    const { all } = await pool()
    expect(all).toBeLessThanOrEqual(maxInFlight)
    return Math.max(highest, all)
  }

  let accepted = false
  const sending = account.send(1_000).finally(() => {
    accepted = true
  })
  let highest = 0
  await until('all are accepted and the node has what it may have', async () => {
    highest = await most(highest)
    return accepted && highest === maxInFlight
  })
  await sending
  // While anvil takes a batch it shows some of it as waiting for a nonce before it.
  await until('nothing waits for an earlier nonce', async () => (await pool()).queued === 0)

  // Each block makes room for as many transactions as it contains.
  await account.finished(async () => {
    await most()
    await chain.mine()
  })
  expect(await account.score()).toEqual(clean(1_000))
})
