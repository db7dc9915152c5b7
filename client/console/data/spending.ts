import { useQuery } from '@tanstack/react-query'
import type { CallerSpending, RelayerClient, Spending } from '../../index.ts'
import { everyPage } from './every-page.ts'
import { useSession } from './session.tsx'

const poll_ms = 30_000
const per_page = 1_000

export interface Filter {
  days: number
  network?: string
}

/** What every relayer spent in these days. */
export const allSpending = (client: RelayerClient, filter: Filter, signal?: AbortSignal): Promise<Spending[]> =>
  everyPage((page) =>
    client.get('/api/v1/spending', { query: { ...filter, page, per_page }, ...(signal && { signal }) }),
  )

/** What the transactions of every API key cost in these days. */
export const allSpendingByKey = (
  client: RelayerClient,
  filter: Filter,
  signal?: AbortSignal,
): Promise<CallerSpending[]> =>
  everyPage((page) =>
    client.get('/api/v1/spending/callers', { query: { ...filter, page, per_page }, ...(signal && { signal }) }),
  )

export function useSpending(filter: Filter) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['spending', filter],
    queryFn: ({ signal }) => allSpending(client, filter, signal),
    refetchInterval: poll_ms,
    placeholderData: (before) => before,
  })
}
