import { setTimeout as pause } from 'node:timers/promises'
import { createClients, type Tally } from '../crash/clients.ts'
import { readChain, readList } from '../crash/evidence.ts'
import { type Evidence, judge, type Verdict } from '../crash/judge.ts'
import type { Seed } from '../crash/seeded-faults.ts'
import { startAnvil } from '../support/anvil.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { startHeldSigner } from '../support/held-signer.ts'
import { randomFrom } from '../support/random.ts'
import { available, blockMs, makePool, makeRelayer, makeRelayers, randomClient } from './callers.ts'
import { readCircumstances } from './circumstances.ts'
import type { Replication } from './database.ts'
import { countUndelivered, countWrongDeliveries, readAudit, readDatabase } from './evidence.ts'
import { startHook } from './hook.ts'
import { createIncidents, servedBy } from './incidents.ts'
import { signLate } from './late-signature.ts'
import { createPlan, type PlanOptions } from './plan.ts'
import { countConfirmed, settled } from './settled.ts'
import { startStage } from './stage.ts'

export interface ClusterOptions extends PlanOptions {
  submissions: number
  relayers: number
  /** All are sent through one pool of the relayers. */
  pool?: boolean
  fault?: Seed[] | undefined
  replication?: Replication | undefined
  /** The run ends when the counts have not changed for this time. */
  patience_ms: number
  /** Called after each incident. */
  happened?: (count: number) => void
}

/** Each is 0 if the service keeps its guarantees. */
export interface ClusterVerdict extends Verdict {
  /** Submissions with the response 201 that the service does not have. */
  forgotten: number
  /** Bytes that were broadcast and that the database does not have. */
  unknown: number
  /** Faults of the audit chains. */
  audit: number
  /** Events without exactly one delivery, deliveries that did not end, and events that the webhook did not receive. */
  outbox: number
  /** Actions of a server after it had lost its lease, and leases that no server took over. */
  late: number
  /** Servers that ended unexpectedly while the database was up. */
  ended: number
  /** Failovers that were not in the middle of a burst, and so tested nothing. */
  idle: number
}

export interface ClusterResult {
  options: ClusterOptions
  verdict: ClusterVerdict
  tally: Tally
  chains: number
  /** By failover: answered and unanswered requests of its burst when the primary had stopped. */
  interrupted: { acknowledged: number; unanswered: number }[]
  /** Faults of the audit chains, and the last output of servers that ended unexpectedly. */
  notes: string[]
  /** The state of the servers and the database when transactions were left unconfirmed. */
  circumstances: string[]
  /** From the last incident until everything was confirmed. */
  settled_ms: number
  duration_ms: number
}

const balance = 10n ** 24n
const burstLookMs = 5
const answerDeadlineMs = 5_000
/** The share of submissions that clients begin after the last incident. */
const afterwardsShare = 0.05
/** The share that they begin just before a server stalls and when it continues: at most so many each time, within this time. */
const stallsShare = 0.4
const mostEachStall = 12
const stallMs = 500

/**
 * Submits through HTTP to servers that are killed, stalled and cut off, on a database that fails, lets them finish, and compares their
 * responses with the chain and the database.
 */
export async function runCluster(options: ClusterOptions): Promise<ClusterResult> {
  const began = performance.now()
  const { submissions, relayers: relayerCount, seed, servers, fault, replication, patience_ms } = options
  const chain = await startAnvil({ blockTime_s: blockMs / 1_000 })
  const proxy = await startFaultProxy(chain.url)
  const hook = await startHook()
  const signer = await startHeldSigner()
  const stage = await startStage({ servers, fault, replication, settings: { DATABASE_TIMEOUT_MS: '3000' } })
  const random = randomFrom(seed + 1)
  const client = randomClient(stage, random, 0)
  const indexes = Array.from({ length: submissions }, (_, index) => index)
  const impatient = new Set(indexes.filter(() => random() < 0.1))
  /** The relayer of each submission. */
  const owners = new Map<number, string>()
  let clients: ReturnType<typeof createClients> | undefined

  try {
    const patient = randomClient(stage, random, 10)
    const relayers = await makeRelayers(patient, proxy.url, hook.url, relayerCount)
    for (const { address } of relayers) await chain.setBalance(address, balance)
    const remote = await makeRelayer(patient, {
      type: 'remote',
      config: { url: signer.url, address: signer.address },
    })
    await chain.setBalance(remote.address, balance)
    const late = await signLate(stage, patient, signer, remote.id)
    await Promise.all(stage.members.map((member) => member.ready()))
    await settled(() => countConfirmed(patient, [remote]), 1, patience_ms)
    const poolId = options.pool ? await makePool(patient, relayers) : undefined
    const ownerOf = (index: number) => owners.get(index) as string
    clients = createClients(client, ownerOf, impatient, answerDeadlineMs, poolId)
    const { submit, accepted } = clients
    /** Of a pool, the relayer that was chosen. */
    const relayerOf = (index: number) => (poolId === undefined ? ownerOf(index) : accepted.get(index)?.relayer_id)
    /** Relayers get their last transaction one after the other, so that no later one resumes work that a failure interrupted. */
    const submitNext = () => {
      const index = owners.size
      if (index >= submissions) return
      const resting = Math.floor((index * relayerCount) / submissions)
      owners.set(index, (relayers[resting + (index % (relayerCount - resting))] as { id: string }).id)
      submit(index)
    }
    /** `count` submissions, spread over the time. */
    const release = (count: number, ms: number) => {
      for (let done = 0; done < count; done += 1) setTimeout(submitNext, random() * ms)
    }

    const incidents = createPlan(options)
    const bursts = 2 * options.stalls
    const eachBurst = Math.min(mostEachStall, Math.floor((submissions * stallsShare) / Math.max(1, bursts)))
    const each = Math.ceil((submissions * (1 - afterwardsShare) - eachBurst * bursts) / incidents.length)
    const interrupted: ClusterResult['interrupted'] = []
    let before = 0
    const underWay = createIncidents(stage, {
      busy: () => release(eachBurst, stallMs),
      stopped: () =>
        interrupted.push({ acknowledged: accepted.size - before, unanswered: owners.size - accepted.size }),
    })
    for (const [at, incident] of incidents.entries()) {
      await servedBy(stage, incident)
      if (incident.kind === 'failover') {
        // Nothing is left of the burst before.
        await settled(() => accepted.size, owners.size, patience_ms)
        before = accepted.size
        for (let done = 0; done < each; done += 1) submitNext()
        const middle = Math.min(before + Math.ceil(each / 3), owners.size)
        await settled(() => Math.min(accepted.size, middle), middle, patience_ms, burstLookMs)
      } else release(each, incident.rest_ms)
      await underWay.begin(incident)
      await pause(incident.rest_ms)
      options.happened?.(at + 1)
    }
    await underWay.ended()
    await Promise.all(stage.networks.map((network) => network.set('open')))
    await Promise.all(stage.members.map((member) => member.ready()))
    while (owners.size < submissions) submitNext()

    const last = performance.now()
    await settled(() => accepted.size, submissions, patience_ms)
    await clients.stop()
    // Only polls find the work of the killed servers: no request follows, and the new processes start before its leases expire.
    if (options.kills > 0) await Promise.all(stage.members.slice(1).map((member) => member.kill()))
    const isConfirmed = await settled(() => countConfirmed(patient, relayers), submissions, patience_ms)
    const settledMs = performance.now() - last
    const circumstances = isConfirmed ? [] : await readCircumstances(stage)
    await settled(async () => -(await countUndelivered(stage.rows)), 0, patience_ms)
    // The others may have done all the work before the killed ones have started again.
    await Promise.all(stage.members.map((member) => member.ready()))
    const listed = new Map<string, Awaited<ReturnType<typeof readList>>>()
    for (const { id } of relayers) listed.set(id, await available(() => readList(patient, id)))
    const ends = stage.members.flatMap((member) => member.ends())
    const wrongEnds = ends.filter((text) => !/PostgreSQL cannot be reached|The database became unavailable/.test(text))
    await Promise.all(stage.members.map((member) => member.stop()))

    const database = await readDatabase(stage.rows)
    const known = new Set(database.flatMap(({ hashes }) => hashes))
    const { tally } = clients
    const silent: Tally = { ...tally, wrong: [], contradictions: 0 }
    const verdicts: Verdict[] = []
    for (const [place, { relayer_id, address, ...store }] of database
      .filter((one) => listed.has(one.relayer_id))
      .entries()) {
      const own = indexes.filter((index) => relayerOf(index) === relayer_id)
      const its = listed.get(relayer_id) ?? []
      const hashes = new Set(store.hashes)
      const evidence: Evidence = {
        indexes: own,
        accepted: new Map([...accepted].filter(([index]) => relayerOf(index) === relayer_id)),
        tally: place === 0 ? tally : silent,
        logged: [],
        wrong_signatures: 0,
        listed: its,
        chain: await readChain(
          chain,
          address,
          its.flatMap(({ hash }) => hash ?? []),
        ),
        store,
        broadcast: proxy.broadcast().filter((hash) => hashes.has(hash)),
      }
      verdicts.push(judge(evidence))
    }
    const audit = await readAudit(stage.rows)
    const kept = new Set([...listed.values()].flat().map(({ id }) => id))
    const told = new Set(hook.heard())
    const events = await stage.rows<{ id: string }>('SELECT id FROM events')
    const deaf = events.filter(({ id }) => !told.has(id)).length
    return {
      options,
      verdict: {
        ...sumOf(verdicts),
        forgotten: [...accepted.values()].filter(({ id }) => !kept.has(id)).length,
        unknown: proxy.broadcast().filter((hash) => !known.has(hash)).length,
        audit: audit.faults.length,
        outbox: (await countWrongDeliveries(stage.rows)) + (await countUndelivered(stage.rows)) + deaf,
        late: late.length,
        ended: wrongEnds.length,
        idle: interrupted.filter(({ acknowledged, unanswered }) => acknowledged === 0 || unanswered === 0).length,
      },
      tally,
      chains: audit.chains,
      interrupted,
      notes: [...late, ...audit.faults, ...wrongEnds],
      circumstances,
      settled_ms: settledMs,
      duration_ms: performance.now() - began,
    }
  } finally {
    void clients?.stop()
    await stage.stop()
    await Promise.all([proxy.stop(), hook.stop(), signer.stop()])
    await chain.stop()
  }
}

function sumOf(verdicts: Verdict[]): Verdict {
  const [first, ...others] = verdicts
  const sum = { ...(first as Verdict) }
  for (const verdict of others) for (const name of Object.keys(sum) as (keyof Verdict)[]) sum[name] += verdict[name]
  return sum
}
