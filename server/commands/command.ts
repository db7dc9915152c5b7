import { existsSync } from 'node:fs'
import { type Config, ConfigError } from '../config.ts'

/** An error that the operator can correct; it is shown without a stack trace. */
export class CommandError extends Error {}

/** These settings of the environment, each also as NAME_FILE. Other settings are left out, so that an invalid one does no harm. */
export function pickSettings(...names: string[]): Record<string, string | undefined> {
  const all = names.flatMap((name) => [name, `${name}_FILE`])
  return Object.fromEntries(all.map((name) => [name, process.env[name]]))
}

/** Throws CommandError if there is no database: a command never creates one, because the path may be a mistake. */
export function requireDatabase({ database_file }: Pick<Config, 'database_file'>): void {
  if (existsSync(database_file)) return
  throw new CommandError(`There is no database ${database_file}: check DATA_DIR and DATABASE_URL`)
}

/** Runs an operator's command, prints its result or its error, and sets the exit code 0 or 1. */
export function runCommand(command: () => string): void {
  // Files that the command writes are private to the user, as with the service.
  process.umask(0o077)
  try {
    process.stdout.write(`${command()}\n`)
  } catch (error) {
    const isTold = error instanceof CommandError || error instanceof ConfigError
    process.stderr.write(`The command changed nothing.\n${isTold ? error.message : (error as Error).stack}\n`)
    process.exitCode = 1
  }
}
