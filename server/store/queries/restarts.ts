import { endOfIntent } from '../../domain/decide.ts'
import type { FirstBlock } from '../../domain/ending.ts'
import type { Proof } from '../../domain/proof.ts'
import { isFinal } from '../../domain/statuses.ts'
import type { TransactionUpdate } from '../../domain/transaction-rows.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { createSpending } from './daily-limits.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { sql } from './session.ts'
import { columns, type Row } from './transaction-rows.ts'
import { createMoves } from './update-transactions.ts'
import { done } from './withdrawal.ts'

const holders = sql<Row>(`
  SELECT ${columns} FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= 0 ORDER BY nonce LIMIT $limit`)
const restart = sql(`
  INSERT INTO accounts (next_nonce, genesis_hash, chain_id, address)
  VALUES ($next_nonce, $genesis_hash, $chain_id, $address)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce,
    genesis_hash = excluded.genesis_hash, used_below = 0, compared_count = NULL`)
const forgetUnknown = sql('DELETE FROM unknown_transactions WHERE chain_id = $chain_id AND address = $address')

/** Accounts on a restarted chain. */
export function restarts(
  { write }: Database,
  dependencies: StoreDependencies,
): Pick<Store, 'forgetNonces' | 'restartAccount'> {
  const { now } = dependencies
  const moveAll = createMoves(createEvents(dependencies), createSpending(now), now)
  return {
    forgetNonces: ({ chain_id, address }, reason, proof, limit) =>
      write(async (transaction) => {
        const account = { chain_id, address }
        await transaction.lockRelayers({ accounts: [account] })
        const rows = await transaction.all(holders, { ...account, limit })
        const moves = rows.map((row) => ({
          row_id: row.row_id,
          revision: row.revision,
          ...forgotten(row, reason, proof),
        }))
        for (const row of await moveAll(transaction, moves)) done(row)
        return rows.length
      }),
    restartAccount: ({ chain_id, address }, genesisHash, nextNonce, auditEntry) =>
      write(async (transaction) => {
        const account = { chain_id, address }
        await transaction.lockRelayers({ accounts: [account] })
        if (await transaction.one(holders, { ...account, limit: 1 })) return false
        await transaction.run(restart, { ...account, next_nonce: nextNonce, genesis_hash: genesisHash })
        await transaction.run(forgetUnknown, account)
        return true
      }, auditEntry),
  }
}

/** As the contract says. */
const maxReasonLength = 1_000

/** A block of the former chain is unrelated to the block of the same height on the new chain. */
function forgotten(
  { status, intent, status_reason }: Row,
  reason: string,
  proof: Proof<FirstBlock>,
): Pick<TransactionUpdate, 'set' | 'end'> {
  const place = { nonce: null, block_number: null, block_hash: null }
  if (isFinal(status)) return { set: place }
  const error = { code: 'chain_restarted' as const, message: reason, revert_data: null }
  if (intent === 'send') return { set: { ...place, status_reason: reason, error }, end: { status: 'failed', proof } }
  // The reason of the withdrawal comes first.
  const reasons = status_reason === null ? reason : `${status_reason}; ${reason}`
  const set = { ...place, status_reason: reasons.slice(0, maxReasonLength), error }
  return { set, end: { status: endOfIntent[intent], proof } }
}
