import type { Creation, NewTransaction, PoolCreation, PoolTransaction } from '../core/new-transaction.ts'
import { accept, keyOf, type Ledger, type Origin } from './acceptance.ts'
import { answerAgain } from './first-responses.ts'

/** What the choice of a relayer depends on, beside the ledger. It follows each choice. */
export interface PoolState {
  /** By `orderOf`: the relayer that has an unfinished transaction with this ordering key, or an earlier one of its own. */
  pinned: Map<string, number>
  /** The newest transaction of each relayer that has one, by the relayer's row id. */
  newest: Map<number, number>
}

/** A transaction that was accepted with an ordering key. */
export interface Order {
  transaction_row_id: number
  pool_row_id: number
  ordering_key: string
}

export const orderOf = (pool_row_id: number, ordering_key: string): string => `${pool_row_id} ${ordering_key}`

/**
 * Accepts a transaction for the candidate with the fewest unfinished transactions for its weight; among equals for the one that was idle
 * the longest. A candidate that its funds or limits refuse is passed over. If all are, the refusal of the first candidate is returned.
 */
export function acceptInPool(
  ledger: Ledger,
  { pinned, newest }: PoolState,
  origin: Omit<Origin, 'pool_row_id'>,
  { pool_row_id, ordering_key, candidates }: PoolTransaction,
): { creation: PoolCreation; order?: Order; relayer_id?: string } {
  const [first] = candidates as [PoolTransaction['candidates'][number]]
  const { idempotency } = first.transaction
  const known = idempotency && ledger.known.get(keyOf(first.transaction.relayer_row_id, idempotency))
  if (known) return { creation: answerAgain(known, idempotency.body_hash) }

  const name = ordering_key === null ? undefined : orderOf(pool_row_id, ordering_key)
  const wanted = name === undefined ? undefined : pinned.get(name)
  if (wanted !== undefined && !candidates.some(({ transaction }) => transaction.relayer_row_id === wanted)) {
    return { creation: { outcome: 'pinned' } }
  }
  const share = ({ relayer_row_id }: NewTransaction, weight: number) =>
    (ledger.relayers.get(relayer_row_id)?.unfinished.count ?? 0) / weight
  const age = ({ relayer_row_id }: NewTransaction) => newest.get(relayer_row_id) ?? 0
  const best = candidates
    .filter(({ transaction }) => wanted === undefined || transaction.relayer_row_id === wanted)
    .sort(
      (a, b) =>
        share(a.transaction, a.weight) - share(b.transaction, b.weight) || age(a.transaction) - age(b.transaction),
    )
  const refusals = new Map<NewTransaction, Creation>()
  for (const { transaction } of best) {
    const creation = accept(ledger, { ...origin, pool_row_id }, transaction)
    if (creation.outcome !== 'created') {
      refusals.set(transaction, creation)
      continue
    }
    const { relayer_row_id, relayer_id } = transaction
    newest.set(relayer_row_id, creation.row_id)
    if (name === undefined || ordering_key === null) return { creation, relayer_id }
    pinned.set(name, relayer_row_id)
    return { creation, relayer_id, order: { transaction_row_id: creation.row_id, pool_row_id, ordering_key } }
  }
  return { creation: refusals.get(first.transaction) ?? ([...refusals.values()][0] as Creation) }
}
