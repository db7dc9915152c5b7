import { type UseQueryResult, useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { RelayerStatus } from '../../index.ts'
import { Pending } from '../components/values.tsx'
import { exactAmount, fixed } from '../data/format.ts'
import { statusQuery, useStatus, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

/** What the relayer of this ID has, as the service read it from the chain. */
export function Balance({ of, network }: { of: string; network: string }) {
  const status = useStatus(of)
  const symbol = useSymbols()(network)
  if (!status.data) return status.error ? <span title="The status could not be read">unknown</span> : <Pending />
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

/** The balances of all these relayers, in wei; -1: unknown. Undefined: they are too many, or not all of them are read yet. */
export function useBalances(relayerIds: string[]): ReadonlyMap<string, number> | undefined {
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
    if (!isWhole || statuses === undefined) return undefined
    return new Map(read.map((id, index) => [id, Number(statuses[index]?.balance ?? -1)]))
  }, [ids, isWhole, statuses])
}

/** Undefined: not all are read. An answer that is missing is null. */
function statusesOf(all: UseQueryResult<RelayerStatus>[]): (RelayerStatus | null)[] | undefined {
  return all.some(({ isPending }) => isPending) ? undefined : all.map(({ data }) => data ?? null)
}
