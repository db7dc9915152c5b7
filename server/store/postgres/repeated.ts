import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailable } from '../../core/errors.ts'
import { isRepeatable, isUnavailable } from './failures.ts'

const max_attempts = 6
/** The first pause before a repetition; each further one is twice as long. */
const first_pause_ms = 2

/**
 * Runs a statement or a database transaction, again after a deadlock or a serialization failure. `check`: throws while the database is
 * down. Throws ApiError (503) when the database cannot be used.
 */
export async function repeated<T>(check: () => void, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    check()
    try {
      return await work()
    } catch (error) {
      if (isUnavailable(error)) throw new StoreUnavailable()
      if (!isRepeatable(error) || attempt >= max_attempts) throw error
    }
    await pause(Math.random() * first_pause_ms * 2 ** attempt)
  }
}
