import { asCoin, isBlocked } from '../../domain/funding.ts'
import type { FundingNote, FundingStore } from '../configuration-store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { bucketAt, oldestBucket } from './daily-limits.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { poolReads } from './pools.ts'
import { relayerReads } from './relayers.ts'
import { sql, type Truth } from './session.ts'
import { funded, poolThatFunds, readRefills } from './treasuries.ts'

const note = sql<FundingNote>('SELECT state, reason, since FROM funding_states WHERE relayer_row_id = $relayer_row_id')
const notes = sql<FundingNote & { relayer_row_id: number }>(
  'SELECT relayer_row_id, state, reason, since FROM funding_states',
)
const setNote = sql(`
  INSERT INTO funding_states (relayer_row_id, state, reason, since) VALUES ($relayer_row_id, $state, $reason, $since)
  ON CONFLICT (relayer_row_id) DO UPDATE
    SET state = excluded.state, reason = excluded.reason, since = excluded.since`)
const counted = sql<{ amount: string }>(`
  SELECT amount FROM spending
  WHERE chain_id = $chain_id AND address = $address AND asset = $asset AND bucket >= $oldest`)
const call = (status: string) => `
  EXISTS (SELECT 1 FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${status}
    AND (data_bytes > 0 OR "to" IS NULL))`
const calls = sql<{ found: Truth }>(`
  SELECT ${call("status = 'pending'")} OR ${call("status IN ('sent', 'submitted')")} OR ${call("status = 'mined'")} AS found`)
const fees = sql<{ gwei: number; wei: number }>(`
  SELECT coalesce(sum(fee_gwei), 0) AS gwei, coalesce(sum(fee_wei), 0) AS wei FROM activity
  WHERE period_s = 900 AND at >= $from AND relayer_row_id = $relayer_row_id`)

export function funding(
  database: Database,
  dependencies: StoreDependencies,
): Omit<FundingStore, 'setFunding' | 'setPoolFunding'> {
  const { now, observer } = dependencies
  const { write } = database
  const { byRowId } = relayerReads(database)
  const findPool = poolReads(database)
  const events = createEvents(dependencies)
  const timestamp = () => new Date(now()).toISOString()

  return {
    fundedRelayers: async () => (await database.read.all(funded)).map(({ row_id }) => row_id),
    async fundingOf({ row_id: relayerRowId, funding: own, coin_token }) {
      if (own) return { funding: asCoin(own, coin_token), pool: null }
      const found = await database.read.one(poolThatFunds, { relayer_row_id: relayerRowId })
      const pool = found && (await findPool(database.read, found.id))
      return pool?.funding ? { funding: asCoin(pool.funding, coin_token), pool } : undefined
    },
    refills: (relayerRowId) => readRefills(database.read, relayerRowId),
    async noteFunding(relayerRowId, { state, reason }) {
      // Read first, because it rarely changes and a write costs a commit.
      const before = await database.read.one(note, { relayer_row_id: relayerRowId })
      if (before?.state === state && before.reason === reason) return
      await write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayerRowId] })
        const row = await byRowId(transaction, relayerRowId)
        if (!row) return
        const since = before?.state === state ? before.since : timestamp()
        await transaction.run(setNote, { relayer_row_id: relayerRowId, state, reason, since })
        const wasBlocked = before !== undefined && isBlocked(before.state)
        if (before?.state === state || (!isBlocked(state) && !wasBlocked)) return
        await events.ofFunding(transaction, row, state, reason)
        transaction.afterCommit(() => observer?.fundingChanged?.({ relayer_id: row.id, state, reason }))
      })
    },
    async fundingNotes() {
      const rows = await database.read.all(notes)
      return new Map(rows.map(({ relayer_row_id, ...its }) => [relayer_row_id, its]))
    },
    async spentPerDay({ chain_id, address }, asset) {
      const place = { chain_id, address, asset, oldest: oldestBucket(bucketAt(now())) }
      const amounts = await database.read.all(counted, place)
      return `${amounts.reduce((sum, { amount }) => sum + BigInt(amount), 0n)}`
    },
    async hasUnfinishedCalls(relayerRowId) {
      const row = await database.read.one(calls, { relayer_row_id: relayerRowId })
      return Boolean(row?.found)
    },
    async feesSince(relayerRowId, from) {
      const row = await database.read.one(fees, { relayer_row_id: relayerRowId, from })
      return row ? BigInt(row.gwei) * 1_000_000_000n + BigInt(row.wei) : 0n
    },
  }
}
