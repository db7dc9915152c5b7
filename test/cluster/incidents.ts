import { setTimeout as pause } from 'node:timers/promises'
import type { Incident } from './plan.ts'
import type { Stage } from './stage.ts'

/** A start on a busy machine takes this long. */
const maxWaitMs = 10_000
const beforeStallMs = 250

interface Calls {
  /** A server must have work. */
  busy(): void
  /** The primary of a failover does not run any more. */
  stopped(): void
}

/** Carries incidents out: stalls and cuts in the background, one of each kind at a time. */
export function createIncidents({ members, networks, database }: Stage, { busy, stopped }: Calls) {
  const underWay: { stall: Promise<void>; cut: Promise<void> } = { stall: Promise.resolve(), cut: Promise.resolve() }
  let stalled: number | undefined
  const at = <T>(items: T[], index: number): T => items[index % items.length] as T

  async function stall(member: number, ms: number): Promise<void> {
    stalled = member
    // The server has work in progress when it stops, and new work when it continues.
    busy()
    await pause(beforeStallMs)
    await at(members, member).stall(ms)
    busy()
    stalled = undefined
  }

  async function cut(member: number, ms: number, state: 'closed' | 'silent'): Promise<void> {
    const network = at(networks, member)
    await network.set(state)
    await pause(ms)
    await network.set('open')
  }

  return {
    async begin(incident: Incident): Promise<void> {
      switch (incident.kind) {
        case 'kill': {
          // One that is stalled stays stalled.
          const { member } = incident
          return at(members, member === stalled ? member + 1 : member).kill()
        }
        case 'stall':
          await underWay.stall
          underWay.stall = stall(incident.member, incident.ms)
          return
        case 'cut':
          await underWay.cut
          underWay.cut = cut(incident.member, incident.ms, incident.state)
          return
        case 'stop':
          return database.fail(incident.ms)
        case 'failover':
          return database.failOver(incident.ms, stopped)
      }
    },
    ended: async () => void (await Promise.all([underWay.stall, underWay.cut])),
  }
}

/** Until a server answers that the incident does not concern, so that clients get something done in between. */
export async function servedBy({ members, database }: Stage, incident: Incident): Promise<void> {
  if (incident.kind === 'failover') await database.addStandby()
  const others = members.filter((_, index) => !('member' in incident) || index !== incident.member)
  await Promise.race([Promise.any(others.map((member) => member.ready())), pause(maxWaitMs)])
}
