import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { DomainError } from '../../domain/errors.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { checkPoolPolicies, overLimit, poolSpendingOf } from '../../domain/policies/transaction-policies.ts'
import type { PoolRow } from '../../domain/rows.ts'
import { readTransactionRequest } from '../../domain/transaction-request.ts'
import type { SenderContext } from '../../sender/context.ts'
import type { createDryRun, DryRunResult } from './dry-run.ts'
import type { Member, PoolOrder } from './pick-relayer.ts'

interface Parts extends Pick<SenderContext, 'store'> {
  order: Pick<PoolOrder, 'inOrder'>
  dryRun: ReturnType<typeof createDryRun>
}

/** Runs every check of sending through a pool without accepting the transaction. */
export function createDryRunInPool({ store, order, dryRun }: Parts) {
  return async (nodes: NodeAccess, pool: PoolRow, body: SendTransactionRequest): Promise<DryRunResult> => {
    const request = readTransactionRequest(body)
    const { members, done } = await order.inOrder(pool, request.ordering_key)
    try {
      const refusals = await refusalsOf(pool, (members[0] as Member).relayer.chain_id)
      let shown: DryRunResult | undefined
      for (const { relayer } of members) {
        const its = { ...(await dryRun(nodes, relayer.id, body)), relayer_id: relayer.id }
        if (shown === undefined || its.accepted) shown = its
        if (its.accepted) break
      }
      const its = shown as DryRunResult
      return { ...its, accepted: its.accepted && refusals.length === 0, refusals: [...its.refusals, ...refusals] }
    } finally {
      done()
    }

    async function refusalsOf(its: PoolRow, chainId: number): Promise<DomainError[]> {
      try {
        checkPoolPolicies(its, request)
        const over = await store.wouldExceed({ chain_id: chainId, address: '' }, poolSpendingOf(its, request))
        if (over) throw overLimit(over)
        return []
      } catch (error) {
        if (!(error instanceof DomainError)) throw error
        return [error]
      }
    }
  }
}
