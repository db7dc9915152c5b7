import { codes, JsonRpcError } from './errors.ts'

const at_once = 4
const max_waiting = 2_000

/**
 * Limits each caller's calls to nodes. Libraries make many calls at the same time; calls above the limit wait instead of failing.
 * Throws JsonRpcError (-32005) when too many wait.
 */
export function createTurns() {
  const callers = new Map<string, { running: number; waiting: (() => void)[] }>()

  return async function inTurn<T>(caller: string, work: () => Promise<T>): Promise<T> {
    const own = callers.get(caller) ?? { running: 0, waiting: [] }
    callers.set(caller, own)
    if (own.waiting.length >= max_waiting)
      throw new JsonRpcError(codes.limit_exceeded, `limit exceeded: ${max_waiting} calls of this API key wait already`)
    // A finished call passes its turn on directly, so that no later call can overtake the waiting one.
    if (own.running >= at_once) await new Promise<void>((resolve) => own.waiting.push(resolve))
    else own.running += 1
    try {
      return await work()
    } finally {
      const next = own.waiting.shift()
      if (next) next()
      else {
        own.running -= 1
        if (own.running === 0) callers.delete(caller)
      }
    }
  }
}
