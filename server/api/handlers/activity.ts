import type { Handlers } from '../../domain/operation.ts'
import { getActivity, getSpending, getSpendingByCaller, listQueues } from '../../services/activity.ts'
import type { ServicesContext } from '../../services/context.ts'

type Operations = Pick<Handlers, 'listQueues' | 'getActivity' | 'getSpending' | 'getSpendingByCaller'>

export const activity = (context: ServicesContext): Operations => ({
  listQueues: ({ query, caller }) => listQueues(context, caller, query),
  getActivity: ({ query, caller }) => getActivity(context, caller, query),
  getSpending: ({ query, caller }) => getSpending(context, caller, query),
  getSpendingByCaller: ({ query }) => getSpendingByCaller(context, query),
})
