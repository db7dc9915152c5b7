import type { FundingStatus } from '../../../generated/openapi.ts'
import { type AppliedFunding, asCoin, isBlocked } from '../../domain/funding.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { type Database, sql, type Truth } from './database.ts'
import { fundingEvent, writeEvents } from './events.ts'
import { poolById } from './pools.ts'
import { relayerByRowId } from './relayers.ts'
import { funded, poolThatFunds, type Refill, readRefills } from './treasuries.ts'

export interface FundingNote {
  status: FundingStatus
  status_reason: string | null
  since: string
}

const note = sql<FundingNote>(
  'SELECT status, status_reason, since FROM funding_states WHERE relayer_row_id = $relayer_row_id',
)
const notes = sql<FundingNote & { relayer_row_id: number }>(
  'SELECT relayer_row_id, status, status_reason, since FROM funding_states',
)
const setNote = sql(`
  INSERT INTO funding_states (relayer_row_id, status, status_reason, since) VALUES ($relayer_row_id, $status, $status_reason, $since)
  ON CONFLICT (relayer_row_id) DO UPDATE
    SET status = excluded.status, status_reason = excluded.status_reason, since = excluded.since`)
const call = (status: string) => `
  EXISTS (SELECT 1 FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${status}
    AND (data_bytes > 0 OR "to" IS NULL))`
const calls = sql<{ found: Truth }>(`
  SELECT ${call("status = 'pending'")} OR ${call("status IN ('sent', 'submitted')")} OR ${call("status = 'mined'")} AS found`)
// As texts: the sums may be above 2^53.
const outgoing = sql<{ gwei: string; wei: string }>(`
  SELECT CAST(coalesce(sum(fee_gwei + value_gwei), 0) AS TEXT) AS gwei, CAST(coalesce(sum(fee_wei + value_wei), 0) AS TEXT) AS wei
  FROM activity
  WHERE period_s = 900 AND at >= $from AND relayer_row_id = $relayer_row_id`)

/** The row ids of the relayers that have a funding, or that a pool funds. */
export const fundedRelayers = async (database: Database): Promise<number[]> =>
  (await database.read.all(funded)).map(({ row_id }) => row_id)

/** Undefined: it gets no funds from another relayer. */
export async function fundingOf(
  database: Database,
  { row_id: relayerRowId, funding: own, coin_token }: RelayerRow,
): Promise<AppliedFunding | undefined> {
  if (own) return { funding: asCoin(own, coin_token), pool: null }
  const found = await database.read.one(poolThatFunds, { relayer_row_id: relayerRowId })
  const pool = found && (await poolById(database.rights, database.read, found.id))
  return pool?.funding ? { funding: asCoin(pool.funding, coin_token), pool } : undefined
}

/** The newest first; at most 20. */
export const refills = (database: Database, relayerRowId: number): Promise<Refill[]> =>
  readRefills(database.read, relayerRowId)

/** Stores it if it is another status or reason. An event is written when the relayer can no longer be refilled, or can again. */
export async function noteFunding(
  database: Database,
  relayerRowId: number,
  { status, status_reason }: Pick<FundingNote, 'status' | 'status_reason'>,
): Promise<void> {
  // Read first, because it rarely changes and a write costs a commit.
  const before = await database.read.one(note, { relayer_row_id: relayerRowId })
  if (before?.status === status && before.status_reason === status_reason) return
  await database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ relayers: [relayerRowId] })
    const row = await relayerByRowId(database.rights, dbTransaction, relayerRowId)
    if (!row) return
    const since = before?.status === status ? before.since : new Date(database.effects.now()).toISOString()
    await dbTransaction.run(setNote, { relayer_row_id: relayerRowId, status, status_reason, since })
    const wasBlocked = before !== undefined && isBlocked(before.status)
    if (before?.status === status || (!isBlocked(status) && !wasBlocked)) return
    await writeEvents(dbTransaction, [fundingEvent(row, status, status_reason)])
    dbTransaction.afterCommit(() =>
      database.effects.observer?.fundingChanged?.({ relayer_id: row.id, state: status, reason: status_reason }),
    )
  })
}

/** By the relayer's row id; relayers that were not examined yet have none. */
export async function fundingNotes(database: Database): Promise<Map<number, FundingNote>> {
  const rows = await database.read.all(notes)
  return new Map(rows.map(({ relayer_row_id, ...its }) => [relayer_row_id, its]))
}

/** Whether an unfinished transaction of the relayer calls a contract or creates one. */
export async function hasUnfinishedCalls(database: Database, relayerRowId: number): Promise<boolean> {
  const row = await database.read.one(calls, { relayer_row_id: relayerRowId })
  return Boolean(row?.found)
}

/**
 * The fees that the relayer paid and the values that it sent since then, in wei. `from`: seconds since the Unix epoch. Counted by the
 * quarter of an hour.
 */
export async function outgoingSince(database: Database, relayerRowId: number, from: number): Promise<bigint> {
  const row = await database.read.one(outgoing, { relayer_row_id: relayerRowId, from })
  return row ? BigInt(row.gwei) * 1_000_000_000n + BigInt(row.wei) : 0n
}
