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

/**
 * The signals of this server and of the others, by LISTEN and NOTIFY. They are sent apart from the changes that they tell of: NOTIFY
 * within a database transaction would let these commit one after the other.
 */
export class Signals {
  readonly #listeners: HearSignal[] = []
  readonly #own = randomUUID()
  readonly #waiting = { work: new Set<number>(), poll: new Set<number>(), resend: new Set<number>() }
  #client: DedicatedClient | undefined
  #timer: NodeJS.Timeout | undefined
  #leases = false
  /** Changes when signals may have been lost. */
  losses = 0

  /** Prepares a new connection. */
  async opened(client: Client): Promise<void> {
    // A signal that is sent twice, or lost with the database's server, does no harm.
    await client.query(`SET synchronous_commit = off; LISTEN ${channel}`)
    client.on('notification', ({ payload }) => this.#receive(payload ?? ''))
    this.losses += 1
    this.#hear(undefined)
  }

  sendBy(client: DedicatedClient): void {
    this.#client = client
  }

  tell(signal: Signal): void {
    if (signal.kind === 'leases') this.#leases = true
    else if (signal.kind !== 'changed') this.#waiting[signal.kind].add(signal.relayer_row_id)
    this.#timer ??= setTimeout(() => this.#send(), gatherMs)
  }

  subscribe(heard: HearSignal): void {
    this.#listeners.push(heard)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #hear(signal: Signal | undefined): void {
    for (const heard of this.#listeners) heard(signal)
  }

  #send(): void {
    this.#timer = undefined
    const all = kinds.flatMap((kind) => [...this.#waiting[kind]].map((id) => ({ kind, id })))
    for (const kind of kinds) this.#waiting[kind].clear()
    const payloads: string[] = []
    for (let at = 0; at === 0 || at < all.length; at += maxIds) {
      const some = all.slice(at, at + maxIds)
      const of = (wanted: Kind) => some.filter(({ kind }) => kind === wanted).map(({ id }) => id)
      const ids = { work: of('work'), poll: of('poll'), resend: of('resend') }
      payloads.push(JSON.stringify({ from: this.#own, leases: this.#leases, ...ids }))
    }
    this.#leases = false
    // While the database is down, no server receives it.
    this.#client?.one(notify, { payloads }).catch(() => undefined)
  }

  #receive(payload: string): void {
    const { success, output: data } = v.safeParse(payloadSchema, parsed(payload))
    if (!success || data.from === this.#own) return
    for (const kind of kinds)
      for (const relayerRowId of data[kind] ?? []) this.#hear({ kind, relayer_row_id: relayerRowId })
    this.#hear({ kind: data.leases ? 'leases' : 'changed' })
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
