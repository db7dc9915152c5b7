import { existsSync } from 'node:fs'
import { detailsOf, messageOf } from '../api/http/errors.ts'
import type { Config } from '../config.ts'
import { ConfigError, DomainError } from '../domain/errors.ts'
import { isKnownDatabase } from '../store/postgres.ts'
import { StoreError, UnknownOutcome } from '../store/queries/database.ts'

/** An error that the operator can correct; it is shown without a stack trace. */
export class CommandError extends Error {}

/** These settings of the environment, each also as NAME_FILE. Other settings are left out, so that an invalid one does no harm. */
export function pickSettings(...names: string[]): Record<string, string | undefined> {
  const all = names.flatMap((name) => [name, `${name}_FILE`])
  return Object.fromEntries(all.map((name) => [name, process.env[name]]))
}

/** The settings of commands that decrypt the database. */
export const pickKeySettings = () =>
  pickSettings(
    ...['DATA_DIR', 'DATABASE_URL', 'MASTER_KEY'],
    ...['VAULT_ADDR', 'VAULT_NAMESPACE', 'VAULT_TOKEN', 'VAULT_ROLE_ID', 'VAULT_SECRET_ID'],
  )

/**
 * The SQLite file. Throws CommandError if there is none: a command never creates a database, because the path may be a mistake.
 * `otherwise`: what to do with PostgreSQL.
 */
export function sqliteDatabase({ database }: Pick<Config, 'database'>, otherwise = ''): string {
  if (database.type !== 'sqlite') throw new CommandError(`The command works with SQLite only. ${otherwise}`)
  if (existsSync(database.file)) return database.file
  throw new CommandError(`There is no database ${database.file}: check DATA_DIR and DATABASE_URL`)
}

/** Throws CommandError if no service has used the database: a command never creates or fills one, because the setting may be a mistake. */
export async function requireDatabase(config: Pick<Config, 'database'>): Promise<void> {
  const { database } = config
  if (database.type === 'sqlite') return void sqliteDatabase(config)
  if (await isKnownDatabase(database)) return
  throw new CommandError('The PostgreSQL database has no tables of the service: check DATABASE_URL')
}

/** Runs an operator's command, prints its result or its error, and sets the exit code 0 or 1. */
export async function runCommand(command: () => string | Promise<string>): Promise<void> {
  // Files that the command writes are private to the user, as with the service.
  process.umask(0o077)
  try {
    process.stdout.write(`${await command()}\n`)
  } catch (error) {
    const first = error instanceof UnknownOutcome ? '' : 'The command changed nothing.\n'
    process.stderr.write(`${first}${explain(error)}\n`)
    process.exitCode = 1
  }
}

/** An error as the operator reads it: an unexpected one has a stack trace. */
export function explain(error: unknown): string {
  if (error instanceof DomainError) {
    const details = detailsOf(error).map(({ path, message }) => `${path} ${message}`)
    return [messageOf(error), ...details].join('\n')
  }
  const isTold = [CommandError, ConfigError, StoreError].some((kind) => error instanceof kind)
  return `${(error as Error)[isTold ? 'message' : 'stack']}`
}
