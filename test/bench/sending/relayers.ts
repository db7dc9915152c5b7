import { setTimeout as pause } from 'node:timers/promises'
import type { CaseResult } from '../case.ts'
import type { Figures } from '../measure.ts'
import { perSecond } from './figures.ts'
import { allConfirmed, assertMinedOnce, lastReceiptAt, postAll } from './load.ts'
import { type Stage, type StageOptions, setStage } from './stage.ts'

const warmUp = 200
const waitingRelayers = 10
const waitingMs = 5_000
const shortBlockMs = 250

interface Variant {
  relayers: number
  pool?: boolean
  extra: object
}

const variants: Record<string, Variant> = {
  '1 relayer, gas_limit': { relayers: 1, extra: { gas_limit: 21_000 } },
  '10 relayers, gas_limit': { relayers: 10, extra: { gas_limit: 21_000 } },
  '1 relayer': { relayers: 1, extra: {} },
  '10 relayers': { relayers: 10, extra: {} },
}

const poolVariants: Record<string, Variant> = {
  '1 relayer': { relayers: 1, extra: { gas_limit: 21_000 } },
  '8 relayers in turns': { relayers: 8, extra: { gas_limit: 21_000 } },
  'a pool of 8': { relayers: 8, pool: true, extra: { gas_limit: 21_000 } },
}

/** What a pool costs per transaction: one round. */
export async function pools(transactions: number, options: StageOptions): Promise<CaseResult> {
  const rounds: CaseResult['rounds'] = {}
  for (const [name, variant] of Object.entries(poolVariants))
    rounds[name] = [await send(variant, transactions, options)]
  const figure = 'cpu_ms_per_tx'
  return {
    rounds,
    ratios: [
      { figure, over: 'a pool of 8', under: '1 relayer', wanted: '<= 1.1' },
      { figure, over: 'a pool of 8', under: '8 relayers in turns' },
    ],
  }
}

/** What more relayers, and an estimate of gas, cost per transaction: one round. */
export async function relayers(transactions: number, options: StageOptions): Promise<CaseResult> {
  const result: CaseResult = {
    rounds: Object.fromEntries(Object.keys(variants).map((name) => [name, []])),
    ratios: [
      ...['', ', gas_limit'].map((gas) => ({
        figure: 'cpu_ms_per_tx',
        over: `10 relayers${gas}`,
        under: `1 relayer${gas}`,
        wanted: '<= 1.1',
      })),
      ...['1 relayer', '10 relayers'].map((name) => ({
        figure: 'mined_per_s',
        over: name,
        under: `${name}, gas_limit`,
        wanted: '>= 0.8',
      })),
    ],
  }
  for (const [name, variant] of Object.entries(variants)) {
    result.rounds[name]?.push(await send(variant, transactions, options))
  }
  return result
}

async function send({ relayers, pool = false, extra }: Variant, transactions: number, options: StageOptions) {
  const stage = await setStage({ ...options, relayers, pool })
  try {
    const { tap, service } = stage
    await postAll(stage, warmUp, extra)
    await allConfirmed(stage, warmUp)
    const before = { cpu_ms: service.cpu_ms(), calls: callsOf(stage), requests: tap.counts().requests ?? 0 }
    const startedAt = performance.now()
    const mined = lastReceiptAt(stage, warmUp + transactions)
    await postAll(stage, transactions, extra)
    const acceptedAt = performance.now()
    const minedAt = await mined
    await allConfirmed(stage, warmUp + transactions)
    const cpuMs = service.cpu_ms() - before.cpu_ms
    const figures = {
      cpu_ms_per_tx: cpuMs / transactions,
      accepted_per_s: perSecond(transactions, acceptedAt - startedAt),
      mined_per_s: perSecond(transactions, minedAt - startedAt),
      rpc_calls_per_tx: (callsOf(stage) - before.calls) / transactions,
      posts_per_tx: ((tap.counts().requests ?? 0) - before.requests) / transactions,
    }
    await assertMinedOnce(stage, warmUp + transactions)
    return figures
  } finally {
    await stage.end()
  }
}

/** What ten relayers ask of a node while each waits for one transaction and no block comes. */
export async function waiting(options: StageOptions): Promise<Figures> {
  const network = { mining: false, average_blocktime_ms: shortBlockMs }
  const stage = await setStage({ ...options, ...network, relayers: waitingRelayers })
  try {
    await postAll(stage, waitingRelayers, { gas_limit: 21_000 })
    await pause(1_000)
    const before = { calls: callsOf(stage), requests: stage.tap.counts().requests ?? 0, cpu_ms: stage.service.cpu_ms() }
    await pause(waitingMs)
    return {
      rpc_calls_per_s: perSecond(callsOf(stage) - before.calls, waitingMs),
      posts_per_s: perSecond((stage.tap.counts().requests ?? 0) - before.requests, waitingMs),
      cpu_percent: ((stage.service.cpu_ms() - before.cpu_ms) * 100) / waitingMs,
    }
  } finally {
    await stage.end()
  }
}

/** JSON-RPC calls so far, however many of them came in one request. */
const callsOf = ({ tap }: Stage): number =>
  Object.entries(tap.counts()).reduce((sum, [name, count]) => (name === 'requests' ? sum : sum + count), 0)
