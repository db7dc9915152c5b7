import { ConfigError } from './core/config-error.ts'
import { ApiError } from './core/errors.ts'

/** The reason why the service does not start or stop as it should, for its operator. Only a fault of the service itself has a stack. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  // Of the database: StoreUnavailable or UnknownOutcome.
  const isOfDatabase = error instanceof ApiError && (error.code === 'unavailable' || error.code === 'outcome_unknown')
  if (isOfDatabase) return 'The database became unavailable.'
  const { code, message, stack } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE') return 'The port is already in use: set PORT to a free port.'
  if (code === 'EACCES' || code === 'ENOENT' || code === 'EROFS' || code === 'EADDRNOTAVAIL') return message
  return stack ?? String(error)
}
