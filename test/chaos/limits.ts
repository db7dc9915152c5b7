import { setTimeout as pause } from 'node:timers/promises'
import { RelayerError } from '../../client/index.ts'
import { readLedger } from '../support/ledger.ts'
import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import { answering, holding, refusing } from './liars.ts'
import type { Outcome } from './outcome.ts'
import { blocks, recover } from './pace.ts'

const measuredMs = 5_000
/** For one relayer that waits on a network with blocks of half a second. */
const maxCallsPerS = 60
const maxSendsEach = 3
/** CPU time of one turn of the event loop, which other work on the machine does not lengthen. The client shares the process. */
const maxTurnMs = 100

/** The only node refuses, as if for good, whatever is sent; one of two is canceled, and the node refuses that too. */
export async function refusedWithdrawal(rig: Rig, account: Account): Promise<Outcome> {
  rig.proxy.setLiar(refusing('exceeds block gas limit'))
  const [, last] = await account.send(2)
  await blocks(rig, 4)
  // A rejection by one node ends no transaction: only canceled ones are withdrawn.
  await account.cancel(last?.id ?? '')
  await blocks(rig, 4)
  const callsPerS = await callRate(rig)
  await account.noteSilence()
  await recover(rig, account)
  const { withdrawn } = await account.score()
  const faults = { too_many_calls: callsPerS > maxCallsPerS ? callsPerS : 0 }
  return outcomeOf(account, faults, { calls_per_s: callsPerS }, { withdrawn: Math.min(withdrawn, 1) })
}

/** Batches above the node's limit for bodies are refused with 413. */
export async function bodyLimit(rig: Rig, account: Account): Promise<Outcome> {
  rig.proxy.setBodyLimit(10_000)
  await account.send(150)
  await account.finishedWithin(30_000, rig.chain.mine)
  const { body_limit = 0 } = rig.proxy.counts()
  const { unfinished } = await account.score()
  await recover(rig, account)
  return outcomeOf(account, { unfinished_under_the_limit: unfinished }, { body_limit })
}

/** The fee history is null, or something else than one. */
export async function feeHistory(rig: Rig, account: Account): Promise<Outcome> {
  let refused = 0
  for (const answer of [null, {}, { baseFeePerGas: 'x', reward: 7 }, []]) {
    await account.send(3)
    rig.proxy.setLiar(answering('eth_feeHistory', answer))
    await pause(measuredMs / 2)
    // A dry run reads gas prices as a send does, and the rig does not repeat it while the chain does not respond.
    await dryRun(rig, account).catch((error: unknown) => {
      if (!(error instanceof RelayerError)) throw error
      refused += 1
    })
    if (!(await account.finishedWithin(10_000, rig.chain.mine))) await account.noteSilence()
  }
  const { unfinished } = await account.score()
  await recover(rig, account)
  return outcomeOf(account, { refused, unfinished_meanwhile: unfinished })
}

/** Nodes at different heights: a mined transaction is not reported as reorganized. */
export async function laggingNode(rig: Rig, account: Account, rounds: number): Promise<Outcome> {
  await rig.chain.mine(10)
  await rig.proxies[1]?.setFault({ kind: 'stale', blocks: 3 })
  for (let round = 0; round < rounds; round += 1) {
    await account.send(2)
    await blocks(rig, 1)
  }
  await recover(rig, account)
  const told = [...(await readLedger(rig)).states.values()].map((states) => states.join(' '))
  return outcomeOf(account, { taken_back: told.filter((states) => states.includes('mined submitted')).length })
}

/** The node holds a limited number of transactions of an account, and refuses further ones. */
export async function narrowPool(rig: Rig, account: Account, slots: number, count: number): Promise<Outcome> {
  rig.proxy.setLiar(holding(rig.chain, account.address, slots))
  await account.send(count)
  await account.finishedWithin(60_000, rig.chain.mine)
  const sendsEach = Math.round((10 * (rig.proxy.counts().eth_sendRawTransaction ?? 0)) / count) / 10
  await recover(rig, account)
  return outcomeOf(account, { too_many_sends: sendsEach > maxSendsEach ? sendsEach : 0 }, { sends_each: sendsEach })
}

const dryRun = (rig: Rig, { relayer_id }: Account) =>
  rig.client().post('/api/v1/relayers/{relayer_id}/transactions/dry-run', {
    path: { relayer_id },
    body: { to: `0x${'5a'.repeat(20)}`, value: '1000' },
  })

/** The balance suffices for three transfers, and ten are requested. */
export async function overCommitted(rig: Rig, account: Account): Promise<Outcome> {
  const quote = await dryRun(rig, account)
  await rig.chain.setBalance(account.address, BigInt(quote.data.max_cost ?? 0) * 3n + 10n ** 9n)
  await pause(2_000)
  let refused = 0
  for (let time = 0; time < 10; time += 1) {
    await account.send(1).catch((error: unknown) => {
      if (!(error instanceof RelayerError)) throw error
      refused += 1
    })
  }
  await recover(rig, account)
  const { accepted } = await account.score()
  return outcomeOf(account, { over_committed: Math.max(0, accepted - 3) }, { refused })
}

/** Cancels `count` unfinished transactions by one request, which must not block the event loop for long. */
export async function bulkCancel(rig: Rig, account: Account, count: number): Promise<Outcome> {
  const sent = await account.send(count)
  const path = { relayer_id: account.relayer_id }
  const turns = watchTurns()
  await rig.client().delete('/api/v1/relayers/{relayer_id}/transactions/pending', { path })
  const longestMs = turns.stop()
  account.noteWithdrawn(sent.map(({ id }) => id))
  await until('all ended', () => account.finishedWithin(1_000, rig.chain.mine))
  const { withdrawn } = await account.score()
  const faults = { blocked_ms: longestMs > maxTurnMs ? longestMs : 0 }
  return outcomeOf(account, faults, { longest_ms: longestMs, withdrawn }, { withdrawn })
}

/** The longest turn of the event loop, in milliseconds of this thread's CPU. */
function watchTurns() {
  let longestUs = 0
  let before = process.threadCpuUsage()
  let next = setImmediate(look)
  function look() {
    const { user, system } = process.threadCpuUsage(before)
    longestUs = Math.max(longestUs, user + system)
    before = process.threadCpuUsage()
    next = setImmediate(look)
  }
  return {
    stop() {
      clearImmediate(next)
      return Math.round(longestUs / 1_000)
    },
  }
}

/** `count` relayers wait for a block, and share their checks of the chain. */
export async function manyRelayers(rig: Rig, first: Account, count: number): Promise<Outcome> {
  await first.send(1)
  await pause(1_000)
  const one = await callRate(rig)
  const others = await Promise.all(Array.from({ length: count - 1 }, () => rig.addAccount()))
  await Promise.all(others.map((account) => account.send(1)))
  await pause(1_000)
  const all = await callRate(rig)
  await recover(rig, first)
  for (const account of others) await account.finished(rig.chain.mine)
  const timesAsMany = Math.round((10 * all) / Math.max(1, one)) / 10
  const faults = { too_many_calls: all > 2 * one + count ? all : 0 }
  return outcomeOf(first, faults, { one_per_s: one, all_per_s: all, times_as_many: timesAsMany })
}

/** Requests of HTTP and calls in them cost a node alike: the calls are counted. */
async function callRate({ proxies }: Rig): Promise<number> {
  const total = () =>
    proxies.reduce((sum, proxy) => {
      const { requests: _requests, ...calls } = proxy.counts()
      return sum + Object.values(calls).reduce((all, count) => all + count, 0)
    }, 0)
  const before = total()
  await pause(measuredMs)
  return Math.round(((total() - before) * 1_000) / measuredMs)
}

async function outcomeOf(
  account: Account,
  faults: Record<string, number>,
  seen: Record<string, number> = {},
  expected: Outcome['expected'] = {},
): Promise<Outcome> {
  return { score: await account.score(), money: await account.money(), expected, faults, seen }
}
