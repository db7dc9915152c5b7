import { useQuery } from '@tanstack/react-query'
import type { Attempt, Explanation, RelayerClient, Transaction } from '../../index.ts'
import { useSession } from './session.tsx'

const poll_ms = 2_000
/** So often its parts are read until they are of the same moment. */
const max_reads = 3
const base = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'

interface Path {
  relayer_id: string
  transaction_id: string
}

/** A transaction with its explanation and its signed versions. */
export interface WholeTransaction {
  its: Transaction
  why: Explanation
  signed: Attempt[]
}

export function useWholeTransaction(path: Path) {
  const { client } = useSession()
  return useQuery({
    queryKey: ['whole transaction', path.relayer_id, path.transaction_id],
    queryFn: ({ signal }) => readWhole(client, path, signal),
    refetchInterval: poll_ms,
  })
}

/** The parts are three requests: they are read again when it changed in between, since they would contradict each other. */
async function readWhole(client: RelayerClient, path: Path, signal: AbortSignal): Promise<WholeTransaction> {
  for (let reads = 1; ; reads += 1) {
    const [transaction, explanation, attempts] = await Promise.all([
      client.get(base, { path, signal }),
      client.get(`${base}/explanation`, { path, signal }),
      client.get(`${base}/attempts`, { path, query: { per_page: 100 }, signal }),
    ])
    const [its, why] = [transaction.data, explanation.data]
    const isOfOneMoment = its.status === why.status && attempts.pagination.total_items === why.figures.attempts
    if (isOfOneMoment || reads === max_reads) return { its, why, signed: attempts.data }
  }
}
