import { randomUUID } from 'node:crypto'
import * as v from 'valibot'
import { sql } from '../queries/database.ts'
import type { HearSignal, Signal } from '../store.ts'
import type { DedicatedClient } from './dedicated-client.ts'
import type { Client } from './pool.ts'

const channel = 'relayer_signals'
/** Signals of one server in this time are one message. */
const gatherMs = 5
/** A message of PostgreSQL has at most 8,000 bytes. */
const maxIds = 250

const notify = sql(`SELECT pg_notify('${channel}', payload) FROM unnest($payloads::text[]) AS payload`)

const ids = v.optional(v.array(v.pipe(v.number(), v.integer())))
const payloadSchema = v.object({ from: v.string(), leases: v.boolean(), work: ids, poll: ids, resend: ids })
type Kind = 'work' | 'poll' | 'resend'
const kinds: readonly Kind[] = ['work', 'poll', 'resend']

export type Signals = ReturnType<typeof createSignals>

/**
 * The signals of this server and of the others, by LISTEN and NOTIFY. They are sent apart from the changes that they tell of: NOTIFY
 * within a database transaction would let these commit one after the other.
 */
export function createSignals() {
  const listeners: HearSignal[] = []
  const own = randomUUID()
  const waiting = { work: new Set<number>(), poll: new Set<number>(), resend: new Set<number>() }
  let client: DedicatedClient | undefined
  let timer: NodeJS.Timeout | undefined
  let leases = false
  let losses = 0

  const hear = (signal: Signal | undefined) => {
    for (const heard of listeners) heard(signal)
  }

  function send(): void {
    timer = undefined
    const all = kinds.flatMap((kind) => [...waiting[kind]].map((id) => ({ kind, id })))
    for (const kind of kinds) waiting[kind].clear()
    const payloads: string[] = []
    for (let at = 0; at === 0 || at < all.length; at += maxIds) {
      const some = all.slice(at, at + maxIds)
      const of = (wanted: Kind) => some.filter(({ kind }) => kind === wanted).map(({ id }) => id)
      payloads.push(JSON.stringify({ from: own, leases, work: of('work'), poll: of('poll'), resend: of('resend') }))
    }
    leases = false
    // While the database is down, no server receives it.
    client?.one(notify, { payloads }).catch(() => undefined)
  }

  function receive(payload: string): void {
    const { success, output: data } = v.safeParse(payloadSchema, parsed(payload))
    if (!success || data.from === own) return
    for (const kind of kinds) for (const relayerRowId of data[kind] ?? []) hear({ kind, relayer_row_id: relayerRowId })
    hear({ kind: data.leases ? 'leases' : 'changed' })
  }

  return {
    /** Prepares a new connection. */
    async opened(its: Client): Promise<void> {
      // A signal that is sent twice, or lost with the database's server, does no harm.
      await its.query(`SET synchronous_commit = off; LISTEN ${channel}`)
      its.on('notification', ({ payload }) => receive(payload ?? ''))
      losses += 1
      hear(undefined)
    },
    sendBy(its: DedicatedClient): void {
      client = its
    },
    tell(signal: Signal): void {
      if (signal.kind === 'leases') leases = true
      else if (signal.kind !== 'changed') waiting[signal.kind].add(signal.relayer_row_id)
      timer ??= setTimeout(send, gatherMs)
    },
    subscribe(heard: HearSignal): void {
      listeners.push(heard)
    },
    /** Changes when signals may have been lost. */
    losses: () => losses,
    stop: () => clearTimeout(timer),
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
