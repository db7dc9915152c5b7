import { createInterface } from 'node:readline/promises'
import { CommandError } from './exit-codes.ts'

/** Goes on after a `yes` in the terminal. `withoutTerminal`: what a script must give instead. Throws CommandError. */
export async function confirm(question: string, withoutTerminal: string): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError(withoutTerminal)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} (yes) `)
  terminal.close()
  if (answer.trim() !== 'yes') throw new CommandError('Nothing was done')
}
