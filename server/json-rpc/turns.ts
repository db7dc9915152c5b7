import pLimit, { type LimitFunction } from 'p-limit'
import { BoundedMap } from '../core/bounded-map.ts'
import { codes, JsonRpcError } from './errors.ts'

const at_once = 4
const max_waiting = 2_000
const max_callers = 10_000

/**
 * Limits each caller's calls to nodes. Libraries make many calls at the same time; calls above the limit wait instead of failing.
 * Throws JsonRpcError (-32005) when too many wait.
 */
export function createTurns() {
  const callers = new BoundedMap<string, LimitFunction>(max_callers)

  return async function inTurn<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const own = callers.of(caller, () => pLimit(at_once))
    if (own.pendingCount >= max_waiting)
      throw new JsonRpcError(codes.limit_exceeded, `limit exceeded: ${max_waiting} calls of this API key wait already`)
    return own(work)
  }
}
