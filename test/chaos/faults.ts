import { type Fault, type FaultKind, faultKinds, startFaultProxy } from '../support/fault-proxy.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

/** The service rightly gives up a transaction that the only node of a network rejects permanently. */
const passing = faultKinds.filter((kind) => kind !== 'rejected')
const waves = 5
const probability = 0.4
/** More than `stale` is behind. */
const fundedBlocks = 6
const special: Partial<Record<FaultKind, Partial<Fault>>> = {
  // It takes a caller's whole patience, which is five seconds.
  hang: { probability: 0.1, times: 1 },
  slow: { duration_ms: 50 },
  connection_refused: { duration_ms: 50 },
  // Asked for with the first call only.
  wrong_chain_id: { probability: 1, times: 3 },
}

/**
 * All kinds of fault at once, each on a separate proxy and account, which sends `count` transactions in waves. So the faults do not
 * affect each other.
 */
export const faults = (rig: Rig, count: number): Promise<{ kind: FaultKind; outcome: Outcome }[]> =>
  Promise.all(passing.map(async (kind) => ({ kind, outcome: await faultOf(rig, kind, count) })))

async function faultOf({ chain, addAccount }: Rig, kind: FaultKind, count: number): Promise<Outcome> {
  const proxy = await startFaultProxy(chain.url)
  const hits = () => proxy.counts()[kind] ?? 0
  try {
    const account = await addAccount({ rpc_urls: [proxy.url] })
    // A node that is a few blocks behind has the account's funds.
    await chain.mine(fundedBlocks)
    await proxy.setFault({ kind, probability, seed: count, ...special[kind] })
    for (let wave = 0; wave < waves; wave += 1) await account.send(count / waves)
    const wanted = Math.min(count, special[kind]?.times ?? count)
    await until(`${wanted} faults of kind ${kind}`, async () => hits() >= wanted || (await account.latest()) === count)
    await proxy.setFault(undefined)
    await account.finished()
    return { score: await account.score(), money: await account.money(), faults: {}, seen: { [kind]: hits() } }
  } finally {
    await proxy.stop()
  }
}
