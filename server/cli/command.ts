import { existsSync } from 'node:fs'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { detailsOf, messageOf } from '../api/http/errors.ts'
import type { Config } from '../config.ts'
import { ConfigError, DomainError } from '../domain/errors.ts'
import { isKnownDatabase } from '../store/postgres.ts'
import { StoreError, UnknownOutcome } from '../store/queries/database.ts'

/** An error that the operator can correct; it is shown without a stack trace. */
export class CommandError extends Error {}

/** The usage is shown after it. */
export class UsageError extends Error {}

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

/** What a command is called with. */
interface CommandLine<Options extends ParseArgsOptionsConfig> {
  usage: string
  options?: Options
  /** It only reads. */
  isReadOnly?: boolean
}

type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>

/**
 * Runs an operator's command, prints its result or its error, and sets the exit code 0 or 1. `--help` prints the usage, and nothing
 * else happens.
 */
export async function runCommand<const Options extends ParseArgsOptionsConfig>(
  { usage, options, isReadOnly = false }: CommandLine<Options>,
  command: (given: Arguments<Options>) => string | Promise<string>,
): Promise<void> {
  // Files that the command writes are private to the user, as with the service.
  process.umask(0o077)
  const isHelpWanted = process.argv.slice(2).some((word) => word === '--help' || word === '-h')
  try {
    const text = isHelpWanted ? usage : await command(readArguments(usage, options))
    if (text !== '') process.stdout.write(`${text}\n`)
  } catch (error) {
    const first = isReadOnly || error instanceof UnknownOutcome ? '' : 'The command changed nothing.\n'
    const told = error instanceof UsageError ? [error.message, usage].join('\n').trim() : explain(error)
    process.stderr.write(`${first}${told}\n`)
    process.exitCode = 1
  }
}

/** The message quotes no value, which may be a secret. */
function readArguments<Options extends ParseArgsOptionsConfig>(usage: string, options = {} as Options) {
  try {
    return parseArgs({ options, allowPositionals: true })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw code?.startsWith('ERR_PARSE_ARGS') ? new UsageError(message.split('. ')[0]) : new UsageError(usage)
  }
}

/** An error as the operator reads it: an unexpected one has a stack trace. */
function explain(error: unknown): string {
  if (error instanceof DomainError) {
    const details = detailsOf(error).map(({ path, message }) => `${path} ${message}`)
    return [messageOf(error), ...details].join('\n')
  }
  const isTold = [CommandError, ConfigError, StoreError].some((kind) => error instanceof kind)
  return `${(error as Error)[isTold ? 'message' : 'stack']}`
}
