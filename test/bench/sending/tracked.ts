import { setTimeout as pause } from 'node:timers/promises'
import type { Anvil } from '../../support/anvil.ts'
import type { Figures } from '../measure.ts'
import { postAll } from './load.ts'
import { setStage } from './stage.ts'
import { until } from './until.ts'

export const trackedMs = 10_000

/** What the chain is asked while so many transactions wait and none is mined. */
export async function tracked(count: number, blocks: boolean): Promise<Figures> {
  const stage = await setStage({ mining: false })
  try {
    const { chain, tap, service } = stage
    await postAll(stage, count, { gas_limit: 21_000 })
    let last = -1
    await until(() => {
      const { eth_sendRawTransaction: sent = 0 } = tap.counts()
      const still = sent > 0 && sent === last
      last = sent
      return still
    }, 1_000)
    const before = { counts: tap.counts(), cpu_ms: service.cpu_ms() }
    const startedAt = performance.now()
    while (performance.now() - startedAt < trackedMs) {
      await pause(1_000)
      if (blocks) await mineNone(chain)
    }
    const seconds = (performance.now() - startedAt) / 1_000
    const counts = tap.counts()
    const made = (name: string) => (counts[name] ?? 0) - (before.counts[name] ?? 0)
    const calls = Object.keys(counts).reduce((sum, name) => (name === 'requests' ? sum : sum + made(name)), 0)
    const looks = made('eth_getTransactionCount')
    return {
      looks_per_s: looks / seconds,
      calls_per_look: calls / looks,
      calls_per_s: calls / seconds,
      of_them_sends_per_s: made('eth_sendRawTransaction') / seconds,
      http_requests_per_s: made('requests') / seconds,
      cpu_ms_per_look: (service.cpu_ms() - before.cpu_ms) / looks,
    }
  } finally {
    await stage.end()
  }
}

/** A block without transactions: its base fee is more than they pay. */
async function mineNone(chain: Anvil): Promise<void> {
  await chain.setBaseFee(10n ** 15n)
  await chain.mine()
}
