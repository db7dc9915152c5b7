import type {
  FundingStatus,
  NotificationFilter,
  Transaction,
  WaitReason,
  WebhookEvent,
} from '../../../generated/openapi.ts'
import { type EventRow, maxEventCharacters, type RelayerRow } from '../../domain/rows.ts'
import { shownTransaction, showRelayer } from '../../domain/show.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { shownReason } from '../../domain/wait-reason.ts'
import {
  type Database,
  type DatabaseTransaction,
  type Engine,
  type StoreDependencies,
  selectForEach,
  sql,
  type Truth,
} from './database.ts'
import { dataColumn, withData } from './transaction-rows.ts'

/** Events that are read at once: an event may contain 128 KB of data as hex. */
const stepRows = 20

const selectEvent = sql<EventRow & { data: Uint8Array | null }>(`
  SELECT sequence, event, body, ${dataColumn('events')} FROM events
  WHERE relayer_row_id = $relayer_row_id AND sequence > $after ORDER BY sequence LIMIT $limit`)
const last = sql<{ last: number }>(
  'SELECT coalesce(max(sequence), 0) AS last FROM events WHERE relayer_row_id = $relayer_row_id',
)

const whose = sql<{ sequence: number; is_of_pool: Truth }>(`
  SELECT sequence,
    EXISTS (SELECT 1 FROM transactions WHERE id = events.subject AND pool_row_id = $pool_row_id) AS is_of_pool
  FROM events WHERE relayer_row_id = $relayer_row_id AND sequence > $after ORDER BY sequence LIMIT $limit`)

/** Events of a relayer after a sequence number, in order: at most `limit`, fewer if they are large, and at least one if any exists. */
export async function events(
  database: Database,
  relayerRowId: number,
  after: number,
  limit: number,
): Promise<EventRow[]> {
  const found: EventRow[] = []
  let characters = 0
  while (found.length < limit && characters < maxEventCharacters) {
    const size = Math.min(stepRows, limit - found.length)
    const from = found.at(-1)?.sequence ?? after
    const rows = await database.read.all(selectEvent, { relayer_row_id: relayerRowId, after: from, limit: size })
    for (const { data, ...event } of rows) {
      if (characters >= maxEventCharacters) break
      const body = withData(event.body, data)
      found.push({ ...event, body })
      characters += body.length
    }
    if (rows.length < size) break
  }
  return found
}

/** Those of the transactions that were sent through a pool, among the next `limit`. `seen`: the last one that was looked at. */
export async function eventsOfPool(
  database: Database,
  its: { pool_row_id: number; relayer_row_id: number },
  after: number,
  limit: number,
): Promise<{ events: EventRow[]; seen: number }> {
  const found: EventRow[] = []
  let [characters, seen] = [0, after]
  for (const { sequence, is_of_pool } of await database.read.all(whose, { ...its, after, limit })) {
    if (characters >= maxEventCharacters) break
    const own = is_of_pool ? await events(database, its.relayer_row_id, sequence - 1, 1) : []
    for (const { body } of own) characters += body.length
    found.push(...own)
    seen = sequence
  }
  return { events: found, seen }
}

export const lastEvent = async (database: Database, relayerRowId: number): Promise<number> =>
  (await database.read.one(last, { relayer_row_id: relayerRowId }))?.last ?? 0

/** A notification that a relayer reports to. `filter`: JSON. */
interface Listener {
  row_id: number
  filter: string | null
}
/** The last sequence of a relayer, and its listeners. */
interface State {
  last: number
  listeners: Listener[]
}
const stateOf = (relayerRowId: string, aggregate: string, others: string) => `
  SELECT ${relayerRowId} AS relayer_row_id,
    (SELECT coalesce(max(sequence), 0) FROM events WHERE events.relayer_row_id = ${relayerRowId}) AS last,
    (SELECT ${aggregate} FROM notifications WHERE id IN (
      SELECT notification_id FROM relayers WHERE relayers.row_id = ${relayerRowId}
      UNION ALL SELECT value FROM relayers, ${others} WHERE relayers.row_id = ${relayerRowId})) AS listeners`
const stateIn: Record<Engine, (relayerRowId: string) => string> = {
  sqlite: (relayerRowId) =>
    stateOf(
      relayerRowId,
      "json_group_array(json_object('row_id', row_id, 'filter', filter))",
      'json_each(other_notification_ids)',
    ),
  postgres: (relayerRowId) =>
    stateOf(
      relayerRowId,
      "coalesce(json_agg(json_build_object('row_id', row_id, 'filter', filter)), '[]')::text",
      'json_array_elements_text(other_notification_ids::json)',
    ),
}
type StateRow = Pick<State, 'last'> & { relayer_row_id: number; listeners: string }
const selectStates = selectForEach<StateRow>({ relayer_row_id: 'bigint' }, (record, engine) =>
  stateIn[engine](`${record}relayer_row_id`),
)
const statesFor = sql<StateRow>(
  (engine) => `${stateIn[engine]('wanted.relayer_row_id')}
  FROM (SELECT DISTINCT relayer_row_id FROM transactions WHERE row_id = ANY ($row_ids::bigint[])) AS wanted`,
)
const insertEventRow = sql({
  sqlite: `
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, transaction_status, created_at)
    VALUES ($id, $relayer_row_id, $sequence, $event, $subject, $body, $data_row_id, $transaction_status, $timestamp)`,
  postgres: `
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, transaction_status, created_at)
    SELECT id, relayer_row_id, sequence, event, subject, body, data_row_id, transaction_status, timestamp
    FROM json_to_recordset($rows::json) AS row (place bigint, id text, relayer_row_id bigint, sequence bigint,
      event text, subject text, body text, data_row_id bigint, transaction_status text, timestamp text) ORDER BY place`,
})
const eventOf = (row: string) =>
  `(SELECT row_id FROM events WHERE relayer_row_id = ${row}relayer_row_id AND sequence = ${row}sequence)`
/** A disabled notification gets no pending deliveries. Missed ones can be redelivered after it is enabled. */
const statusOf = `CASE WHEN disabled_reason IS NULL THEN 'pending' ELSE 'failed' END`
const deliver = sql({
  sqlite: `
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    SELECT $delivery_id, row_id, ${eventOf('$')}, $subject, ${statusOf}, $now, $timestamp
    FROM notifications WHERE row_id = $notification_row_id`,
  // The lock keeps the notification enabled or disabled until the commit.
  postgres: `
    WITH new AS MATERIALIZED (
      SELECT * FROM json_to_recordset($rows::json) AS row (place bigint, relayer_row_id bigint, sequence bigint,
        subject text, timestamp text, delivery_id text, notification_row_id bigint, now bigint)
    ), target AS (
      SELECT row_id, disabled_reason FROM notifications
      WHERE row_id IN (SELECT notification_row_id FROM new) ORDER BY row_id FOR SHARE
    )
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    SELECT delivery_id, target.row_id, ${eventOf('new.')}, subject, ${statusOf}, now, timestamp
    FROM new JOIN target ON target.row_id = notification_row_id ORDER BY place`,
})

type Event = Omit<NewEvent, 'payload'> & ReturnType<typeof serializeEvent> & { sequence: number }

/** The transaction that an event is about. */
function transactionIn(payload: WebhookEvent['payload']): Transaction | undefined {
  if (payload.payload_type === 'transaction') return payload
  return payload.payload_type === 'transaction_waiting' ? payload.transaction : undefined
}

/** Of the transaction that an event is about. */
const statusIn = (payload: WebhookEvent['payload']): Transaction['status'] | null =>
  transactionIn(payload)?.status ?? null

type Delivery = { place: number; notification_row_id: number; delivery_id: string }

/** The state of each relayer, as a database transaction has written it: of all methods that share it. */
const inTransaction = new WeakMap<DatabaseTransaction, Map<number, State>>()

function note(known: Map<number, State>, rows: StateRow[]): void {
  for (const { relayer_row_id, last, listeners } of rows) {
    if (!known.has(relayer_row_id)) known.set(relayer_row_id, { last, listeners: JSON.parse(listeners) })
  }
}

/** Reads ahead what events of these relayers need. */
export async function prepareEvents(
  dbTransaction: DatabaseTransaction,
  relayerRowIds: number[],
): Promise<Map<number, State>> {
  const known = inTransaction.get(dbTransaction) ?? new Map<number, State>()
  inTransaction.set(dbTransaction, known)
  const unknown = [...new Set(relayerRowIds)].filter((rowId) => !known.has(rowId))
  if (unknown.length === 0) return known
  const wanted = unknown.map((relayerRowId) => ({ relayer_row_id: relayerRowId }))
  note(known, await dbTransaction.allOf(selectStates, wanted))
  return known
}

/** The same for the relayers of transactions. */
export async function prepareEventsFor(dbTransaction: DatabaseTransaction, transactionRowIds: number[]): Promise<void> {
  note(await prepareEvents(dbTransaction, []), await dbTransaction.all(statesFor, { row_ids: transactionRowIds }))
}

/**
 * Writes events and their deliveries, inside the database transaction of the change, so that both are committed or neither. The caller
 * holds the locks of the relayers' rows, so that sequences follow each other.
 */
export async function writeEvents(dbTransaction: DatabaseTransaction, all: NewEvent[]): Promise<void> {
  if (all.length === 0) return
  const known = await prepareEvents(
    dbTransaction,
    all.map(({ relayer_row_id }) => relayer_row_id),
  )
  const rows: (Event & { place: number; transaction_status: string | null })[] = []
  const deliveries: (Omit<Event, 'body'> & Delivery)[] = []
  for (const its of all) {
    const state = known.get(its.relayer_row_id) as State
    state.last += 1
    const { relayer_row_id, event, subject, data_row_id } = its
    const sequence = state.last
    const { body, ...rest } = serializeEvent(its, sequence, dbTransaction.effects)
    const row = { relayer_row_id, sequence, event, subject, data_row_id, ...rest }
    rows.push({ ...row, body, transaction_status: statusIn(its.payload), place: rows.length })
    for (const { row_id: notificationRowId, filter } of state.listeners) {
      if (!isWanted(filter, its)) continue
      const deliveryId = dbTransaction.effects.makeId()
      const place = deliveries.length
      deliveries.push({ ...row, notification_row_id: notificationRowId, delivery_id: deliveryId, place })
    }
  }
  // They are sent together, and run one after the other.
  await Promise.all([
    dbTransaction.runOf(insertEventRow, rows),
    ...(deliveries.length > 0 ? [dbTransaction.runOf(deliver, deliveries)] : []),
  ])
}

/** Writes that the status of each transaction has changed. */
export async function writeStatusEvents(dbTransaction: DatabaseTransaction, rows: TransactionRow[]): Promise<void> {
  await writeEvents(dbTransaction, rows.map(transactionEvent))
  dbTransaction.afterCommit(() => {
    for (const { status } of rows) dbTransaction.effects.observer?.moved?.(status)
  })
}

/** Writes that a transaction waits, for the reason that it holds. */
export async function writeWaitEvent(
  dbTransaction: DatabaseTransaction,
  row: TransactionRow & { wait_reason: WaitReason | null },
): Promise<void> {
  await writeEvents(dbTransaction, [waitEvent(row)])
  const { relayer_id, id: transactionId, nonce, wait_reason } = row
  const [reason, waitReason] = [shownReason(row), wait_reason ?? 'other']
  const wait = { relayer_id, transaction_id: transactionId, nonce, wait_reason: waitReason, reason }
  dbTransaction.afterCommit(() => dbTransaction.effects.observer?.waits?.(wait))
}

/** An event before it has an id and a sequence number. */
interface NewEvent {
  relayer_row_id: number
  event: WebhookEvent['event']
  /** Deliveries of one subject are made one after the other. */
  subject: string
  payload: WebhookEvent['payload']
  /** The stored version of the transaction's data, which the payload leaves out: it may be large. */
  data_row_id: number | null
}

/** Whether a notification with this filter (JSON; null: none) receives the event. */
function isWanted(filter: string | null, { event, payload }: Pick<NewEvent, 'event' | 'payload'>): boolean {
  if (filter === null) return true
  const { events, statuses }: NotificationFilter = JSON.parse(filter)
  if (events && !events.some((name) => name === event)) return false
  const status = statusIn(payload)
  return !statuses || status === null || statuses.includes(status)
}

/** The status of a transaction has changed. */
const transactionEvent = (row: TransactionRow): NewEvent => ({
  ...ofTransaction(row),
  event: 'transaction_update',
  payload: { payload_type: 'transaction', ...withoutData(row) },
})

/** A transaction waits, for the reason that it holds. */
const waitEvent = (row: TransactionRow & { wait_reason: WaitReason | null }): NewEvent => ({
  ...ofTransaction(row),
  event: 'transaction_waiting',
  payload: { payload_type: 'transaction_waiting', transaction: withoutData(row) },
})

/** The event of a relayer that was disabled or enabled; undefined: it was neither. */
export function changeEvent(before: RelayerRow, after: RelayerRow): NewEvent | undefined {
  const stopped = (relayer: RelayerRow) => relayer.paused || relayer.system_disabled
  const relayer = showRelayer(after)
  if (stopped(after) && (!stopped(before) || before.disabled_reason !== after.disabled_reason)) {
    const disabledReason = after.disabled_reason ?? 'Paused by request'
    return stateEvent(after, { payload_type: 'relayer_disabled', relayer, disabled_reason: disabledReason })
  }
  const isEnabled = stopped(before) && !stopped(after)
  return isEnabled ? stateEvent(after, { payload_type: 'relayer_enabled', relayer, retry_count: 0 }) : undefined
}

export const lowBalanceEvent = (row: RelayerRow, balance: string, minBalance: string): NewEvent =>
  stateEvent(row, { payload_type: 'relayer_low_balance', relayer: showRelayer(row), balance, min_balance: minBalance })

export const fundingEvent = (row: RelayerRow, status: FundingStatus, statusReason: string | null): NewEvent =>
  stateEvent(row, { payload_type: 'relayer_funding', relayer: showRelayer(row), status, status_reason: statusReason })

/** The event with its body as it is delivered, except for the data of its transaction. Throws when it breaks the contract. */
function serializeEvent(
  { event, payload }: NewEvent,
  sequence: number,
  { now, makeId, checkEvent }: Pick<StoreDependencies, 'now' | 'makeId' | 'checkEvent'>,
) {
  const time = now()
  const timestamp = new Date(time).toISOString()
  const whole = { id: makeId(), event, payload, timestamp, sequence }
  const wrong = checkEvent(whole)
  if (wrong !== undefined) throw new Error(`An event breaks the contract: ${wrong}`)
  return { id: whole.id, body: JSON.stringify(whole), timestamp, now: time }
}

const ofTransaction = ({ relayer_row_id, id, data_row_id }: TransactionRow) => ({
  relayer_row_id,
  subject: id,
  data_row_id,
})

const stateEvent = (
  { row_id, id }: RelayerRow,
  payload: Extract<WebhookEvent['payload'], { relayer: object }>,
): NewEvent => ({
  relayer_row_id: row_id,
  event: payload.payload_type,
  subject: `relayer ${id}`,
  payload,
  data_row_id: null,
})

const withoutData = (row: TransactionRow) => shownTransaction({ ...row, data: null })
