import type { Figures } from '../measure.ts'
import { answeredIn, broadcastIn, percentilesOf, perSecond } from './figures.ts'
import { allConfirmed, assertMinedOnce, lastReceiptAt, postAll } from './load.ts'
import { elsewhere_ms } from './service-process.ts'
import { type StageOptions, setStage } from './stage.ts'

export const transactions = 1_500

/** From the first POST to the last receipt, at 50 connections. */
export async function throughput(
  extra: object,
  warm_up: number,
  node_args: string[],
  options: StageOptions = {},
): Promise<Figures> {
  const stage = await setStage({ ...options, node_args })
  try {
    const { tap, service } = stage
    const before = await postAll(stage, warm_up, extra)
    await allConfirmed(stage, before.length)
    const cpu_before_ms = service.cpu_ms()
    const elsewhere_before_ms = elsewhere_ms()
    const marked_us = Number(process.hrtime.bigint() / 1_000n)
    const started_at = performance.now()
    const mined = lastReceiptAt(stage, warm_up + transactions)
    const posts = await postAll(stage, transactions, extra)
    const accepted_at = performance.now()
    const mined_at = await mined
    await allConfirmed(stage, warm_up + transactions)
    const confirmed_at = performance.now()
    const cpu_ms = service.cpu_ms() - cpu_before_ms
    const elsewhere = (elsewhere_ms() - elsewhere_before_ms) / (confirmed_at - started_at)
    await assertMinedOnce(stage, warm_up + transactions)
    return {
      accepted_per_s: perSecond(transactions, accepted_at - started_at),
      mined_per_s: perSecond(transactions, mined_at - started_at),
      confirmed_per_s: perSecond(transactions, confirmed_at - started_at),
      ...percentilesOf('answered', answeredIn(posts)),
      ...percentilesOf('broadcast', broadcastIn(posts, tap.broadcasts())),
      cpu_ms_per_transaction: cpu_ms / transactions,
      rss_peak_mb: service.rss_peak_mb(),
      rpc_requests: tap.counts().requests ?? 0,
      // Of one core, in percent: what others took of the machine meanwhile, and spoilt the figures by.
      taken_by_others_percent: elsewhere * 100,
      // For whoever cuts a profile (--node-args --cpu-prof) to the load: microseconds of the clock that it has.
      ...(node_args.includes('--cpu-prof') && { from_us: marked_us, to_us: Number(process.hrtime.bigint() / 1_000n) }),
    }
  } finally {
    await stage.end()
  }
}
