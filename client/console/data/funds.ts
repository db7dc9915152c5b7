import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { RelayerStatus, Spending } from '../../index.ts'
import { statusQuery } from './overview.ts'
import { useSession } from './session.tsx'

/** Each balance is one request, so those of more relayers are read for the visible rows only. */
const max_read = 100
const read_ms = 120_000
const day_ms = 86_400_000

/** What a table of relayers is sorted by. */
export interface Funds {
  /** In wei; -1: unknown. */
  balance: number
  /** -1: unknown. Infinity: no fees. */
  lasts_ms: number
}

/** The funds of all these relayers; undefined: they are too many, or not all of them are read yet. */
export function useFunds(
  relayer_ids: string[],
  spending: Spending[] | undefined,
  days: number,
): ReadonlyMap<string, Funds> | undefined {
  const { client } = useSession()
  const read = relayer_ids.length > max_read ? [] : relayer_ids
  const statuses = useQueries({
    queries: read.map((relayer_id) => statusQuery(client, relayer_id, read_ms)),
    combine: statusesOf,
  })
  const isWhole = read.length === relayer_ids.length
  const ids = relayer_ids.join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list of ids is another one each time
  return useMemo(() => {
    if (!isWhole || spending === undefined || statuses === undefined) return undefined
    const costs = new Map(spending.map((its) => [its.relayer_id, its]))
    return new Map(read.map((id, index) => [id, fundsOf(statuses[index]?.balance ?? null, costs.get(id), days)]))
  }, [ids, isWhole, spending, statuses, days])
}

/** Undefined: not all are read. An answer that is missing is null. */
function statusesOf(all: UseQueryResult<RelayerStatus>[]): (RelayerStatus | null)[] | undefined {
  return all.some(({ isPending }) => isPending) ? undefined : all.map(({ data }) => data ?? null)
}

function fundsOf(balance: string | null, costs: Spending | undefined, days: number): Funds {
  if (balance === null) return { balance: -1, lasts_ms: -1 }
  const { ms } = lastsFor(BigInt(balance), BigInt(costs?.fees ?? 0), BigInt(costs?.fees_today ?? 0), days)
  return { balance: Number(balance), lasts_ms: ms }
}

/**
 * For how long a balance pays for fees as in these days, or as today, if today costs more. Infinity: there were no fees. `of_days`: how many
 * days it is reckoned from; 1: from today.
 */
export function lastsFor(
  balance: bigint,
  fees: bigint,
  fees_today: bigint,
  days: number,
): { ms: number; of_days: number } {
  const isToday = fees_today * BigInt(days) > fees
  const [spent, of_days] = isToday ? [fees_today, 1] : [fees, days]
  return { ms: spent === 0n ? Number.POSITIVE_INFINITY : Number((balance * BigInt(of_days * day_ms)) / spent), of_days }
}
