import { randomFrom } from '../support/random.ts'

/** An incident of a run, generated from the seed before the run begins. */
export type Incident =
  /** kill -9 of a server; a new one starts. */
  | { kind: 'kill'; member: number; rest_ms: number }
  /** SIGSTOP of a server until another one has its leases, then SIGCONT. */
  | { kind: 'stall'; member: number; rest_ms: number; ms: number }
  /** The network between a server and the database: broken, or without any answer. */
  | { kind: 'cut'; member: number; rest_ms: number; ms: number; state: 'closed' | 'silent' }
  /** An immediate stop of PostgreSQL, then its start. */
  | { kind: 'stop'; rest_ms: number; ms: number }
  /** An immediate stop of the primary in the middle of a burst; its standby is promoted after `ms`. */
  | { kind: 'failover'; rest_ms: number; ms: number }

export interface PlanOptions {
  servers: number
  kills: number
  stalls: number
  cuts: number
  stops: number
  failovers?: number
  seed: number
}

/** A lease lasts 1.5 seconds. */
const stallMs = [2_500, 4_500] as const
const cutMs = [200, 4_000] as const
const stopMs = [0, 1_000] as const
const restMs = [200, 1_600] as const

export function createPlan({ servers, kills, stalls, cuts, stops, failovers = 0, seed }: PlanOptions): Incident[] {
  const random = randomFrom(seed)
  const between = ([from, to]: readonly [number, number]) => Math.floor(from + random() * (to - from))
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make)
  const member = () => between([0, servers])

  const incidents: Incident[] = [
    ...times(kills, () => ({ kind: 'kill' as const, member: member(), rest_ms: between(restMs) })),
    ...times(stalls, () => ({
      kind: 'stall' as const,
      member: member(),
      rest_ms: between(restMs),
      ms: between(stallMs),
    })),
    ...times(cuts, () => ({
      kind: 'cut' as const,
      member: member(),
      rest_ms: between(restMs),
      ms: between(cutMs),
      state: random() < 0.5 ? ('closed' as const) : ('silent' as const),
    })),
    ...times(stops, () => ({ kind: 'stop' as const, rest_ms: between(restMs), ms: between(stopMs) })),
    ...times(failovers, () => ({ kind: 'failover' as const, rest_ms: between(restMs), ms: between(stopMs) })),
  ]
  return incidents
    .map((incident) => ({ incident, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ incident }) => incident)
}
