import { ConfigError, DomainError } from '../domain/errors.ts'
import { DatabaseDown } from '../store/queries/database.ts'

/** The reason why the service does not start or stop as it should, for its operator. Only a fault of the service itself has a stack. */
export function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof DatabaseDown) return error.message
  if (isOfDatabase(error)) return 'The database became unavailable.'
  const { code = '', message, stack, port } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE') return `The port ${port} is already in use: set PORT to a free port.`
  const settings = ofSettings[code]
  if (settings) return `${message}: see ${settings}.`
  return stack ?? String(error)
}

const settingsOfPaths = 'the setting that names this path, such as DATA_DIR or DATABASE_URL'

/** The system's own words about a file or an address that a setting names. */
const ofSettings: Record<string, string> = {
  EACCES: 'the setting that names this path or port, such as DATA_DIR, DATABASE_URL or PORT',
  ...{ ENOENT: settingsOfPaths, ENOTDIR: settingsOfPaths, EROFS: settingsOfPaths },
  ...{ EADDRNOTAVAIL: 'the setting HOST', ENOTFOUND: 'the setting that names this host, such as HOST' },
}

/** Whether the database was down, is starting or went down during the start: a later start can succeed without a change of settings. */
export const isOfDatabase = (error: unknown): boolean =>
  error instanceof DatabaseDown ||
  (error instanceof DomainError && (error.code === 'unavailable' || error.code === 'outcome_unknown'))
