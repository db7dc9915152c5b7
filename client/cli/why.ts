import type { Command } from 'commander'
import type { Explanation } from '../../generated/client.ts'
import type { Context } from './context.ts'
import { findTransaction } from './find-transaction.ts'

const path = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/explanation'

/** `why`: the reason why a transaction is where it is, and what would help. */
export function addWhy(program: Command, context: () => Context): void {
  program
    .command('why <transaction>')
    .description('say why a transaction is where it is, and what would help')
    .action(async (name: string) => {
      const world = context()
      const { relayer_id, id } = await findTransaction(world, name)
      const { data } = await world.client.get(path, { path: { relayer_id, transaction_id: id } })
      world.print.one(data, inText(data))
    })
}

function inText({ status, summary, waiting_for, since, blocked_by, suggestions }: Explanation): string {
  const waits = waiting_for === null ? '' : ` (${waiting_for})`
  const first = blocked_by === null ? [] : [`First comes: ${blocked_by}`]
  const help = suggestions.map(({ summary, operation, body }) => {
    const how = operation === null ? '' : ` [${operation}${body === null ? '' : ` ${JSON.stringify(body)}`}]`
    return `- ${summary}${how}`
  })
  return [`${status} since ${since}${waits}: ${summary}`, ...first, ...help].join('\n')
}
