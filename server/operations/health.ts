import { ApiError } from '../core/errors.ts'
import { type Handlers, single } from '../core/operation.ts'
import type { OperationDependencies } from './dependencies.ts'

export function health({
  unready,
}: Pick<OperationDependencies, 'unready'>): Pick<Handlers, 'getHealth' | 'getReadiness'> {
  return {
    getHealth: async () => single({ status: 'ok' }),
    async getReadiness() {
      const reasons = await unready()
      if (reasons.length > 0) throw new ApiError('unavailable', 'Service Unavailable', reasons)
      return single({ status: 'ok' })
    },
  }
}
