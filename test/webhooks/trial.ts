import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { createVictim } from '../crash/victim.ts'
import { startAnvil } from '../support/anvil.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { randomFrom } from '../support/random.ts'
import { isSuccess } from './answers.ts'
import { type Causes, createCauses } from './causes.ts'
import { type Judged, judge } from './judge.ts'
import { type Receivers, startReceivers } from './receivers.ts'
import { keyOf, setScene } from './scene.ts'
import { type FaultName, seededFaults } from './seeded-faults.ts'

export interface TrialOptions {
  /** At least so many. */
  events: number
  kills: number
  seed: number
  /** Faults of one event in a row; more take longer to come to an end. */
  max_faults: number
  /** Whether some deliveries are never answered: each takes 15 s, or until the next kill. */
  hangs: boolean
  /** How many relayers are paused and unpaused: as many are delivered beside one another. */
  switches: number
  /** How long nothing may change at the end before it is taken for all that comes. */
  patience_ms: number
  /** A mistake to make the service with; absent: the service as it is. */
  fault?: FaultName
  /** Called after each kill with the number of kills so far. */
  killed?: (kills: number) => void
}

export interface TrialResult extends Judged {
  options: TrialOptions
  kills: { start: number; work: number }
  targets: number
  relayers: number
  arrivals: number
  faults: { count: number; kinds: Record<string, number> }
  errors: string[]
  duration_ms: number
}

/** Of the events: by a transaction come five, or four when a kill was in its way. */
const transactionShare = 0.1
const eventsOfTransaction = 4
const startProbability = 0.1
/** A start takes a second or so. */
const maxStartMs = 1_000
const maxWorkMs = 2_000
const lookMs = 100
const releaseMs = 20

/** A second of the schedule takes a millisecond. */
const settings = { WEBHOOK_TIME_SCALE: '0.001', RATE_LIMIT_PER_SECOND: '1000000', RATE_LIMIT_BURST: '1000000' }

/**
 * Has a service deliver to receivers that fail three times in ten, kills it again and again, lets its last process finish,
 * and compares what came with what was caused.
 */
export async function runTrial(options: TrialOptions): Promise<TrialResult> {
  const began = performance.now()
  const folder = mkdtempSync(join(tmpdir(), 'relayer-webhooks-'))
  const chain = await startAnvil({ blockTime_s: 0.5 })
  const receivers = await startReceivers(options)
  const victim = await createVictim(folder, options.fault && seededFaults[options.fault], settings)
  const client = createRelayerClient({ baseUrl: victim.url, token: victim.token, fetch: asOnlyWriter })
  const random = randomFrom(options.seed)
  const kills = { start: 0, work: 0 }
  try {
    await victim.start()
    await victim.ready()
    const scene = await setScene(client, chain, receivers.urlOf, options.switches)
    const causes = createCauses(client, scene.switches, scene.senders)

    const transactions = Math.ceil((options.events * transactionShare) / eventsOfTransaction)
    const toggles = options.events - transactions * eventsOfTransaction
    const releases = spread(causes.release, toggles, transactions, options.kills * (maxWorkMs / 2))
    for (let life = 1; life <= options.kills; life += 1) {
      const during = life > 1 && random() < startProbability ? 'start' : 'work'
      kills[during] += 1
      if (during === 'start') await pause(random() * maxStartMs)
      else {
        await victim.ready()
        await releases.during(random() * maxWorkMs)
      }
      receivers.setAlive(false)
      await victim.kill()
      options.killed?.(life)
      receivers.setAlive(true)
      await victim.start()
    }
    await victim.ready()
    releases.rest()
    await settled(() => causes.left(), options)
    await settled(() => countMissing(receivers, causes.toggled, causes.sent), options)
    const unanswered = causes.left()
    await causes.stop()
    await settled(() => countPending(client, [...scene.targets]), options)
    // The last process is killed too: only the data on the disk counts.
    await victim.kill()
    const { unsettled, damage } = readStore(victim.database_file)

    const { arrivals } = receivers
    const errors = [...causes.wrong, ...victim.errors()]
    const keys = new Map(scene.targets.map((target) => [target, keyOf(target)]))
    const { toggled, sent } = causes
    const [followed, crowd] = [receivers.followed(), receivers.crowd()]
    const evidence = { arrivals, keys, toggled, sent, unanswered, followed, crowd, unsettled, errors, damage }
    return {
      ...(await judge(evidence)),
      options,
      kills,
      errors,
      arrivals: arrivals.length,
      faults: faultsAmong(receivers),
      targets: scene.targets.length,
      relayers: scene.switches.length + scene.senders.length,
      duration_ms: performance.now() - began,
    }
  } finally {
    await victim.kill().catch(() => {})
    await receivers.stop()
    await chain.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Has all that is caused begin evenly over the time that the service works, and what is left of it at the end. */
function spread(release: Causes['release'], toggles: number, transactions: number, wholeMs: number) {
  const released = { toggles: 0, transactions: 0 }
  let passedMs = 0
  const upTo = (share: number) => {
    const next = { toggles: Math.floor(toggles * share), transactions: Math.floor(transactions * share) }
    release(next.toggles - released.toggles, next.transactions - released.transactions)
    Object.assign(released, next)
  }
  return {
    async during(ms: number) {
      for (const end = performance.now() + ms; performance.now() < end; ) {
        const began = performance.now()
        await pause(Math.min(releaseMs, end - began))
        passedMs += performance.now() - began
        upTo(Math.min(1, passedMs / wholeMs))
      }
    },
    rest: () => upTo(1),
  }
}

/** Until nothing is left, or what is left has stood still for too long. */
async function settled(left: () => number | Promise<number>, { patience_ms }: TrialOptions): Promise<void> {
  let [last, since] = [-1, performance.now()]
  for (;;) {
    const count = await left()
    if (count === 0) return
    if (count !== last) [last, since] = [count, performance.now()]
    if (performance.now() - since > patience_ms) return
    await pause(lookMs)
  }
}

/** What must be told and was not accepted yet: each pause, and of each transaction the end. */
function countMissing({ arrivals, accepted }: Receivers, toggled: Map<string, number>, sent: Set<string>): number {
  const ends = new Set<string>()
  const told = new Map<string, Set<number>>()
  for (const { event, headers } of arrivals) {
    if (!accepted.has(`${headers['webhook-id']}`)) continue
    const { payload, sequence } = event
    if (payload.payload_type === 'transaction' && payload.status === 'confirmed') ends.add(payload.id)
    if ('relayer' in payload) told.set(payload.relayer.id, (told.get(payload.relayer.id) ?? new Set()).add(sequence))
  }
  const missing = [...toggled].map(([id, count]) => Math.max(0, count - (told.get(id)?.size ?? 0)))
  return missing.reduce((sum, count) => sum + count, 0) + [...sent].filter((id) => !ends.has(id)).length
}

async function countPending(client: RelayerClient, targets: string[]): Promise<number> {
  let pending = 0
  for (const notificationId of targets) {
    const { data } = await client.get('/api/v1/notifications/{notification_id}/health', {
      path: { notification_id: notificationId },
    })
    pending += data.pending_count
  }
  return pending
}

function readStore(file: string): { unsettled: number; damage: string[] } {
  const db = new Database(file)
  try {
    const read = <T>(sql: string) => db.prepare<[], T>(sql).pluck().all()
    return {
      unsettled: read<number>(`SELECT count(*) FROM deliveries WHERE status <> 'delivered'`)[0] ?? 0,
      damage: read<string>('PRAGMA integrity_check').filter((line) => line !== 'ok'),
    }
  } finally {
    db.close()
  }
}

function faultsAmong({ arrivals }: Receivers): TrialResult['faults'] {
  const kinds: Record<string, number> = {}
  const faults = arrivals.map(({ answer }) => answer).filter((answer) => !isSuccess(answer))
  for (const answer of faults) {
    const kind = answer.kind === 'status' ? `${answer.status}` : answer.kind
    kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  return { count: faults.length, kinds }
}
