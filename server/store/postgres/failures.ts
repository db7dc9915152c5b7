import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailable } from '../../domain/errors.ts'

/** The whole database transaction may be repeated: serialization_failure, deadlock_detected. */
const repeatable = new Set(['40001', '40P01'])

/** The SQLSTATE of an error of PostgreSQL, or the code of an error of the network. */
const codeOf = (error: unknown): string => (error as { code?: string } | undefined)?.code ?? ''

/** Another database transaction holds a lock for longer than this one was to wait. It changed nothing. */
export class LockHeld extends Error {}

export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006'

export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'

const isRepeatable = (error: unknown): boolean => repeatable.has(codeOf(error))

/**
 * The database cannot be used at present: no connection, shutting down, starting, read-only (a failover is under way), too many
 * connections, a disk that is full, a lock that a stalled server holds (57014, 55P03), or this server was stalled itself (25P03).
 */
const unavailable =
  /^(?:08...|25006|25P03|55P03|57014|57P0[1-5]|53...|ECONN[A-Z]*|ENOENT|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH)$/
/** pg gives these errors no code. The last one: the connections were closed because the database went down. */
const unavailableMessages =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded when trying|Query read timeout|Client was closed|timeout expired|Cannot use a pool after calling end)/

export const isUnavailable = (error: unknown): boolean =>
  error instanceof Error && (unavailable.test(codeOf(error)) || unavailableMessages.test(error.message))

/** Whether it is unknown, after this error of a COMMIT, if it was made: PostgreSQL has not answered that it was rolled back. */
export const isUnanswered = (error: unknown): boolean =>
  (error as { severity?: string }).severity !== 'ERROR' && !isRepeatable(error)

const maxAttempts = 6
/** The first pause before a repetition; each further one is twice as long. */
const firstPauseMs = 2

/**
 * Runs a statement or a database transaction, again after a deadlock or a serialization failure. `check`: throws while the database is
 * down. Throws DomainError (503) when the database cannot be used.
 */
export async function repeated<T>(check: () => void, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    check()
    try {
      return await work()
    } catch (error) {
      if (isUnavailable(error)) throw new StoreUnavailable()
      if (!isRepeatable(error) || attempt >= maxAttempts) throw error
    }
    await pause(Math.random() * firstPauseMs * 2 ** attempt)
  }
}
