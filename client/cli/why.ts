import type { Command } from 'commander'
import type { Context } from './context.ts'
import { findTransaction } from './transactions.ts'

/** `why`: the reason why a transaction is where it is. */
export function addWhy(program: Command, context: () => Context): void {
  program
    .command('why <transaction>')
    .description('say why a transaction is where it is')
    .action(async (id: string) => {
      const world = context()
      const { relayer_id, status, status_reason } = await findTransaction(world, id)
      const { data: nonce } = await world.client.get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id } })
      const { blocking } = nonce
      const isBehind = blocking !== null && blocking.transaction_id !== id
      const why = {
        transaction_id: id,
        status,
        reason: status_reason,
        ...(isUnfinished(status) && { waiting_for: isBehind ? 'earlier_nonce' : (blocking?.waiting_for ?? null) }),
        ...(isUnfinished(status) && isBehind && { blocked_by: blocking }),
      }
      world.print.one(why, `${status}: ${status_reason ?? 'nothing is wrong'}`)
    })
}

const isUnfinished = (status: string) => ['pending', 'sent', 'submitted', 'mined'].includes(status)
