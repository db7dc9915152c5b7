import type { Command } from 'commander'
import type { TransactionExplanation, TransactionSuggestion } from '../../generated/client.ts'
import type { Context } from './context.ts'
import { findTransaction } from './find-transaction.ts'

/** `why`: the reason why a transaction is where it is, and what would help. */
export function addWhy(program: Command, context: () => Context): void {
  program
    .command('why <transaction>')
    .description('say why a transaction is where it is, and what would help')
    .action(async (name: string) => {
      const world = context()
      const { id } = await findTransaction(world, name)
      const data = await world.client.transactions.getExplanation(id)
      world.print.one(data, inText(data))
    })
}

function inText({
  status,
  summary,
  wait_reason,
  since,
  blocking_transaction_id,
  suggestions,
}: TransactionExplanation): string {
  const waits = wait_reason === null ? '' : ` (${wait_reason})`
  const first = blocking_transaction_id === null ? [] : [`First comes: ${blocking_transaction_id}`]
  const help = suggestions.map((suggestion) => {
    const { summary } = suggestion
    const command = commandOf(suggestion)
    return `- ${summary}${command === undefined ? '' : `\n    ${command}`}`
  })
  return [`${status} since ${since}${waits}: ${summary}`, ...first, ...help].join('\n')
}

/** The command of this program that carries out a suggestion. */
function commandOf({ operation, relayer_id, transaction_id, body }: TransactionSuggestion): string | undefined {
  const of = `--relayer ${relayer_id}`
  const set = Object.entries(membersOf(body ?? {})).map(([name, value]) => ` --set ${name}=${JSON.stringify(value)}`)
  switch (operation) {
    case 'cancelTransaction':
      return `relayer tx cancel ${transaction_id} ${of}`
    case 'speedUpTransaction':
      return `relayer tx speed-up ${transaction_id} ${of}${pricesIn(body)}`
    case 'publishTransaction':
      return `relayer tx publish ${transaction_id} ${of}`
    case 'updateRelayer':
      return `relayer relayers change ${relayer_id}${set.join('')}`
    default:
      return undefined
  }
}

const pricesIn = (body: TransactionSuggestion['body']): string =>
  [
    ['--speed', body?.speed],
    ['--max-fee', body?.max_fee_per_gas],
    ['--priority-fee', body?.max_priority_fee_per_gas],
  ]
    .flatMap(([option, price]) => (price == null ? [] : [` ${option} ${price}`]))
    .join('')

/** The members with their names as --set takes them: `policies.max_value`. */
function membersOf(body: object, before = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(membersOf(value, `${before}${name}.`))
        : [[`${before}${name}`, value]],
    ),
  )
}
