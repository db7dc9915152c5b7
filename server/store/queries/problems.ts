import type { Acknowledgement } from '../../../generated/openapi.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import type { Failures, NotificationState, Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'

const periodS = 900
/** Periods that are read in one turn of the event loop: with a thousand relayers, some milliseconds. */
const turnPeriods = 12

const failures = sql<{ relayer_row_id: number; count: number }>(`
  SELECT relayer_row_id, sum(failed) AS count FROM activity
  WHERE period_s = ${periodS} AND at >= $from AND at < $to AND failed > 0 GROUP BY relayer_row_id`)
const newest = sql<{ at: number | null }>(`SELECT max(at) AS at FROM activity WHERE period_s = ${periodS}`)
const newestFailed = sql<{ id: string; status_reason: string | null }>(`
  SELECT id, status_reason FROM transactions WHERE relayer_row_id = $relayer_row_id AND status = 'failed'
  ORDER BY sequence DESC LIMIT 1`)
const states = sql<NotificationState>(`
  SELECT id, created_by, disabled_reason, failing_since,
    (SELECT coalesce(sum(pending), 0) FROM delivery_blocks WHERE notification_row_id = notifications.row_id AND level = 1) AS pending,
    (SELECT coalesce(sum(failed), 0) FROM delivery_blocks WHERE notification_row_id = notifications.row_id AND level = 1) AS failed
  FROM notifications ORDER BY row_id`)
const valid = sql<{ problem_id: string; caller: string; at: string; until: string; note: string | null }>(
  'SELECT problem_id, caller, at, until, note FROM acknowledgements WHERE until > $now',
)
const removeOld = sql('DELETE FROM acknowledgements WHERE until <= $now')
const insert = sql(`
  INSERT INTO acknowledgements (problem_id, caller, at, until, note) VALUES ($problem_id, $by, $at, $until, $note)
  ON CONFLICT (problem_id) DO UPDATE
    SET caller = excluded.caller, at = excluded.at, until = excluded.until, note = excluded.note`)
const remove = sql('DELETE FROM acknowledgements WHERE problem_id = $problem_id')

type Problems = Pick<
  Store,
  'failuresSince' | 'notificationStates' | 'acknowledgements' | 'acknowledge' | 'deleteAcknowledgement'
>

export const problems = ({ read, write }: Database): Problems => ({
  async failuresSince(from) {
    const counts = new Map<number, number>()
    const end = (await read.one(newest))?.at ?? 0
    for (let start = from; start <= end; start += turnPeriods * periodS) {
      for (const { relayer_row_id, count } of await read.all(failures, {
        from: start,
        to: start + turnPeriods * periodS,
      }))
        counts.set(relayer_row_id, (counts.get(relayer_row_id) ?? 0) + Number(count))
      await yieldToEventLoop()
    }
    const found: Failures[] = []
    for (const [relayerRowId, count] of counts) {
      const last = await read.one(newestFailed, { relayer_row_id: relayerRowId })
      found.push({
        relayer_row_id: relayerRowId,
        count,
        transaction_id: last?.id ?? null,
        reason: last?.status_reason ?? null,
      })
    }
    return found
  },
  notificationStates: () => read.all(states),
  async acknowledgements(now) {
    const rows = await read.all(valid, { now })
    return new Map(
      rows.map(({ problem_id, caller: by, ...its }): [string, Acknowledgement] => [problem_id, { by, ...its }]),
    )
  },
  acknowledge: (problemId, its, auditEntry) =>
    write(async (transaction) => {
      await transaction.run(removeOld, { now: its.at })
      await transaction.run(insert, { problem_id: problemId, ...its })
    }, auditEntry),
  deleteAcknowledgement: (problemId, auditEntry) =>
    write(async (transaction) => (await transaction.run(remove, { problem_id: problemId })) === 1, auditEntry),
})
