import { type Command, Option } from 'commander'
import {
  type SendTransactionRequest,
  type Transaction,
  type TransactionStatus,
  transactionStatusValues,
} from '../../generated/client.ts'
import { RelayerError } from '../error.ts'
import { repeated } from './body.ts'
import type { Context } from './context.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { addPrices, type PriceOptions, pricesOf } from './prices.ts'
import { collect } from './resources.ts'
import { addTimeout, addWait, follow, inOneLine, type WaitOptions, waitUntil } from './wait.ts'

const listPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const columns = ['id', 'status', 'nonce', 'to', 'value', 'hash', 'created_at']
const max_relayers = 100

interface ListOptions {
  status?: TransactionStatus[]
  limit: string
}

/** `tx`: list, show, watch, cancel, speed-up. */
export function addTransactions(program: Command, context: () => Context): void {
  const group = program.command('tx').description('transactions')
  const statuses = new Option('--status <status>', 'only in this state; repeatable').choices(transactionStatusValues)
  group
    .command('list')
    .description('list the transactions of a relayer, newest first')
    .addOption(statuses.argParser(repeated))
    .option('--limit <count>', 'at most so many', '20')
    .action(async ({ status = [], limit }: ListOptions) => {
      const world = context()
      if (!/^\d{1,6}$/.test(limit)) throw new CommandError('--limit must be a number')
      const path = { relayer_id: await world.relayerId() }
      const query = { status, per_page: Math.min(Number(limit), 1_000) }
      world.print.list(await collect(world.client.all(listPath, { path, query }), Number(limit)), columns)
    })
  group
    .command('show <id>')
    .description('show a transaction')
    .action(async (id: string) => {
      const world = context()
      world.print.one(await findTransaction(world, id))
    })
  addTimeout(
    group
      .command('watch <id>')
      .description('print each change of a transaction until it is confirmed or ends otherwise')
      .addOption(new Option('--until <state>', 'when to stop').choices(['mined', 'confirmed']).default('confirmed')),
  ).action(async (id: string, { until, timeout }: { until: 'mined' | 'confirmed'; timeout: string }) => {
    const world = context()
    const { relayer_id } = await findTransaction(world, id)
    const print = (transaction: Transaction) => world.print.line(transaction, inOneLine(transaction))
    await waitUntil(world, relayer_id, id, until, timeout, print)
  })
  group
    .command('cancel <id>')
    .description('cancel a transaction')
    .action(async (id: string) => {
      const world = context()
      const { relayer_id } = await findTransaction(world, id)
      const { data } = await world.client.delete(onePath, { path: { relayer_id, transaction_id: id } })
      world.print.one(data, inOneLine(data))
    })
  addWait(
    addPrices(
      group.command('speed-up <id>').description('sign it again at higher prices: by default at least 10 % more'),
    ),
  ).action(async (id: string, options: PriceOptions & WaitOptions) => {
    const world = context()
    const transaction = await findTransaction(world, id)
    const { relayer_id } = transaction
    const body = replacement(transaction, pricesOf(options))
    const { data } = await world.client.put(onePath, { path: { relayer_id, transaction_id: id }, body })
    await follow(world, relayer_id, data, options)
  })
}

/** The same content at other prices. */
const replacement = ({ to, value, data, gas_limit }: Transaction, prices: SendTransactionRequest) => ({
  to,
  value,
  data,
  gas_limit,
  ...prices,
})

/** The transaction of the relayer that is named, or else of any that the API key sees. */
export async function findTransaction(world: Context, transaction_id: string): Promise<Transaction> {
  const { client, relayer_id } = world
  if (relayer_id !== undefined) return (await client.get(onePath, { path: { relayer_id, transaction_id } })).data
  for (const { id } of await collect(client.all('/api/v1/relayers'), max_relayers)) {
    const found = await client.get(onePath, { path: { relayer_id: id, transaction_id } }).catch((error) => {
      if (error instanceof RelayerError && error.status === 404) return undefined
      throw error
    })
    if (found) return found.data
  }
  throw new CommandError(`There is no transaction ${transaction_id} that the API key may see`, exitCodes.not_found)
}
