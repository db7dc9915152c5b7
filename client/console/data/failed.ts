import { useQuery } from '@tanstack/react-query'
import type { Problem } from '../../index.ts'
import { useSession } from './session.tsx'

/** The transaction that failed last: its call tells the units of the reason. `isLoading`: they are not known yet. */
export function useFailed({ kind, relayer_id, transaction_id }: Problem) {
  const { client } = useSession()
  const path = { relayer_id: relayer_id ?? '', transaction_id: transaction_id ?? '' }
  const { data, isLoading } = useQuery({
    queryKey: ['transaction', path.relayer_id, path.transaction_id],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path, signal })).data,
    enabled: kind === 'transactions_failed' && relayer_id !== null && transaction_id !== null,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return { failed: kind === 'transactions_failed' ? data : undefined, isLoading }
}
