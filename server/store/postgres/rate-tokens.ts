import { sql } from '../rules/statement.ts'
import type { TakeTokens } from '../store.ts'
import type { DedicatedClient } from './dedicated-client.ts'

const take = sql<{ granted: number; empty_in_ms: number }>(
  'SELECT granted, empty_in_ms FROM take_rate_tokens($caller, $interval_ms, $tolerance_ms, $max_debt_ms, $charge, $wanted)',
)

/** The buckets of rate limits in the database. The table is not logged, so nothing waits for the disk. */
export function rateTokens({ one }: Pick<DedicatedClient, 'one'>): TakeTokens {
  return async (caller, { interval_ms, tolerance_ms, max_debt_ms }, charge, wanted) => {
    const taken = await one(take, { caller, interval_ms, tolerance_ms, max_debt_ms, charge, wanted })
    // A number that is none would spread to all servers through the bucket.
    if (!taken || !Number.isFinite(taken.granted) || !Number.isFinite(taken.empty_in_ms))
      throw new Error('A bucket gave no answer')
    return taken
  }
}
