import { ApiError, type Detail } from '../core/errors.ts'
import { type Handlers, single } from '../core/operation.ts'

export interface HealthDependencies {
  /** The reasons why the process is not ready; empty when it is. */
  unready(): Promise<Detail[]>
}

export function health({ unready }: HealthDependencies): Pick<Handlers, 'getHealth' | 'getReadiness'> {
  return {
    getHealth: async () => single({ status: 'ok' }),
    async getReadiness() {
      const reasons = await unready()
      if (reasons.length > 0) throw new ApiError('unavailable', 'Service Unavailable', reasons)
      return single({ status: 'ok' })
    },
  }
}
