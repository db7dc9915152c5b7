import type { Figures } from '../measure.ts'
import { answeredIn, broadcastIn, percentilesOf, perSecond } from './figures.ts'
import { allConfirmed, assertMinedOnce, lastReceiptAt, postAll } from './load.ts'
import { elsewhereMs } from './service-process.ts'
import { type StageOptions, setStage } from './stage.ts'

export const transactions = 1_500

/** From the first POST to the last receipt, at 50 connections. */
export async function throughput(
  extra: object,
  warmUp: number,
  nodeArgs: string[],
  options: StageOptions = {},
): Promise<Figures> {
  const stage = await setStage({ ...options, node_args: nodeArgs })
  try {
    const { tap, service } = stage
    const before = await postAll(stage, warmUp, extra)
    await allConfirmed(stage, before.length)
    const cpuBeforeMs = service.cpu_ms()
    const elsewhereBeforeMs = elsewhereMs()
    const markedUs = Number(process.hrtime.bigint() / 1_000n)
    const startedAt = performance.now()
    const mined = lastReceiptAt(stage, warmUp + transactions)
    const posts = await postAll(stage, transactions, extra)
    const acceptedAt = performance.now()
    const minedAt = await mined
    await allConfirmed(stage, warmUp + transactions)
    const confirmedAt = performance.now()
    const cpuMs = service.cpu_ms() - cpuBeforeMs
    const elsewhere = (elsewhereMs() - elsewhereBeforeMs) / (confirmedAt - startedAt)
    await assertMinedOnce(stage, warmUp + transactions)
    return {
      accepted_per_s: perSecond(transactions, acceptedAt - startedAt),
      mined_per_s: perSecond(transactions, minedAt - startedAt),
      confirmed_per_s: perSecond(transactions, confirmedAt - startedAt),
      ...percentilesOf('answered', answeredIn(posts)),
      ...percentilesOf('broadcast', broadcastIn(posts, tap.broadcasts())),
      cpu_ms_per_transaction: cpuMs / transactions,
      rss_peak_mb: service.rss_peak_mb(),
      rpc_requests: tap.counts().requests ?? 0,
      // Of one core, in percent: what others took of the machine meanwhile, and spoilt the figures by.
      taken_by_others_percent: elsewhere * 100,
      // For whoever cuts a profile (--node-args --cpu-prof) to the load: microseconds of the clock that it has.
      ...(nodeArgs.includes('--cpu-prof') && { from_us: markedUs, to_us: Number(process.hrtime.bigint() / 1_000n) }),
    }
  } finally {
    await stage.end()
  }
}
