import { type Command, Option } from 'commander'
import {
  type Speed,
  type SpeedUpTransactionRequest,
  speedValues,
  type Transaction,
  type TransactionStatus,
  transactionStatusValues,
} from '../../generated/client.ts'
import { collect } from './collect.ts'
import type { Context } from './context.ts'
import { exitCodes } from './exit-codes.ts'
import { findTransaction } from './find-transaction.ts'
import { addList, type ListOptions, listQuery } from './list-options.ts'
import { ceilingIn, changeEach, tellChange } from './price-change.ts'
import { type PriceOptions, pricesOf } from './prices.ts'
import { addContent, bodyOf, type ContentOptions } from './send.ts'
import {
  addTimeout,
  addWait,
  endOf,
  follow,
  inOneLine,
  printAccepted,
  printEnd,
  type WaitOptions,
  waitUntil,
} from './wait.ts'

const listPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const columns = ['id', 'relayer_id', 'status', 'nonce', 'to', 'value', 'hash', 'created_at']
const attemptColumns = [
  'number',
  'purpose',
  'hash',
  'max_fee_per_gas',
  'signed_at',
  'accepted_at',
  'refusal_message',
  'is_mined',
]

interface Filters extends ListOptions<TransactionStatus> {
  reference?: string
  metadata?: string
  hash?: string
  to?: string
  createdAfter?: string
  createdBefore?: string
}

type CancelOptions = WaitOptions & { maxFee?: string; dryRun?: true }
type SpeedUpOptions = PriceOptions & WaitOptions & { speed: Speed; dryRun?: true }

const dryRunAbout =
  'change nothing: say at which price it would be signed; exit code 3 when no block would include it now'

/** `tx`: list, show, attempts, watch, cancel, speed-up, publish, replace. A transaction is named by its id or by a hash. */
export function addTransactions(program: Command, context: () => Context): void {
  const group = program.command('tx').alias('transactions').description('transactions, named by their id or a hash')
  addLists(group, context)
  addChanges(group, context)
}

function addLists(group: Command, context: () => Context): void {
  addList(
    group.command('list').description('list transactions, newest first: of --relayer, or of all relayers'),
    transactionStatusValues,
  )
    .option('--reference <text>', 'only with this reference')
    .option('--metadata <name=value>', 'only with this in their metadata')
    .option('--hash <hash>', 'only the one that was signed with this hash')
    .option('--to <address>', 'only to this address')
    .option('--created-after <time>', 'only accepted after this time (RFC 3339)')
    .option('--created-before <time>', 'only accepted before this time')
    .action(async (options: Filters) => {
      const { client, print, relayer_id } = context()
      const query = { ...listQuery(options), ...filtersOf(options) }
      const items =
        relayer_id === undefined
          ? client.all('/api/v1/transactions', { query })
          : client.all(listPath, { path: { relayer_id }, query })
      print.list(await collect(items, Number(options.limit)), columns)
    })
  group
    .command('show <id>')
    .description('show a transaction')
    .action(async (id: string) => {
      const world = context()
      world.print.one(await findTransaction(world, id))
    })
  group
    .command('attempts <id>')
    .description('list the signed versions of a transaction')
    .action(async (name: string) => {
      const world = context()
      const path = await pathOf(world, name)
      const { data } = await world.client.get(`${onePath}/attempts`, { path, query: { per_page: 1_000 } })
      world.print.list(data, attemptColumns)
    })
  const until = new Option('--until <state>', 'when to stop').choices(['mined', 'confirmed']).default('confirmed')
  addTimeout(
    group
      .command('watch <id>')
      .description('print each change of a transaction until it is confirmed or ends otherwise')
      .addOption(until),
  ).action(async (name: string, { until, timeout }: { until: 'mined' | 'confirmed'; timeout: string }) => {
    const world = context()
    const { relayer_id, id } = await findTransaction(world, name)
    const print = (transaction: Transaction) => world.print.line(transaction, inOneLine(transaction))
    await waitUntil(world, relayer_id, id, until, timeout, print)
  })
}

function addChanges(group: Command, context: () => Context): void {
  addWait(
    group
      .command('cancel <id...>')
      .description('cancel transactions, and say whether a block includes what replaces them')
      .option('--max-fee <amount>', 'the highest price per unit of gas of the cancellation, for example 30gwei')
      .option('--dry-run', dryRunAbout),
  ).action(async (names: string[], { maxFee, dryRun, wait, timeout }: CancelOptions) => {
    const query = ceilingIn(maxFee)
    await changeEach(context(), names, {
      ...{ operation: 'cancelTransaction', maxFee, ...(dryRun && { dryRun }) },
      async act({ client, print }, { relayer_id, id }) {
        const { data } = await client.delete(onePath, { path: { relayer_id, transaction_id: id }, query })
        if (wait === undefined) print.one(data, inOneLine(data))
        return data
      },
      async wait(world, { relayer_id, id }) {
        if (wait === undefined) return
        const end = await endOf(world, relayer_id, id, wait === true ? 'confirmed' : wait, timeout)
        if (end.status !== 'canceled') process.exitCode = exitCodes.not_confirmed
        world.print.one(end, inOneLine(end))
      },
    })
  })
  addWait(
    group
      .command('speed-up <id...>')
      .description('sign transactions again at a higher price, with the content that they have then')
      .addOption(new Option('--speed <tier>', 'the fee tier').choices(speedValues).default('fastest'))
      .option('--max-fee <amount>', 'the highest price per unit of gas, now and later, for example 30gwei')
      .option(
        '--priority-fee <amount>',
        'the highest priority fee; what is said before, and --dry-run, do not consider it',
      )
      .option('--dry-run', dryRunAbout),
  ).action(async (names: string[], { speed, maxFee, priorityFee, dryRun, ...options }: SpeedUpOptions) => {
    const body = pricesOf({ speed, maxFee, priorityFee } as PriceOptions) as SpeedUpTransactionRequest
    await changeEach(context(), names, {
      ...{ operation: 'speedUpTransaction', speed, maxFee, ...(dryRun && { dryRun }) },
      async act(world, { relayer_id, id }) {
        const data = await world.client.transactions.speedUp(relayer_id, id, body)
        printAccepted(world, data, options)
        return data
      },
      wait: (world, transaction) => printEnd(world, transaction.relayer_id, transaction, options),
    })
  })
  group
    .command('publish <id>')
    .description('give a private transaction to the public nodes')
    .action(async (name: string) => {
      const world = context()
      const { data } = await world.client.post(`${onePath}/publish`, { path: await pathOf(world, name) })
      world.print.one(data, inOneLine(data))
    })
  const other = group
    .command('replace <id> [arguments...]')
    .description('send another transaction with its nonce; the arguments are those of --call')
  addWait(addContent(other)).action(async (name: string, values: string[], options: ContentOptions & WaitOptions) => {
    const world = context()
    const body = await bodyOf(values, options)
    const transaction = await findTransaction(world, name)
    const { relayer_id, id, revision = '*' } = transaction
    const { speed = 'average', maxFee = options.gasPrice } = options
    await tellChange(world, transaction, { operation: 'speedUpTransaction', speed, maxFee })
    const data = await world.client.transactions.replace(relayer_id, id, body, { revision })
    await follow(world, relayer_id, data, options)
  })
}

const filtersOf = ({ reference, metadata, hash, to, createdAfter, createdBefore }: Filters) => ({
  ...(reference !== undefined && { reference }),
  ...(metadata !== undefined && { metadata: metadata.replace('=', ':') }),
  ...(hash !== undefined && { hash }),
  ...(to !== undefined && { to }),
  ...(createdAfter !== undefined && { created_after: createdAfter }),
  ...(createdBefore !== undefined && { created_before: createdBefore }),
})

async function pathOf(world: Context, name: string) {
  const { relayer_id, id } = await findTransaction(world, name)
  return { relayer_id, transaction_id: id }
}
