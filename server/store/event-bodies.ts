import type { Event, FundingStatus, NotificationFilter, WaitingFor } from '../../generated/openapi.ts'
import type { RelayerRow } from '../core/rows.ts'
import type { TransactionRow } from '../core/sending-rows.ts'
import { shownTransaction } from '../core/shown-transaction.ts'
import type { StoreDependencies } from './store-dependencies.ts'

/** An event before it has an id and a sequence number. */
export interface NewEvent {
  relayer_row_id: number
  event: Event['event']
  /** Deliveries of one subject are made one after the other. */
  subject: string
  payload: Event['payload']
  /** The stored version of the transaction's data, which the payload leaves out: it may be large. */
  data_row_id: number | null
}

/** Whether a notification with this filter (JSON; null: none) receives the event. */
export function isWanted(filter: string | null, { event, payload }: Pick<NewEvent, 'event' | 'payload'>): boolean {
  if (filter === null) return true
  const { events, statuses }: NotificationFilter = JSON.parse(filter)
  if (events && !events.some((name) => name === event)) return false
  return !statuses || !('status' in payload) || statuses.includes(payload.status)
}

/** The status of a transaction has changed. */
export const transactionEvent = (row: TransactionRow): NewEvent => ({
  ...ofTransaction(row),
  event: 'transaction_update',
  payload: { payload_type: 'transaction', ...withoutData(row) },
})

/** A transaction waits, for the reason that it holds. */
export const waitEvent = (row: TransactionRow & { waiting_for: WaitingFor | null }): NewEvent => ({
  ...ofTransaction(row),
  event: 'transaction_waiting',
  payload: { payload_type: 'transaction_waiting', waiting_for: row.waiting_for ?? 'other', ...withoutData(row) },
})

/** The event of a relayer that was disabled or enabled; undefined: it was neither. */
export function changeEvent(
  before: RelayerRow,
  after: RelayerRow,
  showRelayer: StoreDependencies['showRelayer'],
): NewEvent | undefined {
  const stopped = (relayer: RelayerRow) => relayer.paused || relayer.system_disabled
  const relayer = showRelayer(after)
  if (stopped(after) && (!stopped(before) || before.disabled_reason !== after.disabled_reason)) {
    const disable_reason = after.disabled_reason ?? 'Paused by request'
    return stateEvent(after, { payload_type: 'relayer_disabled', relayer, disable_reason })
  }
  const isEnabled = stopped(before) && !stopped(after)
  return isEnabled ? stateEvent(after, { payload_type: 'relayer_enabled', relayer, retry_count: 0 }) : undefined
}

export const lowBalanceEvent = (
  row: RelayerRow,
  balance: string,
  min_balance: string,
  showRelayer: StoreDependencies['showRelayer'],
): NewEvent => stateEvent(row, { payload_type: 'relayer_low_balance', relayer: showRelayer(row), balance, min_balance })

export const fundingEvent = (
  row: RelayerRow,
  state: FundingStatus,
  reason: string | null,
  showRelayer: StoreDependencies['showRelayer'],
): NewEvent => stateEvent(row, { payload_type: 'relayer_funding', relayer: showRelayer(row), state, reason })

/** The event with its body as it is delivered, except for the data of its transaction. Throws when it breaks the contract. */
export function serializeEvent(
  { event, payload }: NewEvent,
  sequence: number,
  { now, makeId, checkEvent }: Pick<StoreDependencies, 'now' | 'makeId' | 'checkEvent'>,
) {
  const time = now()
  const timestamp = new Date(time).toISOString()
  const whole: Event = { id: makeId(), event, payload, timestamp, sequence }
  const wrong = checkEvent(whole)
  if (wrong !== undefined) throw new Error(`An event breaks the contract: ${wrong}`)
  return { id: whole.id, body: JSON.stringify(whole), timestamp, now: time }
}

const ofTransaction = ({ relayer_row_id, id, data_row_id }: TransactionRow) => ({
  relayer_row_id,
  subject: id,
  data_row_id,
})

const stateEvent = ({ row_id, id }: RelayerRow, payload: Event['payload']): NewEvent => ({
  relayer_row_id: row_id,
  event: 'relayer_state_update',
  subject: `relayer ${id}`,
  payload,
  data_row_id: null,
})

const withoutData = (row: TransactionRow) => shownTransaction({ ...row, data: null })
