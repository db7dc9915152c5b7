import { ConfigError } from '../config.ts'

/** What the one who called must put right; told without a stack. */
export class CommandError extends Error {}

/** Runs a command of an operator's: says what it has done, or why not, and ends with 0 or 1. */
export function runCommand(command: () => string): void {
  // As of the service: what it writes is its user's alone.
  process.umask(0o077)
  try {
    process.stdout.write(`${command()}\n`)
  } catch (error) {
    const isTold = error instanceof CommandError || error instanceof ConfigError
    process.stderr.write(`Nothing was done.\n${isTold ? error.message : (error as Error).stack}\n`)
    process.exitCode = 1
  }
}
