import { expect, test } from 'vitest'
import { createChainWatch } from '../../server/evm/chain-watch.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const max_age_ms = 50
const addresses = ['0xa', '0xb', '0xc']

/** A chain of the test's own, under a clock that stands until it is set; `asked`: since the last `tick`. */
function watched() {
  const chain = { number: 1, fails: false, latest: 0 }
  const clock = { ms: 0 }
  let asked: string[] = []
  const watch = createChainWatch(
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
  const look = (address: string) => watch.look(address, max_age_ms)
  return {
    chain,
    look,
    taken() {
      const before = asked
      asked = []
      return before
    },
    /** All of them look at the next moment; answers what was asked of the chain. */
    async tick(waiting = addresses) {
      clock.ms += 2 * max_age_ms
      asked = []
      const looks = await Promise.all(waiting.map(look))
      for (const { head, latest } of looks) expect([head.number, latest]).toEqual([chain.number, chain.latest])
      return asked
    },
  }
}

test('one question for the head serves all; counts are asked twice at a new head, and then no more', async () => {
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

test('a relayer that comes a little later, and one that is new, have the same look', async () => {
  const { look, tick, taken } = watched()
  await tick()
  await tick()
  expect(await tick(['0xa'])).toEqual(['head'])
  await look('0xb')
  expect(taken()).toEqual(['head'])
  await look('0xd')
  expect(taken()).toEqual(['0xd'])
})

test('a second look at once reads the chain again, for that account only', async () => {
  const { look, tick, taken } = watched()
  await tick()
  await tick()
  await tick()
  taken()
  await look('0xa')
  expect(taken()).toEqual(['head', '0xa'])
  await look('0xb')
  expect(taken()).toEqual([])
})

test('a failed look fails for all who share it, and the next one asks again', async () => {
  const { chain, look, tick, taken } = watched()
  chain.fails = true
  await expect(Promise.allSettled(addresses.map(look))).resolves.toMatchObject(
    addresses.map(() => ({ status: 'rejected' })),
  )
  expect(taken()).toEqual(['head'])
  chain.fails = false
  await look('0xa')
  expect(taken()).toEqual(['head', '0xa'])
  expect(await tick(['0xa'])).toEqual(['head', '0xa'])
})

test('a count that went back is asked for at each look, until it may be taken for the truth', async () => {
  const { chain, tick } = watched()
  chain.latest = 5
  for (const _ of [1, 2, 3]) await tick(['0xa'])
  chain.number = 2
  chain.latest = 4
  for (const _ of [1, 2, 3, 4, 5, 6]) expect(await tick(['0xa'])).toEqual(['head', '0xa'])
  expect(await tick(['0xa'])).toEqual(['head'])
})

test('ten relayers that wait for a block cost one call per look', async () => {
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
