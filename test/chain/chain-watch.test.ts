import { expect, test } from 'vitest'
import { ChainWatch } from '../../server/chain/chain-watch.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const maxAgeMs = 50
const addresses = ['0xa', '0xb', '0xc']

/** A chain of the test's own, under a clock that stands until it is set; `asked`: since the last `tick`. */
function watched() {
  const chain = { number: 1, fails: false, latest: 0 }
  const clock = { ms: 0 }
  let asked: string[] = []
  const watch = new ChainWatch(
    {
      async head() {
        asked.push('head')
        if (chain.fails) throw new Error('No node of the network answers')
        return { number: chain.number, hash: `h${chain.number}`, parent_hash: `h${chain.number - 1}` }
      },
      async latestNonce(address) {
        asked.push(address)
        return chain.latest
      },
    },
    () => clock.ms,
  )
  const poll = (address: string) => watch.poll(address, maxAgeMs)
  return {
    chain,
    poll,
    taken() {
      const before = asked
      asked = []
      return before
    },
    /** All watchers poll at the next tick; returns the calls to the chain. */
    async tick(waiting = addresses) {
      clock.ms += 2 * maxAgeMs
      asked = []
      const polls = await Promise.all(waiting.map(poll))
      for (const { head, latest } of polls) expect([head.number, latest]).toEqual([chain.number, chain.latest])
      return asked
    },
  }
}

test('reads the head once for all accounts; reads counts twice after a new head, and then no more', async () => {
  const { chain, tick } = watched()
  expect(await tick()).toEqual(['head', ...addresses])
  expect(await tick()).toEqual(['head', ...addresses])
  for (let times = 0; times < 3; times += 1) expect(await tick()).toEqual(['head'])
  chain.number = 2
  chain.latest = 1
  expect(await tick()).toEqual(['head', ...addresses])
  expect(await tick()).toEqual(['head', ...addresses])
  expect(await tick()).toEqual(['head'])
})

test('shares a poll with an account that asks a little later or for the first time', async () => {
  const { poll, tick, taken } = watched()
  await tick()
  await tick()
  expect(await tick(['0xa'])).toEqual(['head'])
  await poll('0xb')
  expect(taken()).toEqual(['head'])
  await poll('0xd')
  expect(taken()).toEqual(['0xd'])
})

test('reads the chain again for an account that polls twice in a row, and for that account only', async () => {
  const { poll, tick, taken } = watched()
  await tick()
  await tick()
  await tick()
  taken()
  await poll('0xa')
  expect(taken()).toEqual(['head', '0xa'])
  await poll('0xb')
  expect(taken()).toEqual([])
})

test('fails all callers of a failed poll, and reads the chain again at the next one', async () => {
  const { chain, poll, tick, taken } = watched()
  chain.fails = true
  await expect(Promise.allSettled(addresses.map(poll))).resolves.toMatchObject(
    addresses.map(() => ({ status: 'rejected' })),
  )
  expect(taken()).toEqual(['head'])
  chain.fails = false
  await poll('0xa')
  expect(taken()).toEqual(['head', '0xa'])
  expect(await tick(['0xa'])).toEqual(['head', '0xa'])
})

test('reads a decreased count again at each poll, until callers may believe it', async () => {
  const { chain, tick } = watched()
  chain.latest = 5
  for (const _ of [1, 2, 3]) await tick(['0xa'])
  chain.number = 2
  chain.latest = 4
  for (const _ of [1, 2, 3, 4, 5, 6]) expect(await tick(['0xa'])).toEqual(['head', '0xa'])
  expect(await tick(['0xa'])).toEqual(['head'])
})

test('reads the head once per poll for ten relayers', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const accounts = await Promise.all(Array.from({ length: 10 }, () => rig.addAccount()))
  await Promise.all(accounts.map((account) => account.send(1)))
  const counted = () => {
    const { eth_getBlockByNumber: heads = 0, eth_getTransactionCount: counts = 0 } = rig.proxy.counts()
    return { heads, counts }
  }
  const submitted = async () =>
    (await Promise.all(accounts.map((account) => account.transactions())))
      .flat()
      .every(({ status }) => status === 'submitted')
  await until('the node has all', submitted)
  const settled = counted().heads + 5
  await until('the last counts were asked', () => counted().heads >= settled)
  const before = counted()
  await until('the chain was looked at again', () => counted().heads >= before.heads + 10)
  expect(counted().counts - before.counts).toBe(0)

  await rig.chain.mine()
  await Promise.all(accounts.map((account) => account.finished()))
  for (const account of accounts) expect(await account.score()).toMatchObject({ lost: 0 })
})
