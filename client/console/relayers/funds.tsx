import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { RelayerStatus, Spending } from '../../index.ts'
import { exactAmount, fixed } from '../data/format.ts'
import { statusQuery, useSpending, useStatus, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { span } from '../data/times.ts'

const dayMs = 86_400_000
const yearMs = 365 * dayMs
/** A balance that lasts for less is shown as low. */
const shortMs = 7 * dayMs

/** What a relayer paid in some days. */
type Paid = Pick<Spending, 'relayer_id' | 'fees' | 'fees_today'>

/**
 * For how long the balance pays for fees as in these days, or as today, if today costs more. Values that it sends are not counted. `none`:
 * what is shown when there were no fees.
 */
export function Runway({ of, days, none = '–' }: { of: Paid; days: number; none?: string }) {
  const status = useStatus(of.relayer_id)
  if (!status.data || status.data.balance === null) return status.error ? 'unknown' : '…'
  const { ms, ofDays } = lastsFor(status.data.balance, of, days)
  if (ms === Number.POSITIVE_INFINITY) return none
  const basis = ofDays === 1 ? 'At what today cost so far' : `At the average of ${ofDays} days`
  return (
    <span className={ms < shortMs ? 'low' : undefined} title={`${basis}; values that it sends are not counted`}>
      {ms > yearMs ? 'over a year' : span(ms)}
    </span>
  )
}

/** As many as the fees of a table of relayers, so that both are one request. */
export const basisDays = 7

/** The same of a relayer by its fees of 7 days. The fees of all relayers are one request. */
export function LastsOf({ relayer_id, none = '–' }: { relayer_id: string; none?: string }) {
  const spending = useSpending({ days: basisDays })
  if (!spending.data) return spending.error ? 'unknown' : '…'
  const paid = spending.data.find((one) => one.relayer_id === relayer_id)
  return <Runway of={paid ?? { relayer_id, ...nothing }} days={basisDays} none={none} />
}

const nothing = { fees: '0', fees_today: '0' }

/** What the relayer of this ID has, as the service read it from the chain. */
export function Balance({ of, network }: { of: string; network: string }) {
  const status = useStatus(of)
  const symbol = useSymbols()(network)
  if (!status.data) return status.error ? <span title="The status could not be read">unknown</span> : '…'
  const { balance } = status.data
  if (balance === null) return 'unknown'
  return (
    <span className={balance === '0' ? 'low' : undefined} title={exactAmount(balance, symbol)}>
      {fixed(balance, symbol)}
    </span>
  )
}

/** Each balance is one request, so those of more relayers are read for the visible rows only. */
const maxRead = 100
const readMs = 120_000

/** What a table of relayers is sorted by. */
export interface Funds {
  /** In wei; -1: unknown. */
  balance: number
  /** -1: unknown. Infinity: no fees. */
  lastsMs: number
}

/** The funds of all these relayers; undefined: they are too many, or not all of them are read yet. */
export function useFunds(
  relayerIds: string[],
  spending: Spending[] | undefined,
  days: number,
): ReadonlyMap<string, Funds> | undefined {
  const { client } = useSession()
  const read = relayerIds.length > maxRead ? [] : relayerIds
  const statuses = useQueries({
    queries: read.map((relayerId) => statusQuery(client, relayerId, readMs)),
    combine: statusesOf,
  })
  const isWhole = read.length === relayerIds.length
  const ids = relayerIds.join()
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

function fundsOf(balance: string | null, paid: Paid | undefined, days: number): Funds {
  if (balance === null) return { balance: -1, lastsMs: -1 }
  return { balance: Number(balance), lastsMs: lastsFor(balance, paid ?? nothing, days).ms }
}

/**
 * For how long a balance pays for fees as in these days, or as today, if today costs more. Infinity: there were no fees. `ofDays`: how many
 * days it is reckoned from; 1: from today.
 */
function lastsFor(balance: string, { fees, fees_today }: Omit<Paid, 'relayer_id'>, days: number) {
  const isToday = BigInt(fees_today) * BigInt(days) > BigInt(fees)
  const [spent, ofDays] = isToday ? [BigInt(fees_today), 1] : [BigInt(fees), days]
  const ms = spent === 0n ? Number.POSITIVE_INFINITY : Number((BigInt(balance) * BigInt(ofDays * dayMs)) / spent)
  return { ms, ofDays }
}
