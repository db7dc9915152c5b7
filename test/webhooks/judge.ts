import { signWebhook, verifyWebhook } from '../../client/webhook.ts'
import type { WebhookEvent } from '../../generated/openapi.ts'
import { type Arrival, relayerOf } from './receivers.ts'

/** The counts of violations: each is 0 if the service keeps its guarantees. */
export interface Verdict {
  /** Causes that were never answered. */
  unanswered: number
  /** Events that must be there and were never accepted. */
  undelivered: number
  /** Numbers that a relayer's sequence lacks or has twice. */
  holes: number
  /** Arrivals whose bytes or id are not those of the event's first one. */
  altered: number
  /** Arrivals whose signatures are wrong, missing, or there without a key. */
  unsigned: number
  /** Arrivals before all that came of the earlier event of the same subject, and its 2xx. */
  disorder: number
  /** Relayers and transactions whose events are not the whole story in its order. */
  stories: number
  /** Events that came again after a 2xx, beyond 2 %. */
  again: number
  /** Deliveries that one target had open beyond ten. */
  crowded: number
  /** Redirects that were followed. */
  followed: number
  /** Deliveries that the service does not call delivered at the end. */
  unsettled: number
  /** Answers that must not be, and errors in the log. */
  errors: number
  /** What SQLite finds wrong with the file. */
  database: number
}

export type ColumnName = keyof Verdict

export interface Evidence {
  arrivals: Arrival[]
  /** The signing key by target. */
  keys: Map<string, string | undefined>
  /** By relayer: how many pauses and ends of pauses were answered. */
  toggled: Map<string, number>
  /** Ids of the transactions that were answered 201. */
  sent: ReadonlySet<string>
  unanswered: number
  followed: number
  crowd: number
  unsettled: number
  errors: string[]
  damage: string[]
}

export interface Judged {
  verdict: Verdict
  events: number
  /** Events that came again after a 2xx that had fully left while the service lived. */
  repeated: number
}

const maxOpen = 10
const maxRepeatedShare = 0.02
/** A kill may come between a node's taking it and our writing so: then it is next seen in a block. */
const wholeWay = /^pending sent (submitted )?mined confirmed$/

/** One event by its arrivals, the first of them first. */
interface Told {
  id: string
  event: WebhookEvent
  relayer_id: string
  subject: string
  arrivals: Arrival[]
}

export async function judge(evidence: Evidence): Promise<Judged> {
  const { arrivals, keys, toggled, sent } = evidence
  const told = [...Map.groupBy(arrivals, ({ headers }) => `${headers['webhook-id']}`)].map(([id, own]) => read(id, own))
  const delivered = told.filter(isAccepted)
  const byRelayer = Map.groupBy(delivered, ({ relayer_id }) => relayer_id)
  const bySubject = Map.groupBy(told, ({ subject }) => subject)
  const counts = [...toggled].map(([id, count]) => Math.max(0, count - (byRelayer.get(id)?.length ?? 0)))
  const repeated = told.filter(isRepeated).length
  const unsigned = await Promise.all(arrivals.map(async (one) => !(await isSigned(one, keys.get(one.target)))))

  const verdict = {
    unanswered: evidence.unanswered,
    undelivered: told.length - delivered.length + sum(counts) + [...sent].filter((id) => !bySubject.has(id)).length,
    holes: sum([...byRelayer.values()].map(holesOf)),
    altered: sum(told.map(alteredOf)),
    unsigned: unsigned.filter(Boolean).length,
    disorder: sum([...bySubject.values()].map(disorderOf)),
    stories:
      [...toggled].filter(([id, count]) => !isToggling(bySubject.get(`relayer ${id}`) ?? [], count)).length +
      [...sent].filter((id) => !isWholeWay(bySubject.get(id) ?? [])).length,
    again: Math.max(0, repeated - Math.floor(told.length * maxRepeatedShare)),
    crowded: Math.max(0, evidence.crowd - maxOpen),
    followed: evidence.followed,
    unsettled: evidence.unsettled,
    errors: evidence.errors.length,
    database: evidence.damage.length,
  }
  return { verdict, events: told.length, repeated }
}

function read(id: string, arrivals: Arrival[]): Told {
  const { event } = arrivals[0] as Arrival
  const relayerId = relayerOf(event.payload)
  const subject = event.payload.payload_type === 'transaction' ? event.payload.id : `relayer ${relayerId}`
  return { id, event, relayer_id: relayerId, subject, arrivals }
}

const isAccepted = ({ arrivals }: Told) => arrivals.some(({ accepted, sent }) => accepted !== undefined && sent)

/** Whether it came again after a 2xx that the service can have heard. */
function isRepeated({ arrivals }: Told): boolean {
  const first = arrivals.find(({ heard }) => heard)
  return first !== undefined && arrivals.some(({ arrived }) => arrived > (first.accepted ?? 0))
}

const alteredOf = ({ id, event, arrivals }: Told) =>
  event.id === id
    ? arrivals.filter(({ body, target }) => body !== arrivals[0]?.body || target !== arrivals[0]?.target).length
    : arrivals.length

/** Of a relayer's events: from 1 to as many as they are, each once. */
function holesOf(told: Told[]): number {
  const sequences = new Set(told.map(({ event }) => event.sequence))
  const highest = Math.max(...sequences)
  return highest - sequences.size + told.length - sequences.size
}

function disorderOf(told: Told[]): number {
  const inOrder = told.toSorted((a, b) => a.event.sequence - b.event.sequence)
  let wrong = 0
  let accepted = Number.NEGATIVE_INFINITY
  for (const { arrivals } of inOrder) {
    const before = accepted
    wrong += arrivals.filter(({ arrived }) => arrived < before).length
    const first = Math.min(...arrivals.map((one) => one.accepted ?? Number.POSITIVE_INFINITY))
    accepted = Math.max(first, ...arrivals.map(({ arrived }) => arrived))
  }
  return wrong
}

function isToggling(told: Told[], count: number): boolean {
  const inOrder = told.toSorted((a, b) => a.event.sequence - b.event.sequence)
  const types = inOrder.map(({ event }) => event.payload.payload_type)
  return (
    types.length === count &&
    types.every((type, index) => type === (index % 2 ? 'relayer_enabled' : 'relayer_disabled'))
  )
}

function isWholeWay(told: Told[]): boolean {
  const inOrder = told.toSorted((a, b) => a.event.sequence - b.event.sequence)
  return wholeWay.test(inOrder.map(({ event }) => ('status' in event.payload ? event.payload.status : '')).join(' '))
}

async function isSigned({ headers, body, at }: Arrival, key: string | undefined): Promise<boolean> {
  if (key === undefined) return headers['webhook-signature'] === undefined && headers['x-signature'] === undefined
  try {
    await verifyWebhook(key, headers, body, { now: at })
    const own = await signWebhook(key, `${headers['webhook-id']}`, body, Number(headers['webhook-timestamp']))
    return own['x-signature'] === headers['x-signature']
  } catch {
    return false
  }
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
