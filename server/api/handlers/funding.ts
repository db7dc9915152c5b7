import { deleted, type Handlers } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import {
  endFunding,
  endPoolFunding,
  fundingOf,
  fundingOfPool,
  setFunding,
  setPoolFunding,
} from '../../services/funding/settings.ts'
import { sweep } from '../../services/funding/sweep.ts'
import { findPool } from '../../services/pools.ts'

type Operations = Pick<
  Handlers,
  | ('getFunding' | 'setFunding' | 'deleteFunding' | 'sweepRelayer')
  | ('getPoolFunding' | 'setPoolFunding' | 'deletePoolFunding')
>

export const funding = (context: ServicesContext): Operations => ({
  getFunding: ({ path, nodes }) => fundingOf(context, nodes, path.relayer_id),

  setFunding: ({ path, body, auditEntry, ifMatch, nodes }) =>
    setFunding(context, nodes, path.relayer_id, { body, auditEntry, ifMatch }),

  async deleteFunding({ path, auditEntry, ifMatch }) {
    await endFunding(context, path.relayer_id, { auditEntry, ifMatch })
    return deleted(path.relayer_id)
  },

  getPoolFunding: async ({ path, caller }) => fundingOfPool(context, await findPool(context, path.pool_id, caller)),

  setPoolFunding: ({ path, body, auditEntry, ifMatch }) =>
    setPoolFunding(context, path.pool_id, body, { auditEntry, ifMatch }),

  async deletePoolFunding({ path, caller, auditEntry, ifMatch }) {
    await endPoolFunding(context, await findPool(context, path.pool_id, caller), { auditEntry, ifMatch })
    return deleted(path.pool_id)
  },

  sweepRelayer({ path, body, idempotency, auditEntry, authorize, nodes }) {
    const asker = { idempotency, auditEntry, nodes, authorize: () => authorize('sweepRelayer') }
    return sweep(context, asker, path.relayer_id, body)
  },
})
