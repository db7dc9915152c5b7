import { type Command, Option } from 'commander'
import { repeated } from './body.ts'
import { CommandError } from './exit-codes.ts'

export interface ListOptions<Status extends string = string> {
  status?: Status[]
  limit: string
}

const maxPerPage = 1_000

/** The options of a list that has states. */
export const addList = (command: Command, statuses: readonly string[]): Command =>
  command
    .addOption(
      new Option('--status <status>', 'only in this state; repeatable').choices(statuses).argParser(oneOf(statuses)),
    )
    .option('--limit <count>', 'at most so many', '20')

const oneOf = (statuses: readonly string[]) => (value: string, before?: string[]) => {
  if (!statuses.includes(value))
    throw new CommandError(`--status must be one of ${statuses.join(', ')}; it is ${value}`)
  return repeated(value, before)
}

/** The query of the first page. */
export function listQuery<Status extends string>({ status = [], limit }: ListOptions<Status>) {
  return { status, per_page: readLimit(limit) }
}

/** The size of the first page. Throws CommandError. */
export function readLimit(limit: string): number {
  if (!/^\d{1,6}$/.test(limit)) throw new CommandError(`--limit must be a number; it is ${limit}`)
  return Math.min(Number(limit), maxPerPage)
}
