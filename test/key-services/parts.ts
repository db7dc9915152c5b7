import { setTimeout as pause } from 'node:timers/promises'
import { Transaction } from 'ethers'
import { runCrash } from '../crash/crash.ts'
import { scoreboard, wrongIn } from '../crash/scoreboard.ts'
import { type Account, type Rig, startRig } from '../support/rig.ts'
import { isSignedBy } from '../support/signed-by.ts'
import { until } from '../support/until.ts'
import type { KeyServers, KeyStage, Trouble } from './stage.ts'
import { type StageName, stages } from './stages.ts'
import { type Heard, note, readCalls, signForms, startWitness } from './witness.ts'

/** `send`: without trouble. `kills`: of the service. */
export const parts = ['send', 'kills', 'stopped', 'throttled', 'slow', 'garbage', 'other_key', 'high_s'] as const
export type Part = (typeof parts)[number]

/** The result of a part. */
export interface Cell {
  accepted: number
  mined: number
  /** Accepted, and in no block. */
  lost: number
  /** In more than one block, or sent with more than one signature for one nonce and price. */
  twice: number
  /** Signatures that the service gave away and that are not by the key, or have a high s. */
  wrong: number
  /** What else is not as it should be. */
  failures: string[]
  /** For a person. */
  remarks: string
  duration_ms: number
}

export interface PartOptions {
  transactions: number
  kills: number
  seed: number
  servers: KeyServers
}

const outageMs = 30_000
/** Wrong answers end after so long. */
const wrongMs = 8_000
const lasting: ReadonlySet<Trouble> = new Set(['throttled', 'slow', 'high_s'])

export async function runKills(name: StageName, { transactions, kills, seed, servers }: PartOptions): Promise<Cell> {
  const result = await runCrash({ kills, submissions: transactions, seed, patience_ms: 120_000, signer: name, servers })
  const { verdict, tally } = result
  return {
    accepted: transactions - verdict.unaccepted,
    mined: transactions - verdict.lost,
    lost: verdict.lost,
    twice: verdict.twice + verdict.rebroadcast,
    wrong: verdict.signatures,
    failures: wrongIn(verdict).length > 0 ? [`seed ${seed}: ${scoreboard(result)}`] : [],
    remarks: `${kills} kills (${result.kills.start} during the start), ${tally.retries} retries`,
    duration_ms: result.duration_ms,
  }
}

/** Runs parts other than kills, one after the other, with one service. */
export async function runParts(
  name: StageName,
  wanted: Exclude<Part, 'kills'>[],
  options: PartOptions,
  done: (part: Part, cell: Cell) => void,
): Promise<void> {
  const keys = await stages[name](options.servers)
  // The settings of different types do not touch each other.
  Object.assign(process.env, keys.environment)
  const settings = { ...keys.environment, METRICS_PORT: '0' }
  const rig = await startRig({ chain: { blockTime_s: 0.5 }, settings }).catch(async (error) => {
    await keys.stop()
    throw error
  })
  try {
    for (const part of wanted) done(part, await runPart(name, rig, keys, part, options.transactions))
  } finally {
    await keys.set(undefined)
    await rig.stop()
    await keys.stop()
  }
}

async function runPart(
  name: StageName,
  rig: Rig,
  keys: KeyStage,
  part: Exclude<Part, 'kills'>,
  transactions: number,
): Promise<Cell> {
  const began = performance.now()
  const broadcastBefore = rig.proxy.broadcastBytes().length
  const signer = await keys.signer()
  const { type } = signer
  const account = await rig.addAccount({ signer })
  const forms = part === 'send' ? await signForms(rig, account, name !== 'remote_json_rpc') : undefined
  const witness = startWitness(rig, account, type)
  await account.send(transactions / 2)
  if (part !== 'send') {
    await keys.set(part)
    // Elsewhere the trouble begins while the first half is signed.
    if (keys.keeps_key) await rig.restart()
  }
  await account.send(transactions / 2)
  if (part !== 'send' && !lasting.has(part)) {
    await saysReason(account)
    await pause(part === 'stopped' ? outageMs : wrongMs)
    await keys.set(undefined)
  }
  await account.finished()
  await keys.set(undefined)
  const heard = await witness.stop()
  const raws = rig.proxy.broadcastBytes().slice(broadcastBefore)
  const cell = await cellOf(account, raws, [heard, ...(forms ? [forms] : [])])
  const { outcomes, mean_ms, waiting } = await readCalls(rig, type)
  if (waiting !== 0) note(cell, `${waiting} signatures wait at the end`)
  const calls = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`)
  return {
    ...cell,
    remarks:
      `messages ${heard.signed} signed, ${heard.unavailable} 503; ` +
      `metrics: ${calls.join(', ')}, mean ${mean_ms.toFixed(1)} ms, at most ${heard.waited} waited`,
    duration_ms: performance.now() - began,
  }
}

const saysReason = (account: Account) =>
  until('a transaction says that it waits for the key service', async () =>
    (await account.transactions()).some(({ status_reason }) => status_reason?.includes('key service')),
  )

async function cellOf(account: Account, raws: string[], all: Heard[]): Promise<Omit<Cell, 'remarks' | 'duration_ms'>> {
  const score = await account.score()
  const right = raws.filter((raw) => isSignedBy(raw, account.address))
  const prices = new Set(right.map((raw) => Transaction.from(raw).unsignedHash))
  const cell = {
    accepted: score.accepted,
    mined: score.accepted - score.lost - score.withdrawn,
    lost: score.lost + score.withdrawn,
    twice: score.twice + right.length - prices.size,
    wrong: raws.length - right.length + all.reduce((sum, { wrong }) => sum + wrong, 0),
    failures: all.flatMap(({ failures }) => failures),
  }
  for (const key of ['gaps', 'contradictions', 'unfinished'] as const) {
    if (score[key] > 0) note(cell, `${score[key]} ${key}`)
  }
  if (score.hashes_per_nonce !== 1) note(cell, `${score.hashes_per_nonce} hashes for a nonce`)
  return cell
}
