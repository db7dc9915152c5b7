import { creatorSeenBy, type Handlers, Page } from '../../domain/operation.ts'
import { getActivity, getSpending, getSpendingByCaller, listQueues } from '../../services/activity.ts'
import type { ServicesContext } from '../../services/context.ts'
import { ApiError } from '../http/errors.ts'

type Operations = Pick<Handlers, 'listQueues' | 'getActivity' | 'getSpending' | 'getSpendingByCaller'>

export const activity = (context: ServicesContext): Operations => ({
  listQueues: ({ query, caller }) => listQueues(context, caller, query),
  getActivity: ({ query, caller }) => getActivity(context, caller, query),
  getSpending: ({ query, caller }) => getSpending(context, caller, query),
  getSpendingByCaller: ({ query }) => getSpendingByCaller(context, query),
})

type OperationsProblems = Pick<Handlers, 'listProblems' | 'acknowledgeProblem' | 'deleteAcknowledgement' | 'search'>

export function problems({ store, problems: list }: ServicesContext): OperationsProblems {
  return {
    listProblems: ({ query, caller }) => list.list(caller, query),

    async acknowledgeProblem({ path, body, caller, auditEntry }) {
      const found = await list.find(path.problem_id, caller)
      if (!found) return undefined
      auditEntry.subject = found.id
      return list.acknowledge(found, caller, body, auditEntry)
    },

    async deleteAcknowledgement({ path, caller, auditEntry }) {
      const found = await list.find(path.problem_id, caller)
      if (!found) return undefined
      auditEntry.subject = found.id
      if (!(await store.deleteAcknowledgement(found.id, auditEntry))) throw notAcknowledged()
      return { ...found, acknowledgement: null }
    },

    async search({ query, caller }) {
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
  }
}

const notAcknowledged = () =>
  new ApiError('not_found', 'Not Found', [{ path: '/path/problem_id', message: 'this problem is not acknowledged' }])
