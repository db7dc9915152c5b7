import { creatorSeenBy, type Handlers, Page } from '../../domain/operation.ts'
import { getActivity, getSpending, getSpendingByCaller, listQueues } from '../../services/activity.ts'
import type { ServicesContext } from '../../services/context.ts'

export const activity = (context: ServicesContext) =>
  ({
    listRelayerQueues: ({ query, caller }) => listQueues(context, caller, query),
    getRelayerActivity: ({ query, caller }) => getActivity(context, caller, query),
    listRelayerSpending: ({ query, caller }) => getSpending(context, caller, query),
    listCallerSpending: ({ query }) => getSpendingByCaller(context, query),
  }) satisfies Partial<Handlers>

export function problems({ store, problems: list }: ServicesContext) {
  return {
    listProblems: ({ query, caller }) => list.list(caller, query),

    async updateProblem({ path, body: { acknowledgement }, caller, auditEntry }) {
      const found = await list.find(path.problem_id, caller)
      if (!found) return undefined
      auditEntry.subject = found.id
      return list.acknowledge(found, caller, acknowledgement, auditEntry)
    },

    async searchResources({ query, caller }) {
      const { roles, relayer_ids } = caller
      const createdBy = creatorSeenBy(caller)
      const ofCreator = createdBy === undefined ? 'all' : { created_by: createdBy }
      const { items, total_items } = await store.search(query.q.trim(), {
        relayer_ids,
        signers: roles.has('manage') && relayer_ids === undefined,
        notifications: roles.has('notifications') ? ofCreator : 'none',
      })
      return new Page(items, { current_page: 1, per_page: Math.max(1, items.length), total_items })
    },
  } satisfies Partial<Handlers>
}
